// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace weir::test {

/// Reads `data` as a driver's manifest; it must be refused in words, or say what loading relies on: a name
/// that can be written into a device's name, a library inside the manifest's folder, a range of ABIs that is
/// not empty. Aborts when this does not hold. Returns true when the manifest was accepted.
bool exercise_manifest(const std::uint8_t* data, std::size_t size);

}  // namespace weir::test
