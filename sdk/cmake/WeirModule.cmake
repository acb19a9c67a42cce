# SPDX-License-Identifier: Apache-2.0
# weir_add_module(TARGET FOLDER folder NAME library EXPORTS symbol ... SOURCES ... [LIBRARIES ...])
#
# Builds libLIBRARY.so in FOLDER, a shared object for libweir to load. It exports only these symbols, so it
# cannot clash with names of other libraries in the process. weir_add_driver() and weir_add_layer() use it.
include_guard()

function(weir_add_module target)
  cmake_parse_arguments(arg "" "FOLDER;NAME" "EXPORTS;SOURCES;LIBRARIES" ${ARGN})
  add_library(${target} MODULE ${arg_SOURCES})
  target_link_libraries(${target} PRIVATE Weir::SDK ${arg_LIBRARIES})
  set_target_properties(
    ${target}
    PROPERTIES OUTPUT_NAME ${arg_NAME}
               PREFIX lib
               SUFFIX .so
               LIBRARY_OUTPUT_DIRECTORY ${arg_FOLDER}
               C_VISIBILITY_PRESET hidden
               CXX_VISIBILITY_PRESET hidden
               VISIBILITY_INLINES_HIDDEN ON
               POSITION_INDEPENDENT_CODE ON
               INSTALL_RPATH "$ORIGIN"
               # Without it CMake pads the path with ':' in the build folder, which the loader reads as the
               # current folder.
               BUILD_WITH_INSTALL_RPATH ON)
  set(exports ${CMAKE_CURRENT_BINARY_DIR}/${target}.map)
  list(JOIN arg_EXPORTS "; " arg_EXPORTS)
  file(CONFIGURE OUTPUT ${exports} CONTENT "{ global: ${arg_EXPORTS}; local: *; };\n")
  target_link_options(${target} PRIVATE "LINKER:--version-script=${exports}")
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${exports})
endfunction()
