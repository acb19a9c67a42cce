# SPDX-License-Identifier: Apache-2.0
# cmake -DTREE=... -DBARE=... -P without_generator.cmake: a copy of an install tree without the code generator.
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${BARE})
get_filename_component(parent ${BARE} DIRECTORY)
get_filename_component(folder ${BARE} NAME)
file(COPY ${TREE}/ DESTINATION ${parent}/${folder})
file(GLOB_RECURSE generator ${BARE}/*weir-codegen*)
if(NOT generator)
  message(FATAL_ERROR "${TREE} has no code generator")
endif()
file(REMOVE ${generator})
