// SPDX-License-Identifier: Apache-2.0
// A second device of the driver under test.
#pragma once

#include "objects.hpp"

namespace weir::conformance {

/// Another device of the driver; throws if there is none.
inline weir_device other_device() {
  if (device_count() < 2) throw Skipped("the driver has one device only");
  weir_device out = nullptr;
  call(table().device_open, (judged().device + 1) % device_count(), &out);
  return out;
}

}  // namespace weir::conformance
