# SPDX-License-Identifier: Apache-2.0
# weir_add_layer(NAME SOURCES ... [LIBRARIES ...])
#
# Defines the target weir-layer-NAME, the shared object libweir-layer-NAME.so that exports weir_layer_entry alone, and
# installs it where libweir looks for layers: beside the folder of drivers.
include(GNUInstallDirs)

function(weir_add_layer name)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBRARIES" ${ARGN})
  if(NOT name MATCHES "^[a-z0-9][a-z0-9-]*$")
    message(FATAL_ERROR "weir_add_layer: the name '${name}' must be lower case letters, digits and '-'")
  endif()
  if(NOT arg_SOURCES)
    message(FATAL_ERROR "weir_add_layer(${name}): SOURCES is empty")
  endif()
  set(target weir-layer-${name})
  if(WEIR_DRIVER_OUTPUT_DIR)
    set(folder ${WEIR_DRIVER_OUTPUT_DIR}/../layers)
  else()
    set(folder ${CMAKE_CURRENT_BINARY_DIR})
  endif()
  add_library(${target} MODULE ${arg_SOURCES})
  target_link_libraries(${target} PRIVATE Weir::SDK ${arg_LIBRARIES})
  target_compile_features(${target} PRIVATE cxx_std_20)
  set_target_properties(
    ${target}
    PROPERTIES OUTPUT_NAME weir-layer-${name}
               PREFIX lib
               SUFFIX .so
               LIBRARY_OUTPUT_DIRECTORY ${folder}
               C_VISIBILITY_PRESET hidden
               CXX_VISIBILITY_PRESET hidden
               VISIBILITY_INLINES_HIDDEN ON
               POSITION_INDEPENDENT_CODE ON
               INSTALL_RPATH "$ORIGIN")
  set(exports ${CMAKE_CURRENT_BINARY_DIR}/${target}.map)
  file(CONFIGURE OUTPUT ${exports} CONTENT "{ global: weir_layer_entry; local: *; };\n")
  target_link_options(${target} PRIVATE "LINKER:--version-script=${exports}")
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${exports})
  install(TARGETS ${target} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/weir/layers COMPONENT layers)
endfunction()
