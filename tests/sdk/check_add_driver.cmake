# SPDX-License-Identifier: Apache-2.0
# cmake -DSDK_CMAKE=folder -DOUT=folder -DCOMPILER=cc -P check_add_driver.cmake: weir_add_driver() writes any
# description and the range of ABI versions into the manifest, accepts quoted lists, and refuses unknown words.
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${OUT})

# configure(CALL): sets `result` and `words` of the project with this call. The compiler is not checked.
function(configure call)
  execute_process(
    COMMAND ${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/add_driver -B ${OUT} -DSDK_CMAKE=${SDK_CMAKE} -DCALL=${call}
            -DCMAKE_C_COMPILER=${COMPILER} -DCMAKE_C_COMPILER_FORCED=ON
    RESULT_VARIABLE result OUTPUT_VARIABLE words ERROR_VARIABLE words)
  set(result ${result} PARENT_SCOPE)
  set(words "${words}" PARENT_SCOPE)
endfunction()

# expect(KEYS EXPECTED): compares the value at KEYS of the manifest.
function(expect keys expected)
  file(READ ${OUT}/any-text.json manifest)
  string(JSON found ERROR_VARIABLE trouble GET "${manifest}" ${keys})
  if(NOT "${found}" STREQUAL "${expected}")
    message(FATAL_ERROR "${keys} is '${found}' (${trouble}), expected '${expected}', in:\n${manifest}")
  endif()
endfunction()

configure(any_text)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "a driver whose description is any text is refused:\n${words}")
endif()
string(ASCII 9 tab)
set(description [==[Boards of 19" racks; all: C:\ $<1:x>]==])
expect(description "${description}${tab}(new)")
expect("vendor_libraries;1" libb.so.1)

expect("abi;min" 1.0)
expect("abi;max" 1.1)

configure(newest_abi_only)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "a driver of ABI 1.1 only is refused:\n${words}")
endif()
expect("abi;min" 1.1)
expect("abi;max" 1.1)

configure(empty_abi_range)
if(result EQUAL 0 OR NOT words MATCHES "ABI_MIN is '1.1'; expected a version from 1.0 to[ \n]+1.0")
  message(FATAL_ERROR "an ABI_MIN above ABI is not refused with words, but:\n${words}")
endif()

configure(misspelt)
if(result EQUAL 0 OR NOT words MATCHES "unknown argument 'VENDER_LIBRARIES;libx.so.1'")
  message(FATAL_ERROR "a misspelt word is not refused with words, but:\n${words}")
endif()
