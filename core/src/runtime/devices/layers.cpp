// SPDX-License-Identifier: Apache-2.0
#include <weir/layers.hpp>

#include "runtime/devices/device_state.hpp"

namespace weir {

std::vector<Layer> layers(const Device& device) try {
  std::vector<Layer> found;
  for (const auto& layer : device.state()->driver().layers()) found.emplace_back(layer.get());
  return found;
} catch (...) {
  detail::rethrow_as_error();
}

}  // namespace weir
