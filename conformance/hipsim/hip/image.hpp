// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <string>

namespace weir::hipsim {

/// A code object in the data that the program passes to hipModuleLoadData: an ELF file, or one in clang's
/// offload bundle.
struct Image {
  std::span<const std::uint8_t> bytes;  ///< empty if there is none
  bool wrong_target = false;
  std::string problem;
};

/// `target` has the form "gfx90a:sramecc+:xnack-". Only the architecture is compared here.
Image find_image(const void* data, const std::string& target);

}  // namespace weir::hipsim
