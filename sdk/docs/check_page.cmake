# SPDX-License-Identifier: Apache-2.0
# cmake -DPAGE=page.md -DWORK=folder -DCOMPILER=c++ -DFLAGS="-I;..." -P check_page.cmake
#
# Compiles the C++ blocks of a page, without generating code, all of them in one go. A block with a `main` or an
# `#include` stands at file scope; any other becomes the body of a function whose parameters are those that a comment
# before the block names: <!-- cpp: Device& device, StreamRef stream -->. <!-- cpp: skip --> leaves a block out, and
# <!-- cpp: file --> puts one at file scope.
cmake_minimum_required(VERSION 3.25)
file(READ ${PAGE} rest)
get_filename_component(name ${PAGE} NAME)
# CMake's lists are split at ';' and its regular expressions have no shortest match: blocks are found by position.
set(source "#include <weir/weir.hpp>\nusing namespace weir;\n")
set(line 1)
set(count 0)
while(TRUE)
  string(FIND "${rest}" "```cpp\n" begin)
  if(begin EQUAL -1)
    break()
  endif()
  string(SUBSTRING "${rest}" 0 ${begin} before)
  math(EXPR begin "${begin} + 7")
  string(SUBSTRING "${rest}" ${begin} -1 rest)
  string(FIND "${rest}" "\n```" end)
  string(SUBSTRING "${rest}" 0 ${end} block)
  string(SUBSTRING "${rest}" ${end} -1 rest)

  string(REGEX MATCHALL "\n" breaks "${before}")
  list(LENGTH breaks breaks)
  math(EXPR line "${line} + ${breaks} + 1")
  set(parameters "")
  if(before MATCHES "<!-- cpp: ([^\n]*) -->\n$")
    set(parameters "${CMAKE_MATCH_1}")
  endif()
  math(EXPR count "${count} + 1")
  if(parameters STREQUAL "skip")
    # not compiled
  elseif(parameters STREQUAL "file" OR block MATCHES "int main\\(|#include")
    string(REPLACE "int main(" "int main_${count}(" block "${block}")
    string(APPEND source "#line ${line} \"${name}\"\n${block}\n")
  else()
    string(APPEND source "void block_${count}(${parameters}) {\n#line ${line} \"${name}\"\n${block}\n}\n")
  endif()
  string(REGEX MATCHALL "\n" breaks "${block}")
  list(LENGTH breaks breaks)
  math(EXPR line "${line} + ${breaks} + 1")
endwhile()
if(count EQUAL 0)
  message(FATAL_ERROR "${PAGE} has no C++ blocks")
endif()

set(file ${WORK}/${name}.cpp)
file(WRITE ${file} "${source}")
execute_process(COMMAND ${COMPILER} -std=c++20 -Wall -Wno-unused -Wno-return-type -Werror -fsyntax-only ${FLAGS} ${file}
                RESULT_VARIABLE result)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "the C++ blocks of ${PAGE} do not compile; ${file} is what was made of them")
endif()
