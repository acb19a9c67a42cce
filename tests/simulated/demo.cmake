# SPDX-License-Identifier: Apache-2.0
# The demo on a simulated GPU gives the CPU driver's maps, bit for bit: cmake -DWEIR=... -DTERRAIN=... -DDEVICE=... -DOUT=... -P
foreach(device ${DEVICE} cpu)
  execute_process(COMMAND ${WEIR} demo river --terrain ${TERRAIN} --steps 6 --device ${device} --out ${OUT}/${device}
                  RESULT_VARIABLE result OUTPUT_VARIABLE words ERROR_VARIABLE words)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "weir demo river on ${device} ended with ${result}:\n${words}")
  endif()
  file(SHA256 ${OUT}/${device}/water.png water)
  file(SHA256 ${OUT}/${device}/sediment.png sediment)
  file(SHA256 ${OUT}/${device}/dye.png dye)
  list(APPEND maps "${water} ${sediment} ${dye}")
endforeach()
list(REMOVE_DUPLICATES maps)
list(LENGTH maps different)
if(NOT different EQUAL 1)
  message(FATAL_ERROR "the maps in ${OUT} differ between ${DEVICE} and cpu")
endif()
