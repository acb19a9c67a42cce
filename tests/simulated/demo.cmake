# SPDX-License-Identifier: Apache-2.0
# The demo on a simulated GPU produces the CPU driver's fields and maps, bit for bit, and its water flows:
# cmake -DWEIR=... -DTERRAIN=... -DDEVICE=... -DOUT=... [-DEXPECTED=the OUT of another device] -P
execute_process(COMMAND ${WEIR} demo river --terrain ${TERRAIN} --steps 6 --rain 2000 --hours 0.1 --device ${DEVICE} --out ${OUT}
                RESULT_VARIABLE result OUTPUT_VARIABLE words ERROR_VARIABLE words)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "weir demo river on ${DEVICE} ended with ${result}:\n${words}")
endif()
# Wet enough to flow: a fastest speed that is not 0.
string(REGEX MATCH "fastest ([0-9.e-]+) m/s, ([0-9]+) wet cells" totals "${words}")
if(NOT totals OR CMAKE_MATCH_1 STREQUAL "0" OR CMAKE_MATCH_2 LESS 100)
  message(FATAL_ERROR "the demo on ${DEVICE} has too little water to compare:\n${words}")
endif()
if(NOT words MATCHES "\nwater +([^\n]*\n[^\n]*)\nsilt +([^\n]*)\n.*state +([0-9a-f]+),")
  message(FATAL_ERROR "the demo on ${DEVICE} printed no lines for water, silt and state:\n${words}")
endif()
set(found "${CMAKE_MATCH_1} ${CMAKE_MATCH_2} ${CMAKE_MATCH_3}")
foreach(map water sediment dye)
  file(SHA256 ${OUT}/${map}.png hash)
  string(APPEND found " ${hash}")
endforeach()
file(WRITE ${OUT}/found.txt "${found}")
if(EXPECTED)
  file(READ ${EXPECTED}/found.txt expected)
  if(NOT found STREQUAL expected)
    message(FATAL_ERROR "${DEVICE} and cpu differ (water, silt, state of all fields, maps in ${OUT} and ${EXPECTED}):
${found}\n${expected}")
  endif()
endif()
