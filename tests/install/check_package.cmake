# SPDX-License-Identifier: Apache-2.0
# cmake -DCPACK=cpack -DBUILD=folder -DOUT=folder -DDRIVER=name -DFOLDER=usr/lib/... -P check_package.cmake: what
# weir_package_driver puts into a package lies in FOLDER, and is the driver and its manifest alone. The archive is one that
# needs none of Debian's commands.
file(REMOVE_RECURSE ${OUT})
execute_process(COMMAND ${CPACK} -G TGZ --config ${BUILD}/CPackConfig.cmake -B ${OUT} OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
file(GLOB archive ${OUT}/*.tar.gz)
file(ARCHIVE_EXTRACT INPUT ${archive} DESTINATION ${OUT}/content)
file(GLOB_RECURSE files RELATIVE ${OUT}/content ${OUT}/content/*)
list(TRANSFORM files REPLACE "^[^/]*/(.*)$" "\\1")
list(SORT files)
set(expected ${FOLDER}/libweir-${DRIVER}.so ${FOLDER}/${DRIVER}.json)
if(NOT files STREQUAL expected)
  message(FATAL_ERROR "the package of '${DRIVER}' holds '${files}', expected '${expected}'")
endif()
