// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "api.hpp"

namespace weir::amdgpu {

/// The library's functions. Null before Hip::start has succeeded; optional ones may stay null. Versions are
/// 10,000,000 * major + 100,000 * minor + patch.
inline Api api{};

/// Replaces hipLaunchHostFunc, which libraries before HIP 5.3 lack.
Code add_callback(void* stream, weir_host_callback callback, void* user);

/// "6.3"
std::string version_text(int version);

/// "gfx90a:sramecc+:xnack-"
std::string architecture_of(int device);

}  // namespace weir::amdgpu
