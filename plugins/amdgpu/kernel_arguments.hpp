// SPDX-License-Identifier: Apache-2.0
// What a code object's metadata says of its kernels' arguments. HIP knows it and does not tell.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>

namespace weir::amdgpu {

/// Bytes of the argument block that each kernel takes, without the arguments that the runtime adds.
using KernelArguments = std::map<std::string, std::uint32_t, std::less<>>;

/// Reads the metadata note of an ELF file for AMD GPUs. Empty where there is none, or none that can be read:
/// then nothing is known, and nothing refused. Never reads outside `image`.
KernelArguments read_kernel_arguments(std::span<const char> image);

}  // namespace weir::amdgpu
