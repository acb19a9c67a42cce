# SPDX-License-Identifier: Apache-2.0
# Warnings and sanitizers for Weir's own targets: target_link_libraries(t PRIVATE weir_compiler).
add_library(weir_compiler INTERFACE)
target_compile_options(weir_compiler INTERFACE -Wall -Wextra -Werror)
if(WEIR_SANITIZE)
  target_compile_options(weir_compiler INTERFACE -fsanitize=${WEIR_SANITIZE} -fno-omit-frame-pointer
                                                -fno-sanitize-recover=all -g)
  target_link_options(weir_compiler INTERFACE -fsanitize=${WEIR_SANITIZE})
  target_compile_definitions(weir_compiler INTERFACE WEIR_SANITIZED=1)
endif()
