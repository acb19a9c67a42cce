// SPDX-License-Identifier: Apache-2.0
// Weir's side of the cases: the Vulkan device under test, and the kernels in shaders/ as its driver loads
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <weir/weir.hpp>

#include "shaders.hpp"

namespace weir::bench::vulkan {

/// The Vulkan device in WEIR_DEVICE, or device 0 of the Vulkan driver. Throws Skipped if WEIR_DEVICE names a
/// device of another driver.
const Device& device();

/// Whether device() is a CPU, for which the cases use smaller arrays.
bool is_cpu();

/// Of `arguments` arguments of take, the first are arrays and the others 32-bit numbers.
constexpr std::size_t arrays_of_take(std::size_t arguments) {
  return arguments == 19 ? 9 : arguments / 2;
}
KernelFunction load_take(std::size_t arguments);
KernelFunction load_bump();  // array
KernelFunction load_spin();  // array, rounds

/// Rounds of spin for a duration in microseconds, or for the longest that every device can run.
std::uint32_t rounds_for(double microseconds);

}  // namespace weir::bench::vulkan
