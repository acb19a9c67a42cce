# SPDX-License-Identifier: Apache-2.0
# cmake -DREADELF=readelf -DLIBRARIES=a,b -P check_thread_local.cmake: fails if one of the libraries, which may contain
# wildcards, allocates thread_local variables at their first use: it then has a relocation for their module's number.
string(REPLACE "," ";" patterns "${LIBRARIES}")
file(GLOB libraries ${patterns})
if(NOT libraries)
  message(FATAL_ERROR "${LIBRARIES}: no such file")
endif()
foreach(library ${libraries})
  execute_process(COMMAND ${READELF} --relocs --wide ${library} OUTPUT_VARIABLE relocations COMMAND_ERROR_IS_FATAL ANY)
  if(relocations MATCHES "_(DTPMOD64|DTPMOD|TLSDESC)")
    message(FATAL_ERROR "${library} has a relocation ${CMAKE_MATCH_1}; expected the initial-exec model of "
                        "thread-local storage (-ftls-model=initial-exec)")
  endif()
endforeach()
