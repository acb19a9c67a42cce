// SPDX-License-Identifier: Apache-2.0
// Layers around the drivers of this process, through the public API. A test program includes this header
// once.
#pragma once

#include <mutex>
#include <utility>
#include <vector>
#include <weir/layers.hpp>
#include <weir/weir.hpp>

namespace weir::test {

/// Records the reports of the layers instead of printing them.
class Heard {
 public:
  static Heard& get() {
    static auto* heard = new Heard;
    return *heard;
  }
  std::vector<LayerReport> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(reports_, {});
  }
  void add(const LayerReport& report) {
    const std::lock_guard lock(mutex_);
    reports_.push_back(report);
  }

 private:
  std::mutex mutex_;
  std::vector<LayerReport> reports_;
};

/// Must be called before the first use of a device.
inline bool use_layers(std::string_view text) {
  set_layers(text);
  set_layer_handler([](const LayerReport& report) { Heard::get().add(report); });
  return true;
}

}  // namespace weir::test
