// SPDX-License-Identifier: Apache-2.0
// The arithmetic of a device, measured. Vulkan allows division and square roots to be inexact and denormals
// to be flushed, and does not report what a device does.
#pragma once

#include "library.hpp"

namespace weir::vulkan {

/// Of one type: whether all measured results have the bits that IEEE 754 requires. Where sums and products
/// flush denormals, those of the others do not count; else they do: an fma may flush where sums do not.
struct Exactness {
  bool divide = false, sqrt = false, fma = false, multiply_add = false;
  bool denormals = false;  ///< as operands and results of sums and products
  bool least = false;      ///< min returns the other operand for a NaN
};

struct Arithmetic {
  Exactness f32, f64;       ///< f64 all false on a device without it
  bool long_loops = false;  ///< a loop of many iterations runs to its end
  std::string failure;      ///< why the device was not measured, or ""
};

/// Runs a kernel on the device, once for each type. Takes some milliseconds.
Arithmetic measure_arithmetic(const PhysicalDevice& device) noexcept;

}  // namespace weir::vulkan
