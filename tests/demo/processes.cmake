# SPDX-License-Identifier: Apache-2.0
# `mpirun weir demo river`: cmake -DWEIR=... -DLAUNCHER=... -DCASE=same|killed -DOUT=... -P
# same: 1, 2, 3, 4 and 7 processes write the maps of one device. killed: the others name the killed one.
set(demo ${WEIR} demo river --device cpu)
separate_arguments(launcher UNIX_COMMAND "${LAUNCHER}")
set(ENV{WEIR_RANK_LIMIT} 120)

function(run_demo name words_of)
  execute_process(COMMAND ${ARGN} ${demo} --steps 16 --rain 1000 --hours 0.05 --out ${OUT}/${name} RESULT_VARIABLE status OUTPUT_VARIABLE words
                  ERROR_VARIABLE errors)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${name}: it ended with ${status}:\n${words}${errors}")
  endif()
  set(${words_of} "${words}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${OUT})
file(MAKE_DIRECTORY ${OUT})
if(CASE STREQUAL "same")
  run_demo(alone alone_words)
  string(REGEX MATCH "state     [0-9a-f]+" state "${alone_words}")
  foreach(ranks 1 2 3 4 7)
    run_demo(${ranks} words ${launcher} -np ${ranks})
    foreach(map water sediment dye)
      file(SHA256 ${OUT}/alone/${map}.png expected)
      file(SHA256 ${OUT}/${ranks}/${map}.png found)
      if(NOT found STREQUAL expected)
        message(FATAL_ERROR "${map}.png of ${ranks} processes differs from that of one device")
      endif()
    endforeach()
    string(REGEX MATCHALL "state     [0-9a-f]+" states "${words}")
    string(REGEX MATCHALL " 100 % [^\n]*flow" bars "${words}") # of the steps, not of compiling
    list(LENGTH bars count)
    if(NOT states STREQUAL state OR NOT count EQUAL 1)
      message(FATAL_ERROR "expected \"${state}\" and one progress bar of ${ranks} processes:\n${words}")
    endif()
  endforeach()
else()
  # Rank 1 is killed once the first rank has reported its device, which it does before the first step.
  file(WRITE ${OUT}/rank [[
#!/bin/sh
if [ "$OMPI_COMM_WORLD_RANK" = 1 ]; then
  "$@" & demo=$!
  until grep -q "^device" "$LOG"; do sleep 0.1; done
  sleep 1
  kill -KILL $demo
  wait $demo
elif [ "$OMPI_COMM_WORLD_RANK" = 0 ]; then
  "$@" > "$LOG"
  echo "ended with $?"
else
  "$@"
  echo "ended with $?"
fi
]])
  file(CHMOD ${OUT}/rank PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
  file(TOUCH ${OUT}/log)
  set(ENV{LOG} ${OUT}/log)
  execute_process(COMMAND ${launcher} -np 3 ${OUT}/rank ${demo} --steps 10000000 --out ${OUT}/maps
                  OUTPUT_VARIABLE words ERROR_VARIABLE words TIMEOUT 240)
  string(REPLACE ";" "," words "${words}") # a semicolon would divide a report
  string(REGEX MATCHALL "weir: [^\n]*rank 1 [^\n]*" reports "${words}")
  string(REGEX MATCHALL "ended with 1\n" failures "${words}")
  list(LENGTH reports named)
  list(LENGTH failures failed)
  if(NOT named EQUAL 2 OR NOT failed EQUAL 2)
    message(FATAL_ERROR "expected an error of both other ranks that names rank 1:\n${words}")
  endif()
endif()
