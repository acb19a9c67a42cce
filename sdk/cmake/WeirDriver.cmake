# SPDX-License-Identifier: Apache-2.0
# weir_add_driver(NAME SOURCES ... [LIBRARIES ...] [VENDOR_LIBRARIES ...] [DESCRIPTION text])
#
# Defines the target weir-driver-NAME, the shared object libweir-NAME.so that exports weir_driver_entry alone, with
# its manifest NAME.json beside it, and installs both where libweir looks for drivers. VENDOR_LIBRARIES are the libraries that the driver
# opens at run time (libcuda.so.1); they are named in messages and never linked.
#
# Weir's own build and drivers outside it use the same function; the latter get it from find_package(WeirSDK).
include(GNUInstallDirs)

function(weir_add_driver name)
  cmake_parse_arguments(arg "" "DESCRIPTION" "SOURCES;LIBRARIES;VENDOR_LIBRARIES" ${ARGN})
  if(NOT name MATCHES "^[a-z0-9][a-z0-9-]*$")
    message(FATAL_ERROR "weir_add_driver: the name '${name}' must be lower case letters, digits and '-'")
  endif()
  if(NOT arg_SOURCES)
    message(FATAL_ERROR "weir_add_driver(${name}): SOURCES is empty")
  endif()
  set(target weir-driver-${name})
  # Weir's own tree is laid out like an install prefix; elsewhere the driver lies in the build folder.
  if(WEIR_DRIVER_OUTPUT_DIR)
    set(folder ${WEIR_DRIVER_OUTPUT_DIR})
  else()
    set(folder ${CMAKE_CURRENT_BINARY_DIR})
  endif()

  add_library(${target} MODULE ${arg_SOURCES})
  target_link_libraries(${target} PRIVATE Weir::SDK ${arg_LIBRARIES})
  set_target_properties(
    ${target}
    PROPERTIES OUTPUT_NAME weir-${name}
               PREFIX lib
               SUFFIX .so
               LIBRARY_OUTPUT_DIRECTORY ${folder}
               C_VISIBILITY_PRESET hidden
               CXX_VISIBILITY_PRESET hidden
               VISIBILITY_INLINES_HIDDEN ON
               POSITION_INDEPENDENT_CODE ON
               INSTALL_RPATH "$ORIGIN"
               WEIR_DESCRIPTION "${arg_DESCRIPTION}")
  # What the host looks for, and nothing that could meet the same name in another library of the process.
  set(exports ${CMAKE_CURRENT_BINARY_DIR}/${target}.map)
  file(CONFIGURE OUTPUT ${exports} CONTENT "{ global: weir_driver_entry; local: *; };\n")
  target_link_options(${target} PRIVATE "LINKER:--version-script=${exports}")
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${exports})

  set(vendor_libraries "")
  foreach(library ${arg_VENDOR_LIBRARIES})
    list(APPEND vendor_libraries "\"${library}\"")
  endforeach()
  list(JOIN vendor_libraries ", " vendor_libraries)
  # The range that this SDK's header describes; the host checks it before it loads the library.
  file(
    GENERATE
    OUTPUT ${folder}/${name}.json
    CONTENT
      "{
  \"manifest_version\": 1,
  \"name\": \"${name}\",
  \"description\": \"${arg_DESCRIPTION}\",
  \"library\": \"libweir-${name}.so\",
  \"abi\": {\"min\": \"1.0\", \"max\": \"1.1\"},
  \"architecture\": \"${CMAKE_SYSTEM_PROCESSOR}\",
  \"vendor_libraries\": [${vendor_libraries}]
}
")

  set(destination ${CMAKE_INSTALL_LIBDIR}/weir/drivers)
  install(TARGETS ${target} LIBRARY DESTINATION ${destination} COMPONENT driver-${name})
  install(FILES ${folder}/${name}.json DESTINATION ${destination} COMPONENT driver-${name})
endfunction()
