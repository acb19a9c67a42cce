# SPDX-License-Identifier: Apache-2.0
# weir_package_driver(NAME MAINTAINER "Name <address>" [SUGGESTS packages] [RELEASE number])
#
# Makes the calling project's `cpack` write weir-driver-NAME_VERSION-RELEASE_ARCHITECTURE.deb, with the driver
# of weir_add_driver(NAME ...). VERSION is the project's; RELEASE is 1 by default. SUGGESTS are the packages
# of libraries that the driver opens at run time; dpkg-shlibdeps finds linked ones. The package depends on no
# version of libweir, so it can be installed and upgraded separately. The driver is in the folder of its
# architecture below /usr, whatever CMAKE_INSTALL_PREFIX is. Must be called once, after weir_add_driver.
function(weir_package_driver name)
  cmake_parse_arguments(arg "" "MAINTAINER;SUGGESTS;RELEASE" "" ${ARGN})
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "weir_package_driver(${name}): unknown argument '${arg_UNPARSED_ARGUMENTS}'")
  endif()
  if(NOT TARGET weir-driver-${name})
    message(FATAL_ERROR "weir_package_driver(${name}): call weir_add_driver(${name} ...) first")
  endif()
  if(name MATCHES "^(amdgpu|cpu|cuda|sdk|vulkan)$")
    message(FATAL_ERROR "weir_package_driver(${name}): the package weir-driver-${name} is Weir's own; give the driver another name")
  endif()
  if(NOT arg_MAINTAINER MATCHES "^[^<>]+ <[^<>@ ]+@[^<>@ ]+>$")
    message(FATAL_ERROR "weir_package_driver(${name}): MAINTAINER is '${arg_MAINTAINER}', expected \"Name <address>\"")
  endif()
  if(NOT PROJECT_VERSION)
    message(FATAL_ERROR "weir_package_driver(${name}): the project has no version; write project(${PROJECT_NAME} VERSION 1.0)")
  endif()
  if(NOT arg_RELEASE)
    set(arg_RELEASE 1)
  endif()
  get_target_property(description weir-driver-${name} WEIR_DESCRIPTION)
  if(NOT description)
    set(description "a driver named ${name}")
  endif()

  # `cmake --install` uses CMAKE_INSTALL_PREFIX, which in most builds is not Debian's folder.
  set(folder ${CMAKE_INSTALL_LIBDIR})
  if(CMAKE_LIBRARY_ARCHITECTURE)
    set(folder lib/${CMAKE_LIBRARY_ARCHITECTURE})
  endif()
  set(component package-of-driver-${name})
  get_target_property(prebuilt weir-driver-${name} WEIR_LIBRARY)
  if(prebuilt)
    install(PROGRAMS ${prebuilt} DESTINATION ${folder}/weir/drivers COMPONENT ${component} EXCLUDE_FROM_ALL)
  else()
    install(TARGETS weir-driver-${name} LIBRARY DESTINATION ${folder}/weir/drivers COMPONENT ${component} EXCLUDE_FROM_ALL)
  endif()
  install(FILES $<TARGET_PROPERTY:weir-driver-${name},WEIR_MANIFEST> DESTINATION ${folder}/weir/drivers
          COMPONENT ${component} EXCLUDE_FROM_ALL)

  set(CPACK_VERBATIM_VARIABLES ON) # the description may contain any text
  set(CPACK_GENERATOR DEB)
  set(CPACK_PACKAGE_NAME weir-driver-${name})
  set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
  set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
  set(CPACK_STRIP_FILES ON)
  set(CPACK_INSTALL_CMAKE_PROJECTS "${PROJECT_BINARY_DIR};${PROJECT_NAME};${component};/")
  set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
                                                  WORLD_READ WORLD_EXECUTE)
  set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
  set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
  set(CPACK_DEBIAN_PACKAGE_RELEASE ${arg_RELEASE})
  set(CPACK_DEBIAN_PACKAGE_MAINTAINER "${arg_MAINTAINER}")
  set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "plugin-based GPU runtime - ${name} driver\nA driver for Weir: ${description}.")
  set(CPACK_DEBIAN_PACKAGE_SECTION libs)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
  set(CPACK_DEBIAN_PACKAGE_PROVIDES weir-driver)
  set(CPACK_DEBIAN_PACKAGE_ENHANCES libweir1)
  set(CPACK_DEBIAN_PACKAGE_SUGGESTS "${arg_SUGGESTS}")
  include(CPack)
endfunction()
