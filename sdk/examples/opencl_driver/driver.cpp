// SPDX-License-Identifier: Apache-2.0
// The entry point. The SDK provides the table and the common part of each call.
#include "driver.hpp"

#include <weir/sdk/table.hpp>

#include "devices.hpp"

namespace opencl {

/// The class that table.hpp requires.
struct Driver {
  static constexpr const char* name = "opencl";
  static constexpr const char* version = DRIVER_VERSION;
  static constexpr const char* vendor = "an example of Weir's SDK";

  using Device = opencl::Device;
  using Stream = opencl::Stream;
  using Event = opencl::Event;
  using Allocation = opencl::Allocation;
  using Module = opencl::Module;
  using Kernel = opencl::Kernel;

  static std::uint32_t device_count() { return static_cast<std::uint32_t>(all_devices().devices.size()); }
  static void describe(std::uint32_t index, weir_device_info& info) {
    opencl::describe(all_devices().devices[index], info);
  }
};

}  // namespace opencl

extern "C" weir_result weir_driver_entry(const weir_host* host, const weir_driver_table** out_table,
                                         weir_status* status) {
  return weir::sdk::driver_entry<opencl::Driver>(host, out_table, status);
}
