// SPDX-License-Identifier: Apache-2.0
// The kernels in shaders/, compiled when weir-bench was built.
#pragma once

#include <cstdint>
#include <span>

namespace weir::bench::vulkan {

using Words = std::span<const std::uint32_t>;

/// A kernel for Weir's driver, which pushes the address of the arguments, and for a program that pushes the
/// arguments themselves.
struct Shader {
  Words ours, by_hand;
};
extern const Shader take, bump, spin;

// Only written by hand; Weir's side is written in the kernel language.
extern const Words products_f32, products_f64, integers, copy_by_words, copy_by_fours;

}  // namespace weir::bench::vulkan
