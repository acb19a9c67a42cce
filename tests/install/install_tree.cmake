# SPDX-License-Identifier: Apache-2.0
# cmake -DBUILD=... -DPREFIX=... -DMOVED=... -P install_tree.cmake: a new install tree, and a copy of it elsewhere.
file(REMOVE_RECURSE ${PREFIX} ${MOVED})
execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix ${PREFIX} OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
get_filename_component(folder ${MOVED} NAME)
get_filename_component(parent ${MOVED} DIRECTORY)
file(COPY ${PREFIX}/ DESTINATION ${parent}/${folder})
