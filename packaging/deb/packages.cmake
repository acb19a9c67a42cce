# SPDX-License-Identifier: Apache-2.0
# The Debian packages. Packages of one build that share internals depend on each other's exact version.
# Drivers depend only on the driver ABI, which both sides check at run time.

# deb_package(NAME COMPONENT SECTION SUMMARY TEXT [FIELD value ...]): FIELD is a field of a Debian control file.
set(package_names "")
function(deb_package name component section summary text)
  string(TOUPPER ${component} key)
  set(CPACK_COMPONENTS_ALL ${CPACK_COMPONENTS_ALL} ${component} PARENT_SCOPE)
  set(package_names ${package_names} ${component}=${name} PARENT_SCOPE)
  set(CPACK_DEBIAN_${key}_PACKAGE_NAME ${name} PARENT_SCOPE)
  set(CPACK_DEBIAN_${key}_PACKAGE_SECTION ${section} PARENT_SCOPE)
  set(CPACK_COMPONENT_${key}_DESCRIPTION "${summary}\n${text}" PARENT_SCOPE)
  cmake_parse_arguments(arg "" "DEPENDS;RECOMMENDS;SUGGESTS;ENHANCES;PROVIDES" "" ${ARGN})
  foreach(field DEPENDS RECOMMENDS SUGGESTS ENHANCES PROVIDES)
    if(arg_${field})
      set(CPACK_DEBIAN_${key}_PACKAGE_${field} "${arg_${field}}" PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

set(same "(= ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})")
set(what "Weir runs GPU work that is written once on whatever driver is installed:
programs build kernels in C++ or load ready code objects, and run them on
streams.
.
")

set(suggested_drivers "")
foreach(driver ${packaged_drivers})
  if(NOT driver STREQUAL "cpu")
    list(APPEND suggested_drivers weir-driver-${driver})
  endif()
endforeach()
list(JOIN suggested_drivers ", " suggested_drivers)

set(CPACK_COMPONENTS_ALL "")
deb_package(libweir1 runtime libs "plugin-based GPU runtime - library"
  "${what}This package holds the library that programs link. It needs a driver
package, and weir-codegen for programs with kernels instead of ready
code objects."
  RECOMMENDS "weir-driver-cpu | weir-driver, weir-codegen" SUGGESTS "${suggested_drivers}")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_SOURCE_DIR}/triggers ${CMAKE_CURRENT_BINARY_DIR}/runtime/shlibs)

if(TARGET weir_codegen)
  deb_package(weir-codegen codegen libs "plugin-based GPU runtime - code generation"
    "${what}This package compiles kernels for the device at hand, with LLVM.
Programs that load only ready code objects do not need it."
    DEPENDS "libweir1 ${same}" ENHANCES "libweir1")
  set(CPACK_DEBIAN_CODEGEN_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_SOURCE_DIR}/triggers ${CMAKE_CURRENT_BINARY_DIR}/codegen/shlibs)
endif()
if(TARGET weir-tool)
  deb_package(weir-tools tools utils "plugin-based GPU runtime - command"
    "${what}This package holds the command weir, which lists drivers and devices,
compiles and runs kernels in text form, and has a demonstration; and
layers that check a program's calls of drivers."
    DEPENDS "libweir1 ${same}" RECOMMENDS "weir-codegen" SUGGESTS "weir-driver-sdk")
  # Layers have no package of their own.
  list(APPEND CPACK_COMPONENTS_ALL layers)
  set(CPACK_COMPONENT_LAYERS_GROUP tools)
  set(CPACK_COMPONENT_TOOLS_GROUP tools)
endif()

# Without the vendor's library a driver installs, and reports at run time that the library is missing.
set(vendor_cuda libcuda1)
set(vendor_amdgpu libamdhip64-5)
set(vendor_vulkan libvulkan1)
foreach(driver ${packaged_drivers})
  get_target_property(description weir-driver-${driver} WEIR_DESCRIPTION)
  deb_package(weir-driver-${driver} driver-${driver} libs "plugin-based GPU runtime - ${driver} driver"
    "${what}This package is a driver: ${description}."
    PROVIDES "weir-driver" ENHANCES "libweir1" SUGGESTS "${vendor_${driver}}")
endforeach()

# The communicator `local` is part of libweir1.
set(vendor_mpi "libopenmpi3, openmpi-bin")
set(vendor_nccl libnccl2)
set(vendor_rccl librccl1)
foreach(communicator ${packaged_communicators})
  get_target_property(description weir-communicator-${communicator} WEIR_DESCRIPTION)
  deb_package(weir-communicator-${communicator} communicator-${communicator} libs "plugin-based GPU runtime - ${communicator} communicator"
    "${what}This package is a communicator, which connects the ranks of a program:
${description}."
    PROVIDES "weir-communicator" ENHANCES "libweir1" SUGGESTS "${vendor_${communicator}}")
endforeach()

deb_package(libweir-dev dev libdevel "plugin-based GPU runtime - development files"
  "${what}This package holds the headers and the CMake package for programs that
use libweir. Its documentation is /usr/share/doc/weir/docs/README.md, of
weir-driver-sdk, which comes with it."
  DEPENDS "libweir1 ${same}, weir-driver-sdk ${same}" RECOMMENDS "weir-driver-cpu, weir-codegen" SUGGESTS "weir-tools, libpng-dev, zlib1g-dev")
deb_package(weir-driver-sdk sdk libdevel "plugin-based GPU runtime - driver development kit"
  "${what}This package holds the driver interface and the CMake functions to make a
driver, and the package of a driver, outside of Weir's own tree; examples;
and the documentation of all of Weir. Begin with
/usr/share/doc/weir/docs/README.md."
  DEPENDS "python3:any" RECOMMENDS "weir-tools, weir-conformance")
if(TARGET weir-conformance)
  deb_package(weir-conformance conformance devel "plugin-based GPU runtime - driver conformance suite"
    "${what}This package holds the command weir-conformance, which tests any driver
against the driver interface, level by level, and writes a report."
    DEPENDS "libweir1 ${same}" RECOMMENDS "weir-codegen")
endif()
