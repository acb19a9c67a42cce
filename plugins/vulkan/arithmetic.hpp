// SPDX-License-Identifier: Apache-2.0
// The arithmetic of a device, measured. Vulkan allows inexact division and square roots and flushed
// denormals, and does not report them.
#pragma once

#include "library.hpp"

namespace weir::vulkan {

/// Whether all measured results of one type have the bits that IEEE 754 requires. If sums and products flush
/// denormals, denormals are ignored in the other operations. Otherwise they count, because an fma may flush
/// where sums do not.
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
