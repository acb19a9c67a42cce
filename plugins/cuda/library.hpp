// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api.hpp"

namespace weir::cuda {

/// The library's functions; null before start_library has succeeded, and those of optional parts also after
/// it.
extern Api api;

/// Opens libcuda, fills `api` and starts the driver API, once for the process. Returns the number of devices.
/// Throws what went wrong: the library is missing, too old or a stub, CUDA does not start, there is no
/// device.
std::uint32_t start_library();

/// As cuDriverGetVersion says it: 1000 * major + 10 * minor.
int library_version() noexcept;

bool has_pools() noexcept;
bool has_graphs() noexcept;

}  // namespace weir::cuda
