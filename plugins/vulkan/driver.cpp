// SPDX-License-Identifier: Apache-2.0
// The entry point. The SDK provides the table and the common part of each call.
#include "driver.hpp"

#include <weir/sdk/table.hpp>

#include "describe.hpp"

namespace weir::vulkan {
namespace {

struct Driver {
  static constexpr const char* name = "vulkan";
  static constexpr const char* version = WEIR_VERSION;
  static constexpr const char* vendor = "Weir";
  static std::uint32_t device_count() { return static_cast<std::uint32_t>(physical_devices().size()); }
  static void describe(std::uint32_t index, weir_device_info& info) {
    vulkan::describe(physical_devices()[index], info);
  }
  using Device = vulkan::Device;
  using Stream = vulkan::Stream;
  using Event = vulkan::Event;
  using Allocation = vulkan::Allocation;
  using Kernel = vulkan::Kernel;
  using Module = vulkan::Module;
  using Graph = vulkan::Graph;
};

}  // namespace
}  // namespace weir::vulkan

extern "C" weir_result weir_driver_entry(const weir_host* host, const weir_driver_table** out_table,
                                         weir_status* status) {
  return weir::sdk::driver_entry<weir::vulkan::Driver>(host, out_table, status);
}
