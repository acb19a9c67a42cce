# SPDX-License-Identifier: Apache-2.0
# cmake -DTOOL=.../weir -DOUT=folder -DLANGUAGE=c++ -P write_driver.cmake: a new driver project, with every kind of
# character that a name may contain.
file(REMOVE_RECURSE ${OUT})
execute_process(COMMAND ${TOOL} new-driver my-driver-2 --out ${OUT} --language ${LANGUAGE} COMMAND_ERROR_IS_FATAL ANY)
