# SPDX-License-Identifier: Apache-2.0
# cmake -DROOT=source -P check_environment.cmake: libweir and Weir's drivers read the environment with secure_getenv or
# secure_environment(), which return nothing in a process with more rights than its caller. Some files check
# process_is_elevated instead.
# Some files of drivers read variables of the vendor's library, only to explain their effect.
cmake_minimum_required(VERSION 3.25)
set(asks core/src/driver/environment.cpp core/src/driver/environment.hpp core/src/driver/layers.cpp core/src/driver/probe/prober.cpp
    core/src/driver/discovery/search_path.cpp core/src/driver/probe/verdicts.cpp)
set(explains plugins/amdgpu/device.cpp plugins/amdgpu/library.cpp plugins/cuda/device.cpp plugins/cuda/library.cpp)
file(GLOB_RECURSE sources RELATIVE ${ROOT} ${ROOT}/core/src/*.cpp ${ROOT}/core/src/*.hpp ${ROOT}/plugins/*.cpp ${ROOT}/plugins/*.hpp
     ${ROOT}/sdk/include/*.hpp)
foreach(source ${sources})
  file(STRINGS ${ROOT}/${source} lines REGEX "(^|[^_a-z])(getenv *|environment)\\(")
  if(source IN_LIST explains)
    list(FILTER lines INCLUDE REGEX "WEIR_")
  endif()
  if(lines AND NOT source IN_LIST asks)
    list(JOIN lines "\n  " lines)
    message(SEND_ERROR "${source} reads the environment with getenv or environment(); use secure_getenv or secure_environment():\n  ${lines}")
  endif()
endforeach()
