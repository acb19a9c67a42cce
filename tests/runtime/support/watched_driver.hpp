// SPDX-License-Identifier: Apache-2.0
// A driver table that forwards every call to a real driver and observes it. It counts calls, records their
// order, runs a hook before a call, fails the n-th call of a function, hides capabilities, limits memory, and
// loses the device.
#pragma once

#include <weir/driver.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>
#include <weir/device.hpp>

namespace weir::test {

/// One call as the driver received it.
struct Call {
  std::string slot;
  const void* first = nullptr;   ///< the first argument: a stream, event, device, allocation
  const void* second = nullptr;  ///< the second, if it is a handle
};

class Watch {
 public:
  /// The real driver's device 0, through a new driver whose capabilities lack `hidden` (enum
  /// weir_capability). With `native_streams` it wraps streams: a native handle is then a stream of the real
  /// driver. Each device is independent of earlier ones except for the watch, which this call resets.
  static Device open(std::uint64_t hidden = 0, bool native_streams = false);
  /// A second device of the driver of `device`; both map to one device of the real driver.
  static Device sibling(const Device& device);
  static Watch& get();

  // Counts and order.
  std::uint64_t count(std::string_view slot);
  std::uint64_t total();
  /// Calls of `slot` that this class made fail.
  std::uint64_t refused(std::string_view slot);
  void start_recording();
  std::vector<Call> recorded();
  /// The dependencies of each node of the most recent graph, by the nodes' positions.
  std::vector<std::vector<std::uint32_t>> last_graph();
  /// The kinds of its nodes.
  std::vector<std::uint32_t> last_graph_kinds();

  // Interference. Calls `n` to `n` + `times` - 1 of `slot` (from 1, counted from now) return `result`.
  void fail(std::string_view slot, std::uint64_t n, weir_result result, std::uint64_t times = 1);
  void fail_no_more();
  void lose_device();
  /// From now on calls on that stream of the driver fail, except its destruction.
  void break_stream(const void* stream);
  /// Runs before calls of `slot`, on the calling thread; null removes the hook.
  void before(std::string_view slot, std::function<void()> hook);
  /// Allocations beyond `bytes` in total return OUT_OF_MEMORY.
  void limit_memory(std::uint64_t bytes);
  /// From now on the driver reports `bytes` of free memory; null restores the real value.
  void report_free(const std::uint64_t* bytes);

  // For the forwarding functions.
  const weir_driver_table* real = nullptr;
  std::uint64_t hidden = 0;
  bool native_streams = false;
  bool hide_host_pointers = false;                     ///< of device memory
  std::function<void(weir_device_info&)> change_info;  ///< changes what the next opened device is said to be
  weir_result enter(std::size_t slot, const void* first, const void* second, weir_status* status);
  std::optional<std::uint64_t> reported_free();
  bool take_memory(std::string_view slot, std::uint64_t bytes, weir_status* status);
  void remember_memory(weir_allocation allocation, std::uint64_t bytes);
  void forget_memory(weir_allocation allocation);
  void remember_graph(std::uint32_t count, const weir_graph_node* const* nodes);

 private:
  struct Failure {
    std::uint64_t at = 0, times = 0;
    weir_result result = WEIR_OK;
  };
  void reset();

  std::mutex mutex_;
  std::map<std::string, std::uint64_t, std::less<>> counts_, refused_;
  std::map<std::string, Failure, std::less<>> failures_;
  std::map<std::string, std::function<void()>, std::less<>> hooks_;
  std::vector<Call> calls_;
  std::vector<std::vector<std::uint32_t>> graph_;
  std::vector<std::uint32_t> graph_kinds_;
  bool recording_ = false;
  bool lost_ = false;
  const void* broken_ = nullptr;
  std::uint64_t limit_ = ~std::uint64_t{0}, used_ = 0;
  std::optional<std::uint64_t> reported_free_;
  std::map<weir_allocation, std::uint64_t> allocations_;
};

/// The driver under test, found and loaded like any driver; its device 0 without a watch.
Device open_real();

}  // namespace weir::test
