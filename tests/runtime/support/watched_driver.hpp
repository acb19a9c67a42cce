// SPDX-License-Identifier: Apache-2.0
// A driver table that forwards every call to a real driver, and watches: it counts calls, remembers their
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

/// One call as the driver saw it.
struct Call {
  std::string slot;
  const void* first = nullptr;   ///< the first argument: a stream, event, device, allocation
  const void* second = nullptr;  ///< the second, when it is a handle
};

class Watch {
 public:
  /// The real driver's device 0, seen through a new driver whose capabilities lack `hidden` (enum
  /// weir_capability). With `native_streams` it wraps streams: a native handle is then a stream of the real
  /// driver. Every call of this gives a device that shares nothing with earlier ones but the watch, which it
  /// resets.
  static Device open(std::uint64_t hidden = 0, bool native_streams = false);
  /// A second device of the driver that `device` is of; the real driver sees one device for both.
  static Device sibling(const Device& device);
  static Watch& get();

  // Counting and order.
  std::uint64_t count(std::string_view slot);
  std::uint64_t total();
  void start_recording();
  std::vector<Call> recorded();
  /// What each node of the graph that was made last waits for, by the nodes' positions.
  std::vector<std::vector<std::uint32_t>> last_graph();

  // Interference. `result` comes from call number `n` (from 1, counted from now) of `slot` on, `times` times.
  void fail(std::string_view slot, std::uint64_t n, weir_result result, std::uint64_t times = 1);
  void fail_no_more();
  void lose_device();
  /// From now on calls on that stream of the driver fail, but for its destruction.
  void break_stream(const void* stream);
  /// Runs before calls of `slot`, on the calling thread; null takes it away.
  void before(std::string_view slot, std::function<void()> hook);
  /// Allocations beyond so many bytes in all answer OUT_OF_MEMORY.
  void limit_memory(std::uint64_t bytes);
  /// From now on the driver reports so many bytes of memory as free; null lets it say the truth again.
  void report_free(const std::uint64_t* bytes);

  // For the forwarding functions.
  const weir_driver_table* real = nullptr;
  std::uint64_t hidden = 0;
  bool native_streams = false;
  bool hide_host_pointers = false;  ///< of device memory
  weir_result enter(std::size_t slot, const void* first, const void* second, weir_status* status);
  std::optional<std::uint64_t> reported_free();
  bool take_memory(std::uint64_t bytes, weir_status* status);
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
  std::map<std::string, std::uint64_t, std::less<>> counts_;
  std::map<std::string, Failure, std::less<>> failures_;
  std::map<std::string, std::function<void()>, std::less<>> hooks_;
  std::vector<Call> calls_;
  std::vector<std::vector<std::uint32_t>> graph_;
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
