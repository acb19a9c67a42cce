// SPDX-License-Identifier: Apache-2.0
// Weir's side of the cases: the device under test, and precompiled kernels that both sides run.
#pragma once

#include <cstddef>
#include <string>
#include <vector>
#include <weir/weir.hpp>

namespace weir::bench::gpu {

/// The device in WEIR_DEVICE, or device 0 of the CUDA driver.
const Device& device();

/// PTX of the kernels that both sides launch. take0, take4 and take19 are empty and take that many arguments;
/// bump adds 1 to a number; spin keeps its block busy for the given number of clock cycles.
const std::string& kernel_text();

/// A kernel of kernel_text(), loaded by Weir.
KernelFunction kernel(const char* name, std::initializer_list<KernelParameter> parameters);
KernelFunction take(std::size_t arguments);  // take0, take4, take19
KernelFunction bump();
KernelFunction spin();

/// Cycles of spin() for a duration in microseconds.
std::uint64_t cycles_for(double microseconds);

}  // namespace weir::bench::gpu
