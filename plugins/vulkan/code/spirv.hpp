// SPDX-License-Identifier: Apache-2.0
// The structure of a SPIR-V module, checked before a vendor's compiler reads it, because such compilers may
// crash on damaged modules.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace weir::vulkan {

struct SpirvModule {
  struct EntryPoint {
    std::string name;
    std::uint32_t push_bytes = 0;  ///< of its push constants; 0 if the interface lists none
  };
  std::vector<EntryPoint> entry_points;     ///< of compute kernels
  std::vector<std::uint32_t> capabilities;  ///< numbers of SPIR-V
  std::uint32_t version = 0;                ///< major << 16 | minor << 8
  std::uint32_t shared_bytes = 0;           ///< of workgroup variables with a constant size
};

/// Why the words are not a complete SPIR-V module with compute kernels, or "". Fills `out` if they are.
std::string read_spirv(std::span<const std::uint32_t> words, SpirvModule& out);

}  // namespace weir::vulkan
