// SPDX-License-Identifier: Apache-2.0
// Layers around drivers: parsing the list of wanted layers, and applying them. Layers are checked like
// drivers (trust.hpp), and the environment is ignored when the process runs elevated.
#pragma once

#include <weir/layer.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>
#include <weir/drivers.hpp>
#include <weir/error.hpp>

#include "foreign_text.hpp"

namespace weir {

class GpuDriver;

namespace detail {
struct ActiveLayer {
  std::string name, options, library, driver;
  weir_layer layer{};
};
}  // namespace detail

/// A fault of the requested layers. It does not change the status of a driver.
class LayersError : public Error {
 public:
  explicit LayersError(const std::string& what)
      : Error(ErrorCode::invalid, without_control_characters(what, is_control_in_lines)) {}
};

/// One layer as WEIR_LAYERS names it.
struct WantedLayer {
  std::string name, options;
  std::string origin;  ///< for messages: "WEIR_LAYERS"
};

/// Splits "validate,fault:nth=3". Throws LayersError that quotes the invalid part.
std::vector<WantedLayer> parse_layers(std::string_view text, std::string_view origin);

/// Applies all wanted layers to `driver`, whose table is complete. Throws LayersError. set_layers must not be
/// called after the first call.
void put_layers(GpuDriver& driver);

}  // namespace weir
