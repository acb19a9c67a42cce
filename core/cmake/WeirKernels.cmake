# SPDX-License-Identifier: Apache-2.0
# weir_add_kernels(TARGET TARGETS format:cpu ... [SOURCES file.cpp ...] [FILES kernel.weir ...] [CALL function ...]
#                  [ASSUME words ...])
#
# Compiles kernels at build time and puts the code into TARGET, an executable or a shared library that links
# Weir::weir. Its launches then need neither weir-codegen nor LLVM on the devices that run the code.
#
#   TARGETS  as `weir compile --target` takes them, such as elf-x86_64:x86-64-v3 or ptx:sm_70; the better ones first
#   SOURCES  sources of TARGET with kernels at namespace scope. They are also linked into a program that runs once at
#            build time. So they must not need other sources, nor start threads or open devices before main().
#   CALL     functions `void name()` in SOURCES that make further kernels, called by that program
#   FILES    kernels in text form, for weir::Program::load(name)
#   ASSUME   sets of launch assumptions to compile for, such as no_alias,index32; by default what most launches meet
#
# Building needs weir-codegen. Each call adds one pack.
include_guard()

function(weir_add_kernels target)
  cmake_parse_arguments(arg "" "" "TARGETS;SOURCES;FILES;CALL;ASSUME" ${ARGN})
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "weir_add_kernels(${target}): '${arg_UNPARSED_ARGUMENTS}' is not expected; the lists are TARGETS, "
                        "SOURCES, FILES, CALL and ASSUME")
  endif()
  if(NOT arg_TARGETS)
    message(FATAL_ERROR "weir_add_kernels(${target}): TARGETS is missing; name what weir info lists for the devices, such "
                        "as elf-x86_64:x86-64-v3 ptx:sm_70")
  endif()
  if(NOT arg_SOURCES AND NOT arg_FILES)
    message(FATAL_ERROR "weir_add_kernels(${target}): SOURCES or FILES must name the kernels")
  endif()
  get_target_property(type ${target} TYPE)
  if(NOT type MATCHES "^(EXECUTABLE|SHARED_LIBRARY|MODULE_LIBRARY)$")
    message(FATAL_ERROR "weir_add_kernels(${target}): ${target} is a ${type}; expected an executable or a shared library, "
                        "because the linker leaves out files of static libraries that nothing names")
  endif()

  get_target_property(number ${target} WEIR_PACKS)
  if(NOT number)
    set(number 0)
  endif()
  math(EXPR number "${number} + 1")
  set_target_properties(${target} PROPERTIES WEIR_PACKS ${number})
  set(name ${target}_kernels_${number})
  string(MAKE_C_IDENTIFIER weir_pack_${name} symbol)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${name})
  set(pack ${folder}/${target}.weirpack)

  # The program that makes the pack.
  set(declarations "")
  set(calls "")
  foreach(function ${arg_CALL})
    string(REGEX MATCH "^(.*)::([^:]*)$" qualified ${function})
    if(qualified)
      string(APPEND declarations "namespace ${CMAKE_MATCH_1} { void ${CMAKE_MATCH_2}(); }\n")
    else()
      string(APPEND declarations "void ${function}();\n")
    endif()
    string(APPEND calls "    ${function}();\n")
  endforeach()
  configure_file(${CMAKE_CURRENT_FUNCTION_LIST_DIR}/pack_main.cpp.in ${folder}/pack_main.cpp @ONLY)
  set(sources ${folder}/pack_main.cpp)
  foreach(source ${arg_SOURCES})
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
    list(APPEND sources ${source})
  endforeach()
  add_executable(${name} EXCLUDE_FROM_ALL ${sources})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${folder})
  target_link_libraries(${name} PRIVATE Weir::weir)
  if(arg_SOURCES)
    target_include_directories(${name} PRIVATE $<TARGET_PROPERTY:${target},INCLUDE_DIRECTORIES>)
    target_compile_definitions(${name} PRIVATE $<TARGET_PROPERTY:${target},COMPILE_DEFINITIONS>)
    target_compile_options(${name} PRIVATE $<TARGET_PROPERTY:${target},COMPILE_OPTIONS>)
    target_link_options(${name} PRIVATE $<TARGET_PROPERTY:${target},LINK_OPTIONS>)
    target_link_libraries(${name} PRIVATE $<TARGET_PROPERTY:${target},LINK_LIBRARIES>)
  endif()

  set(arguments ${pack})
  foreach(one ${arg_TARGETS})
    list(APPEND arguments --target ${one})
  endforeach()
  foreach(one ${arg_ASSUME})
    list(APPEND arguments --assume ${one})
  endforeach()
  set(files "")
  foreach(file ${arg_FILES})
    cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
    list(APPEND files ${file})
    list(APPEND arguments --text ${file})
  endforeach()
  # In Weir's own build, whose folders may define these targets later.
  set(generator $<TARGET_NAME_IF_EXISTS:weir-codegen> $<TARGET_NAME_IF_EXISTS:weir_codegen>)
  add_custom_command(
    OUTPUT ${pack}
    COMMAND ${name} ${arguments}
    DEPENDS ${name} ${files} ${generator}
    COMMENT "Compiling the kernels of ${target}"
    VERBATIM)

  # The pack in the program.
  configure_file(${CMAKE_CURRENT_FUNCTION_LIST_DIR}/embedded_pack.cpp.in ${folder}/embedded_pack.cpp @ONLY)
  set_source_files_properties(
    ${folder}/embedded_pack.cpp
    PROPERTIES OBJECT_DEPENDS ${pack}
               SKIP_UNITY_BUILD_INCLUSION ON
               # Link-time optimisation does not see symbols that assembler text defines.
               COMPILE_OPTIONS -fno-lto)
  target_sources(${target} PRIVATE ${folder}/embedded_pack.cpp)
endfunction()
