# SPDX-License-Identifier: Apache-2.0
# weir_install_package(NAME COMPONENT): installs the CMake package NAME of the calling folder: its exported targets
# NAMETargets, cmake/NAMEConfig.cmake.in and a version file.
#
# Every install rule of the tree names a component; packaging/README.md says which package holds which.
include(CMakePackageConfigHelpers)

function(weir_install_package name component)
  set(destination ${CMAKE_INSTALL_LIBDIR}/cmake/${name})
  configure_package_config_file(cmake/${name}Config.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/${name}Config.cmake
                                INSTALL_DESTINATION ${destination} PATH_VARS CMAKE_INSTALL_BINDIR CMAKE_INSTALL_DATADIR CMAKE_INSTALL_LIBDIR)
  # Before 1.0 every minor version may change the API.
  write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/${name}ConfigVersion.cmake
                                   COMPATIBILITY SameMinorVersion)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${name}Config.cmake
                ${CMAKE_CURRENT_BINARY_DIR}/${name}ConfigVersion.cmake
          DESTINATION ${destination} COMPONENT ${component})
  install(EXPORT ${name}Targets NAMESPACE Weir:: DESTINATION ${destination} COMPONENT ${component})
endfunction()

# weir_run_path(TARGET PATH [LIBRARY file]): sets the folders where an installed TARGET finds libraries; the
# build folder has the same layout. CMake's default would be a path of the build, padded with ':', and the
# loader reads an empty entry as the current folder. LIBRARY may be outside of the system's folders; then its
# folder is added.
function(weir_run_path target path)
  cmake_parse_arguments(arg "" "LIBRARY" "" ${ARGN})
  if(arg_LIBRARY)
    file(REAL_PATH ${arg_LIBRARY} library)
    get_filename_component(folder ${library} DIRECTORY)
    if(NOT folder IN_LIST CMAKE_CXX_IMPLICIT_LINK_DIRECTORIES)
      list(APPEND path ${folder})
    endif()
  endif()
  set_target_properties(${target} PROPERTIES INSTALL_RPATH "${path}" BUILD_WITH_INSTALL_RPATH ON)
endfunction()
