# SPDX-License-Identifier: Apache-2.0
# weir_add_driver(NAME SOURCES ... [LIBRARIES ...] [VENDOR_LIBRARIES ...] [EXPORTS symbol ...] [ABI version]
#                 [ABI_MIN version] [DESCRIPTION text])
# weir_add_driver(NAME LIBRARY prebuilt.so [VENDOR_LIBRARIES ...] [ABI version] [ABI_MIN version] [DESCRIPTION text])
#
# Defines the target weir-driver-NAME: the shared object libweir-NAME.so, which exports only
# weir_driver_entry and EXPORTS, and its manifest NAME.json in the same folder. Installs both in libweir's
# folder of drivers. VENDOR_LIBRARIES are the libraries that the driver opens at run time (libcuda.so.1); they
# appear in messages and are never linked. ABI is the newest version that the driver supports, such as 1.0. The
# default is the newest version of this SDK's header, which drivers made with <weir/sdk/table.hpp> support. ABI_MIN is
# the oldest version, 1.0 by default; the driver must support all versions between the two.
#
# The second form takes a shared object that another compiler builds, for languages without CMake support: a
# file, which may be the OUTPUT of an add_custom_command() of the same folder. It must export weir_driver_entry.
#
# weir_add_communicator(NAME ...) takes the arguments of the first form. It defines weir-communicator-NAME, whose shared
# object libweir-communicator-NAME.so exports weir_communicator_entry, and installs it with its manifest in libweir's
# folder of communicators. COMPONENT is the install component, communicator-NAME by default. LAUNCHED_BY are the
# environment variables in which the communicator's launcher (mpirun) gives each process the number of ranks.
#
# Weir's own build and external drivers use the same function; the latter get it from find_package(WeirSDK).
include(GNUInstallDirs)
include(${CMAKE_CURRENT_LIST_DIR}/WeirModule.cmake)

# Converts text to a quoted JSON string, for file(GENERATE).
function(weir_json_string result text)
  string(REPLACE "\\" "\\\\" text "${text}")
  string(REPLACE "\"" "\\\"" text "${text}")
  string(REPLACE "$<" "\\u0024<" text "${text}") # it would begin a generator expression
  foreach(code RANGE 1 31)
    string(ASCII ${code} character)
    math(EXPR digits "0x10000 + ${code}" OUTPUT_FORMAT HEXADECIMAL)
    string(SUBSTRING ${digits} 3 4 digits)
    string(REPLACE "${character}" "\\u${digits}" text "${text}")
  endforeach()
  set(${result} "\"${text}\"" PARENT_SCOPE)
endfunction()

function(weir_add_driver name)
  # Parsed from the unevaluated arguments, so that the description may contain ';'. Lists may be quoted.
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "ABI;ABI_MIN;DESCRIPTION;LIBRARY;KIND;COMPONENT" "SOURCES;LIBRARIES;VENDOR_LIBRARIES;EXPORTS;LAUNCHED_BY")
  foreach(words SOURCES LIBRARIES VENDOR_LIBRARIES)
    string(REPLACE "\\;" ";" arg_${words} "${arg_${words}}")
  endforeach()
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "weir_add_driver(${name}): unknown argument '${arg_UNPARSED_ARGUMENTS}'")
  endif()
  string(LENGTH "${name}" name_length)
  if(NOT name MATCHES "^[a-z0-9][a-z0-9-]*$" OR name_length GREATER 32)
    message(FATAL_ERROR "weir_add_driver: the name '${name}' must be lower case letters, digits and '-', at most 32")
  endif()
  if(arg_LIBRARY AND (arg_SOURCES OR arg_LIBRARIES OR arg_EXPORTS))
    message(FATAL_ERROR "weir_add_driver(${name}): LIBRARY is a finished shared object; it takes no SOURCES, LIBRARIES or EXPORTS")
  elseif(NOT arg_SOURCES AND NOT arg_LIBRARY)
    message(FATAL_ERROR "weir_add_driver(${name}): SOURCES is empty, and there is no LIBRARY")
  endif()
  set(kind driver)
  set(file weir-${name})
  get_target_property(newest Weir::SDK WEIR_ABI)
  if(arg_KIND STREQUAL "communicator") # set by weir_add_communicator
    set(kind communicator)
    set(file weir-communicator-${name})
    set(newest 1.1)
  endif()
  if(NOT arg_COMPONENT)
    set(arg_COMPONENT ${kind}-${name})
  endif()
  if(NOT arg_ABI)
    set(arg_ABI ${newest})
  elseif(NOT arg_ABI MATCHES "^1[.][0-9]+$" OR arg_ABI VERSION_GREATER newest)
    message(FATAL_ERROR "weir_add_driver(${name}): ABI is '${arg_ABI}'; expected a version from 1.0 to ${newest}")
  endif()
  if(NOT arg_ABI_MIN)
    set(arg_ABI_MIN 1.0)
  elseif(NOT arg_ABI_MIN MATCHES "^1[.][0-9]+$" OR arg_ABI_MIN VERSION_GREATER arg_ABI)
    message(FATAL_ERROR "weir_add_driver(${name}): ABI_MIN is '${arg_ABI_MIN}'; expected a version from 1.0 to ${arg_ABI}, "
                        "which is ABI")
  endif()
  set(target weir-${kind}-${name})
  # Weir's own tree has the layout of an install prefix; elsewhere the driver is written to the build folder.
  if(WEIR_DRIVER_OUTPUT_DIR)
    get_filename_component(folder ${WEIR_DRIVER_OUTPUT_DIR} DIRECTORY)
    string(APPEND folder /${kind}s)
  else()
    set(folder ${CMAKE_CURRENT_BINARY_DIR})
  endif()

  if(arg_LIBRARY)
    get_filename_component(prebuilt ${arg_LIBRARY} ABSOLUTE BASE_DIR ${CMAKE_CURRENT_BINARY_DIR})
    set(library ${folder}/lib${file}.so)
    add_custom_command(OUTPUT ${library} COMMAND ${CMAKE_COMMAND} -E copy ${prebuilt} ${library} DEPENDS ${prebuilt} VERBATIM)
    add_custom_target(${target} ALL DEPENDS ${library})
    set_target_properties(${target} PROPERTIES WEIR_LIBRARY ${library})
  else()
    weir_add_module(${target} FOLDER ${folder} NAME ${file} EXPORTS weir_${kind}_entry ${arg_EXPORTS}
                    SOURCES ${arg_SOURCES} LIBRARIES ${arg_LIBRARIES})
  endif()
  set_target_properties(${target} PROPERTIES WEIR_DESCRIPTION "${arg_DESCRIPTION}")

  foreach(words VENDOR_LIBRARIES LAUNCHED_BY)
    set(strings "")
    foreach(word ${arg_${words}})
      weir_json_string(word "${word}")
      list(APPEND strings "${word}")
    endforeach()
    list(JOIN strings ", " strings_of_${words})
  endforeach()
  set(launched_by "")
  if(arg_LAUNCHED_BY)
    set(launched_by ",\n  \"launched_by\": [${strings_of_LAUNCHED_BY}]")
  endif()
  weir_json_string(description "${arg_DESCRIPTION}")
  # The host checks the range before it loads the library.
  file(
    GENERATE
    OUTPUT ${folder}/${name}.json
    CONTENT
      "{
  \"manifest_version\": 1,
  \"name\": \"${name}\",
  \"description\": ${description},
  \"kind\": \"${kind}\",
  \"library\": \"lib${file}.so\",
  \"abi\": {\"min\": \"${arg_ABI_MIN}\", \"max\": \"${arg_ABI}\"},
  \"architecture\": \"${CMAKE_SYSTEM_PROCESSOR}\",
  \"vendor_libraries\": [${strings_of_VENDOR_LIBRARIES}]${launched_by}
}
")

  set_target_properties(${target} PROPERTIES WEIR_MANIFEST ${folder}/${name}.json)

  set(destination ${CMAKE_INSTALL_LIBDIR}/weir/${kind}s)
  if(arg_LIBRARY)
    install(PROGRAMS ${library} DESTINATION ${destination} COMPONENT ${arg_COMPONENT})
  else()
    install(TARGETS ${target} LIBRARY DESTINATION ${destination} COMPONENT ${arg_COMPONENT})
  endif()
  install(FILES ${folder}/${name}.json DESTINATION ${destination} COMPONENT ${arg_COMPONENT})
endfunction()

function(weir_add_communicator name)
  weir_add_driver(${name} KIND communicator ${ARGN})
endfunction()

# weir_add_conformance_test(NAME LEVEL n [FILTER f] [EXPECTATIONS file] [KERNELS folder] [TIMEOUT seconds]
#                           [LAUNCHER command...])
#
# Adds the test conformance.NAME: weir-conformance tests the driver of weir_add_driver(NAME ...), on all
# levels up to n or on those of a range such as 2-4. On a machine without a device only level 0 can pass.
# FILTER to TIMEOUT are weir-conformance's options. LAUNCHER is a program or a target that is run with the
# suite's command as its arguments, for setup or to skip the test without hardware. The report is
# conformance/NAME/conformance.html in the build folder. WEIR_CONFORMANCE names the program if it is not
# installed with the SDK.
function(weir_add_conformance_test name)
  cmake_parse_arguments(arg "" "LEVEL;FILTER;EXPECTATIONS;KERNELS;TIMEOUT" "LAUNCHER" ${ARGN})
  set(target weir-driver-${name})
  if(NOT TARGET ${target})
    message(FATAL_ERROR "weir_add_conformance_test: there is no driver '${name}'; call weir_add_driver(${name} ...) first")
  endif()
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "weir_add_conformance_test(${name}): unknown argument '${arg_UNPARSED_ARGUMENTS}'")
  endif()
  if(NOT arg_LEVEL MATCHES "^[0-8](-[0-8])?$")
    message(FATAL_ERROR "weir_add_conformance_test(${name}): LEVEL is '${arg_LEVEL}'; expected 0 to 8, or a range such as 2-4")
  endif()
  if(TARGET weir-conformance)
    set(program $<TARGET_FILE:weir-conformance>)
  else()
    find_program(WEIR_CONFORMANCE weir-conformance HINTS ${WEIR_SDK_BINDIR} DOC "Weir's conformance suite")
    if(NOT WEIR_CONFORMANCE)
      message(FATAL_ERROR "weir_add_conformance_test(${name}): the program weir-conformance was not found; install it "
                          "(weir-conformance), name it with -DWEIR_CONFORMANCE=..., or configure with -DBUILD_TESTING=OFF")
    endif()
    set(program ${WEIR_CONFORMANCE})
  endif()

  set(options --level ${arg_LEVEL} --report ${CMAKE_CURRENT_BINARY_DIR}/conformance/${name})
  if(arg_FILTER)
    list(APPEND options --filter ${arg_FILTER})
  endif()
  if(arg_TIMEOUT)
    list(APPEND options --timeout ${arg_TIMEOUT})
  endif()
  foreach(word EXPECTATIONS KERNELS)
    if(arg_${word})
      string(TOLOWER ${word} option)
      get_filename_component(path ${arg_${word}} ABSOLUTE)
      list(APPEND options --${option} ${path})
    endif()
  endforeach()
  add_test(NAME conformance.${name} COMMAND ${arg_LAUNCHER} ${program} --driver $<TARGET_PROPERTY:${target},WEIR_MANIFEST>
                                            ${options})
endfunction()
