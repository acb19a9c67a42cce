# SPDX-License-Identifier: Apache-2.0
# cmake -DNM=nm -DLIBRARY=file -DPATTERN=expression -P check_exports.cmake: fails unless the files export symbols, and
# all of their demangled names match.
file(GLOB libraries ${LIBRARY})
if(NOT libraries)
  message(FATAL_ERROR "${LIBRARY}: no such file")
endif()
foreach(library ${libraries})
  execute_process(COMMAND ${NM} --dynamic --defined-only --demangle --format=posix ${library} OUTPUT_VARIABLE symbols
                  COMMAND_ERROR_IS_FATAL ANY)
  # Symbol names contain ';' and brackets, which are special in lists of CMake.
  string(REGEX REPLACE "[][;]" "_" symbols "${symbols}")
  string(REGEX MATCHALL "[^\n]+" symbols "${symbols}")
  list(LENGTH symbols count)
  if(count EQUAL 0)
    message(FATAL_ERROR "${library} exports nothing")
  endif()
  set(others)
  foreach(symbol ${symbols})
    string(REGEX REPLACE " [A-Za-z] ?[0-9a-f ]*$" "" symbol "${symbol}")
    if(NOT symbol MATCHES "${PATTERN}")
      string(APPEND others "\n  ${symbol}")
    endif()
  endforeach()
  if(others)
    message(FATAL_ERROR "${library} exports what is not its own:${others}")
  endif()
  message(STATUS "${library}: ${count} names")
endforeach()
