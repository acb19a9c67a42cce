# SPDX-License-Identifier: Apache-2.0
# `weir demo river` as users run it: cmake -DWEIR=... -DCASE=command|refusal -DOUT=... -P
# CTest's PASS_REGULAR_EXPRESSION ignores the exit status.
if(CASE STREQUAL "command")
  set(steps 8)
  set(expected_status 0)
  set(expected_words "wrote     water.png, sediment.png, dye.png and trace.json")
else()
  set(steps 0)
  set(expected_status 2)
  set(expected_words "weir: --steps is 0, expected a number from 1 to 10000000")
endif()
execute_process(COMMAND ${WEIR} demo river --steps ${steps} --device cpu --out ${OUT} RESULT_VARIABLE status
                OUTPUT_VARIABLE words ERROR_VARIABLE words)
if(NOT status EQUAL expected_status)
  message(FATAL_ERROR "it ended with ${status}, expected ${expected_status}:\n${words}")
endif()
string(FIND "${words}" "${expected_words}" place)
if(place EQUAL -1)
  message(FATAL_ERROR "expected the words \"${expected_words}\":\n${words}")
endif()
