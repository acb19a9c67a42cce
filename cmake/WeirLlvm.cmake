# SPDX-License-Identifier: Apache-2.0
# Linking of LLVM 22: its archives, or libLLVM.
#
# libLLVM has 26,000 symbols that the dynamic linker looks up by name each time it is loaded, which takes longer than
# compiling a small kernel, and code for twenty architectures. A library with the archives has only the used parts of
# LLVM, and shares no options and locks with another libLLVM in its process.
option(WEIR_SHARED_LLVM "Link libLLVM instead of LLVM's archives; the first kernel of each process without cached code compiles 10 ms later" OFF)
if(WEIR_SANITIZE) # links faster
  set(WEIR_SHARED_LLVM ON)
endif()

# weir_llvm_archives(NAME CONFIG COMPONENT...): an interface library of the archives that the program CONFIG, an
# llvm-config, lists for the components.
function(weir_llvm_archives name config)
  execute_process(COMMAND ${config} --link-static --libfiles ${ARGN} OUTPUT_VARIABLE archives ERROR_VARIABLE problem
                  RESULT_VARIABLE failed OUTPUT_STRIP_TRAILING_WHITESPACE)
  separate_arguments(archives UNIX_COMMAND "${archives}")
  # LLVMExtensions names Polly's archives, which Debian packages separately; lld_targets.cpp replaces the reference.
  list(FILTER archives EXCLUDE REGEX "Polly|LLVMExtensions")
  foreach(archive ${archives})
    if(NOT EXISTS ${archive})
      set(failed "${archive} does not exist")
    endif()
  endforeach()
  if(failed)
    message(FATAL_ERROR "LLVM's archives are missing: ${config} --link-static --libfiles ${ARGN}: ${problem}${failed}. Install "
                        "llvm-22-dev, or set WEIR_SHARED_LLVM=ON to link libLLVM")
  endif()
  add_library(${name} INTERFACE)
  target_link_libraries(${name} INTERFACE ${archives} ${CMAKE_DL_LIBS} m)
  target_link_options(${name} INTERFACE -Wl,--gc-sections -Wl,-Bsymbolic -Wl,--exclude-libs,ALL)
endfunction()
