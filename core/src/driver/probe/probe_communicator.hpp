// SPDX-License-Identifier: Apache-2.0
// The steps of a probe that are particular to communicators.
#pragma once

#include <weir/communicator.h>

#include <functional>
#include <weir/drivers.hpp>

#include "driver/registry.hpp"

namespace weir {

/// Takes the table from the library's `entry` and queries the communicator's description. Calls `begin`
/// before each step. Throws Refusal.
void take_communicator(Candidate& candidate, const Manifest& manifest, void* entry,
                       const std::function<void(ProbeStep)>& begin);

/// Terminates every text of `info` inside its array.
void terminate_texts(weir_communicator_info& info);

}  // namespace weir
