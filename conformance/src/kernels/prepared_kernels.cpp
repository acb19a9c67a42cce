// SPDX-License-Identifier: Apache-2.0
// Code objects and the header inside the program. The assembler includes them, so that their bytes need no
// other form.
#include "kernels/kernels.hpp"

#define WEIR_INCLUDE_BYTES(name, path) \
  __asm__(                             \
      ".pushsection .rodata\n"         \
      ".global weir_conformance_" name \
      "\n"                             \
      ".hidden weir_conformance_" name \
      "\n"                             \
      "weir_conformance_" name         \
      ":\n"                            \
      ".incbin \"" path                \
      "\"\n"                           \
      ".global weir_conformance_" name \
      "_end\n"                         \
      ".hidden weir_conformance_" name \
      "_end\n"                         \
      "weir_conformance_" name         \
      "_end:\n"                        \
      ".byte 0\n"                      \
      ".popsection\n")

WEIR_INCLUDE_BYTES("ptx", WEIR_DEVICE_KERNELS);
extern "C" const char weir_conformance_ptx[], weir_conformance_ptx_end[];
WEIR_INCLUDE_BYTES("header", WEIR_DRIVER_HEADER);  // for trace.cpp
#ifdef WEIR_HOST_KERNELS
WEIR_INCLUDE_BYTES("host", WEIR_HOST_KERNELS);
WEIR_INCLUDE_BYTES("unresolved", WEIR_UNRESOLVED_KERNELS);
extern "C" const char weir_conformance_host[], weir_conformance_host_end[];
extern "C" const char weir_conformance_unresolved[], weir_conformance_unresolved_end[];
#endif
#ifdef WEIR_VULKAN_KERNELS
WEIR_INCLUDE_BYTES("vulkan_shape", WEIR_VULKAN_KERNELS "/shape.spv");
WEIR_INCLUDE_BYTES("vulkan_tally", WEIR_VULKAN_KERNELS "/tally.spv");
WEIR_INCLUDE_BYTES("vulkan_shared", WEIR_VULKAN_KERNELS "/shared.spv");
extern "C" const char weir_conformance_vulkan_shape[], weir_conformance_vulkan_shape_end[];
extern "C" const char weir_conformance_vulkan_tally[], weir_conformance_vulkan_tally_end[];
extern "C" const char weir_conformance_vulkan_shared[], weir_conformance_vulkan_shared_end[];
#endif

namespace weir::conformance {

std::string_view prepared_object(std::string_view format, [[maybe_unused]] std::string_view kernel) {
  // PTX is text, which ends with a zero. Vendors' runtimes take a kernel with one size of block only.
  if (format == "ptx" && kernel != "echo") return {weir_conformance_ptx, weir_conformance_ptx_end + 1};
#ifdef WEIR_HOST_KERNELS
  if (format == "elf-x86_64") return {weir_conformance_host, weir_conformance_host_end};
#endif
#ifdef WEIR_VULKAN_KERNELS
  if (format == "spirv-vulkan") {
    if (kernel == "shape") return {weir_conformance_vulkan_shape, weir_conformance_vulkan_shape_end};
    if (kernel == "tally") return {weir_conformance_vulkan_tally, weir_conformance_vulkan_tally_end};
    if (kernel == "shared") return {weir_conformance_vulkan_shared, weir_conformance_vulkan_shared_end};
  }
#endif
  return {};
}

std::string_view unresolved_object(std::string_view format) {
  using namespace std::string_view_literals;
  if (format == "ptx")
    return ".version 6.4\n.target sm_70\n.address_size 64\n"
           ".extern .func weir_conformance_defined_nowhere;\n"
           ".visible .entry unresolved()\n{\n  call weir_conformance_defined_nowhere;\n  ret;\n}\n\0"sv;
#ifdef WEIR_HOST_KERNELS
  if (format == "elf-x86_64") return {weir_conformance_unresolved, weir_conformance_unresolved_end};
#endif
  return {};
}

}  // namespace weir::conformance
