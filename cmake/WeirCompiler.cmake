# SPDX-License-Identifier: Apache-2.0
# Warnings, sanitizers and precompiled headers for Weir's own targets.

# Every target: target_link_libraries(t PRIVATE weir_compiler).
add_library(weir_compiler INTERFACE)
target_compile_options(weir_compiler INTERFACE -Wall -Wextra -Werror)
# The memory of thread_local variables exists from a thread's start. In libraries that are opened at run time it would
# otherwise be allocated at a thread's first use, and without memory for it the process ends.
target_compile_options(weir_compiler INTERFACE -ftls-model=initial-exec)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 at -O3 warns wrongly about "text" + std::string: gcc.gnu.org/bugzilla/show_bug.cgi?id=105651.
  target_compile_options(weir_compiler INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # std::stable_sort of libstdc++ 12 calls a deprecated function; only g++ suppresses that warning.
  target_compile_options(weir_compiler INTERFACE -Wno-deprecated-declarations)
endif()
# Sets WEIR_LIBRARY_WARNINGS, for libraries that other threads may use while the process ends: their static objects are
# never destroyed. g++ has no such warning.
set(WEIR_LIBRARY_WARNINGS $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:Clang>>:-Wexit-time-destructors>)
# Relocations without symbols in a twentieth of the space: libweir has 0.5 MB of them, which every start reads.
include(CheckLinkerFlag)
check_linker_flag(CXX -Wl,-z,pack-relative-relocs WEIR_PACKS_RELOCATIONS)
if(WEIR_PACKS_RELOCATIONS) # binutils 2.38; loaded by glibc 2.36, the oldest that Weir supports
  target_link_options(weir_compiler INTERFACE -Wl,-z,pack-relative-relocs)
endif()
if(WEIR_SANITIZE)
  target_compile_options(weir_compiler INTERFACE -fsanitize=${WEIR_SANITIZE} -fno-omit-frame-pointer
                                                -fno-sanitize-recover=all -g1) # line numbers for reports
  target_link_options(weir_compiler INTERFACE -fsanitize=${WEIR_SANITIZE})
  target_compile_definitions(weir_compiler INTERFACE WEIR_SANITIZED=1)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    # clang links the sanitizer runtime into programs only, so libraries must be allowed to have undefined
    # symbols.
    target_link_options(weir_compiler INTERFACE LINKER:-z,undefs)
    if(WEIR_SANITIZE MATCHES undefined)
      # The table of a vendor's functions has int where the vendor's headers have enumerations, which C calls alike but
      # this check does not.
      target_compile_options(weir_compiler INTERFACE -fno-sanitize=function)
    endif()
  else()
    # g++ 12 warns wrongly about the memory that instrumented standard containers use.
    target_compile_options(weir_compiler INTERFACE -Wno-maybe-uninitialized)
  endif()
endif()
if(WEIR_BUILD_FUZZERS)
  # Libraries need coverage too, which guides the fuzzer's inputs.
  target_compile_options(weir_compiler INTERFACE -fsanitize=fuzzer-no-link)
endif()

# weir_optimize_little(TARGET): compiles with -O1 instead of -O3, for code whose run time is spent elsewhere, and with -O0
# for sanitizers, whose checks make such code take twice as long to compile with -O1.
function(weir_optimize_little target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  if(WEIR_SANITIZE)
    target_compile_options(${target} PRIVATE -O0)
  endif()
endfunction()

# weir_in_large_units(TARGET): combines 16 files of a unity build instead of 8, because parsing headers takes
# seconds per unit. Names in anonymous namespaces must differ among all of them.
function(weir_in_large_units target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD_BATCH_SIZE 16)
endfunction()

# weir_precompile(TARGET HEADER...): parses headers of other projects once for all files of the target. Every
# file still includes its headers, because with WEIR_PRECOMPILE=OFF nothing is precompiled.
function(weir_precompile target)
  if(NOT WEIR_PRECOMPILE)
    return()
  endif()
  list(TRANSFORM ARGN REPLACE "(.+)" "$<$<COMPILE_LANGUAGE:CXX>:\\1>")
  target_precompile_headers(${target} PRIVATE ${ARGN})
  weir_keep_precompiled(${target})
endfunction()

# weir_precompile_like(TARGET OTHER): reuses the precompiled header of OTHER, which must have the same
# compiler options.
function(weir_precompile_like target other)
  if(NOT WEIR_PRECOMPILE)
    return()
  endif()
  target_precompile_headers(${target} REUSE_FROM ${other})
  weir_keep_precompiled(${target})
endfunction()

# Makes the contents of a precompiled header visible to compiler caches.
function(weir_keep_precompiled target)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
  else()
    target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")
  endif()
endfunction()
