// SPDX-License-Identifier: Apache-2.0
#include <weir/layers.hpp>

#include "runtime/device_state.hpp"

namespace weir {

std::vector<Layer> layers(const Device& device) {
  std::vector<Layer> found;
  for (const auto& layer : device.state()->driver().layers()) found.emplace_back(layer.get());
  return found;
}

}  // namespace weir
