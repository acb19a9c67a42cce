// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace weir::test {

/// Reads `data` as a driver's manifest. It must be refused with a message or satisfy the assumptions of the
/// loader: a name usable in device names, a library inside the manifest's folder, and a range of ABIs that is
/// not empty. Aborts if they are violated. Returns true if the manifest was accepted.
bool exercise_manifest(const std::uint8_t* data, std::size_t size);

}  // namespace weir::test
