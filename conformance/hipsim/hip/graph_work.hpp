// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "runtime/work.hpp"

namespace weir::hipsim {

/// Checks the parameters of nodes and converts them to work.
hipError_t kernel_work(Runtime& runtime, const hipKernelNodeParams* parameters, Work& work);
hipError_t fill_work(const hipMemsetParams* parameters, Work& work);
hipError_t copy_work(void* to, const void* from, std::size_t bytes, hipMemcpyKind kind, Work& work);

}  // namespace weir::hipsim
