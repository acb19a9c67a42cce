// SPDX-License-Identifier: Apache-2.0
// The sizes of kernels' arguments, from a code object's metadata. HIP has no function that returns them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace weir::amdgpu {

/// A kernel's arguments, without those that the runtime adds.
struct ArgumentPlaces {
  std::uint32_t bytes = 0;             ///< of the argument block
  std::vector<std::uint32_t> offsets;  ///< in the block, in the order of the parameters
};
using KernelArguments = std::map<std::string, ArgumentPlaces, std::less<>>;

/// Reads the metadata note of an ELF file for AMD GPUs. Returns an empty map if it is missing or malformed;
/// sizes are then not checked. Never reads outside `image`.
KernelArguments read_kernel_arguments(std::span<const char> image);

}  // namespace weir::amdgpu
