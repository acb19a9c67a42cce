// SPDX-License-Identifier: Apache-2.0
// Layers: wrappers around drivers that receive every call, for testing. `validate` checks the program's
// calls, `fault` makes calls fail; sdk/docs/layers.md lists their options. Not part of <weir/weir.hpp>.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>
#include <weir/device.hpp>
#include <weir/export.hpp>

namespace weir {

namespace detail {
struct ActiveLayer;
}

/// Puts layers around every driver, below those that the environment variable WEIR_LAYERS names:
/// "validate,fault:call=kernel_launch:nth=3". The first is nearest to the program. Call it before the
/// process's first use of a device. Throws Error{invalid} if the text is malformed or a device was used
/// already. For an unknown layer or a wrong option, the first use of a device throws Error{invalid}. An empty
/// text means none. Thread-safe.
WEIR_API void set_layers(std::string_view text);

/// A finding of a layer.
struct LayerReport {
  std::string layer;    ///< "validate"
  std::string driver;   ///< "cpu"
  std::string rule;     ///< "race", "dead", ...: the word that the layer's page lists
  std::string message;  ///< finding, expectation, remedy
};

/// Calls `handler` for each report, one at a time, on the thread whose call is at fault or on a thread of a
/// driver. It must not throw or call Weir. Without a handler, or with an empty one, reports go to the
/// standard error output. Thread-safe.
WEIR_API void set_layer_handler(std::function<void(const LayerReport&)> handler);

/// A layer around a driver. A cheap handle, always valid; functions may be called from several
/// threads.
class WEIR_API Layer {
 public:
  const std::string& name() const noexcept;
  const std::string& library() const noexcept;  ///< the file that it was loaded from
  /// Replaces the options while the layer is in use. Throws Error{invalid} that names the wrong word,
  /// Error{unsupported} for a layer without options.
  void configure(std::string_view options) const;
  /// A number that the layer keeps. Throws Error{not_found} that lists the names.
  std::uint64_t get(std::string_view name) const;

  explicit Layer(const detail::ActiveLayer* layer) noexcept : layer_(layer) {}

 private:
  const detail::ActiveLayer* layer_;
};

/// The layers around the device's driver, the one nearest to the program first.
WEIR_API std::vector<Layer> layers(const Device& device);

}  // namespace weir
