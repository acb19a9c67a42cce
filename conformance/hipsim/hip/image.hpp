// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <string>

namespace weir::hipsim {

/// A code object in what the program gives hipModuleLoadData: an ELF file, or one out of clang's offload
/// bundle.
struct Image {
  std::span<const std::uint8_t> bytes;  ///< empty if there is none
  bool wrong_target = false;
  std::string problem;
};

/// `target` is such as "gfx90a:sramecc+:xnack-". Only the architecture is compared here.
Image find_image(const void* data, const std::string& target);

}  // namespace weir::hipsim
