# SPDX-License-Identifier: Apache-2.0
# cmake -DTOOL=.../weir -DDRIVER=name [-DINSIDE=folder] -P check_driver.cmake: fails unless `weir info` reports the
# driver as usable and, with INSIDE, found it in that folder.
execute_process(COMMAND ${TOOL} info --json OUTPUT_VARIABLE report COMMAND_ERROR_IS_FATAL ANY)
string(JSON count LENGTH ${report} drivers)
math(EXPR last "${count} - 1")
foreach(index RANGE ${last})
  string(JSON name GET ${report} drivers ${index} name)
  string(JSON status GET ${report} drivers ${index} status)
  string(JSON manifest GET ${report} drivers ${index} manifest)
  if(name STREQUAL DRIVER AND status STREQUAL usable)
    string(FIND "${manifest}" "${INSIDE}" at)
    if(at EQUAL 0)
      message(STATUS "${manifest} is usable")
      return()
    endif()
  endif()
endforeach()
message(FATAL_ERROR "no usable driver '${DRIVER}' in '${INSIDE}':\n${report}")
