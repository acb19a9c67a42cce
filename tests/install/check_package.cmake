# SPDX-License-Identifier: Apache-2.0
# cmake -DCPACK=cpack -DBUILD=folder -DOUT=folder -DDRIVER=name -DFOLDER=usr/lib/... -P check_package.cmake: the package
# of weir_package_driver contains only the driver and its manifest, in FOLDER. Uses an archive format that needs no
# command of Debian.
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
