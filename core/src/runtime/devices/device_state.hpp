// SPDX-License-Identifier: Apache-2.0
// State of a Device. States are created once per process and never destroyed. Handles therefore never dangle,
// and destruction order does not matter, even at process exit.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>
#include <weir/device.hpp>
#include <weir/error.hpp>
#include <weir/stream.hpp>

#include "driver/gpu_driver.hpp"
#include "runtime/errors/driver_call.hpp"
#include "runtime/memory/memory_pool.hpp"
#include "runtime/memory/pinned_cache.hpp"
#include "runtime/streams/event_pool.hpp"
#include "runtime/streams/stream_manager.hpp"

namespace weir::detail {

struct DeviceState final : DriverCaller {
  DeviceState(const GpuDriver& driver, std::uint32_t index, std::uint32_t number,
              const weir_device_info& raw);

  /// The driver's device, opened on first use.
  weir_device handle() {
    weir_device device = handle_.load(std::memory_order_acquire);
    return device ? device : open();
  }
  bool opened() const noexcept { return handle_.load(std::memory_order_acquire) != nullptr; }
  bool has(Capability capability) const noexcept { return info.has(capability); }
  /// True if the device's memory and code must stay until the process ends. A lost device reports its work as
  /// complete although that work may still use them.
  bool keeps_resources() const noexcept { return lost(); }

  /// Throws Error{system} in a child of a fork, see forked().
  void check_not_forked() const {
    if (forked()) [[unlikely]]
      throw_forked();
  }
  /// Called first in the child of a fork. Invalidates stream handles, so that calls with them throw.
  void leave_to_parent() noexcept;
  const std::string& device_name() const noexcept { return device_name_; }

  const std::uint32_t index;   ///< among the driver's devices
  const std::uint32_t number;  ///< among the process's devices, below max_devices
  const DeviceInfo info;
  const std::uint32_t argument_style;
  const std::uint32_t address_bytes;  ///< of an array in argument blocks

  StreamManager streams;
  EventPool events;
  PinnedCache pinned;
  MemoryPool memory;
  std::atomic<std::uint32_t> graphs{0};  ///< driver graphs that are alive

 private:
  weir_device open();
  std::vector<const KernelOrigin*> running_kernels() override;
  [[noreturn]] void throw_forked() const;

  std::atomic<weir_device> handle_{nullptr};
};

inline constexpr std::uint32_t max_devices = 256;

/// The state of device `index` of `driver`, created on first use. Tests pass drivers of their own; `driver`
/// must live until the process ends.
DeviceState& device_state(const GpuDriver& driver, std::uint32_t index, const weir_device_info& info);
DeviceState& device_state(const GpuDriver& driver, std::uint32_t index);

/// Devices created so far, by number; null past the end.
DeviceState* device_by_number(std::uint32_t number) noexcept;

/// True once the process has begun to exit: destructors then no longer call drivers.
bool process_is_exiting() noexcept;

/// Registers the handlers that end work in flight at process exit and that disable devices in a child of a
/// fork. Called after each device is opened, and after its first stream is created: the exit handler must run
/// before those that its driver and its vendor's libraries have registered until then. They may unload code.
void watch_process();

/// Stores a driver's object that stays until the process ends, so that leak detectors report only unintended
/// leaks.
void keep_reachable(void* object) noexcept;

/// Returns a copy of `text` that lives as long as the process; equal texts share one copy.
const std::string* intern(std::string_view text);

/// Set when a stream has waited on an event of another device.
inline std::atomic<bool> waits_across_devices{false};

/// The state of a handle. Throws Error{invalid} when the object is gone.
StreamState& live(const StreamRef& stream);
EventState& live(const EventRef& event);
[[noreturn]] void throw_dead(std::string_view what);

/// The message about an object of another device than its user: "the graph is for cpu:0, but the stream is of
/// cuda:0; ...". `object` and `user` are the words before the names of the devices.
std::string other_device_words(std::string_view object, const DeviceState& its, std::string_view user,
                               const DeviceState& wanted, std::string_view remedy);
[[noreturn]] void throw_other_device(std::string_view object, const DeviceState& its, std::string_view user,
                                     const DeviceState& wanted, std::string_view remedy);
/// The remedy for an array of another device.
inline constexpr std::string_view copy_array_there = "copy the array there first";

}  // namespace weir::detail
