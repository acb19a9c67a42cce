# SPDX-License-Identifier: Apache-2.0
# weir_add_layer(NAME SOURCES ... [LIBRARIES ...])
#
# Defines the target weir-layer-NAME, the shared object libweir-layer-NAME.so, which exports only
# weir_layer_entry. Installs it in libweir's folder of layers, next to the folder of drivers.
include(GNUInstallDirs)
include(${CMAKE_CURRENT_LIST_DIR}/WeirModule.cmake)

function(weir_add_layer name)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBRARIES" ${ARGN})
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "weir_add_layer(${name}): unknown argument '${arg_UNPARSED_ARGUMENTS}'")
  endif()
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
  weir_add_module(${target} FOLDER ${folder} NAME weir-layer-${name} EXPORTS weir_layer_entry
                  SOURCES ${arg_SOURCES} LIBRARIES ${arg_LIBRARIES})
  target_compile_features(${target} PRIVATE cxx_std_20)
  install(TARGETS ${target} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/weir/layers COMPONENT layers)
endfunction()
