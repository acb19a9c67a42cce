// SPDX-License-Identifier: Apache-2.0
// Layers around drivers: which are wanted, and how they are put on. Layers are judged like drivers
// (trust.hpp), and the environment is ignored when the process runs elevated.
#pragma once

#include <weir/layer.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>
#include <weir/drivers.hpp>
#include <weir/error.hpp>

namespace weir {

class GpuDriver;

namespace detail {
struct ActiveLayer {
  std::string name, options, library, driver;
  weir_layer layer{};
};
}  // namespace detail

/// What is wrong with the layers that were asked for. Not a driver's fault, so it is no driver's fate.
class LayersError : public Error {
 public:
  explicit LayersError(const std::string& what) : Error(ErrorCode::invalid, what) {}
};

/// One layer as WEIR_LAYERS names it.
struct WantedLayer {
  std::string name, options;
  std::string origin;  ///< for messages: "WEIR_LAYERS"
};

/// Splits "validate,fault:nth=3". Throws LayersError that quotes what is wrong.
std::vector<WantedLayer> parse_layers(std::string_view text, std::string_view origin);

/// Puts all wanted layers around `driver`, whose table is complete. Throws LayersError. From the first call
/// on, set_layers is too late.
void put_layers(GpuDriver& driver);

}  // namespace weir
