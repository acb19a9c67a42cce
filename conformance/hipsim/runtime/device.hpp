// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "hip/abi.hpp"
#include "runtime/config.hpp"
#include "runtime/memory_table.hpp"
#include "runtime/stream.hpp"

namespace weir::hipsim {

/// One simulated device: its memory, its streams, and the error that broke it.
class Device {
 public:
  Device(int index, const DeviceConfig& config, MemoryTable& table);

  const int index;
  const DeviceConfig config;

  /// Allocates memory of the device, or of its memory pools, counted against its size; null if it is
  /// exhausted.
  std::shared_ptr<Allocation> allocate(std::uint64_t size, bool pooled);
  void free(const std::shared_ptr<Allocation>& block);
  /// Returns the memory that the pools keep to the device.
  void trim_pools();
  struct MemoryUse {
    std::uint64_t free;           ///< bytes that neither allocations nor pools hold
    std::uint64_t used_by_pools;  ///< bytes of allocations from pools
    std::uint64_t kept;           ///< bytes that pools keep and no allocation uses
  };
  MemoryUse memory_use() const;

  std::shared_ptr<Stream> create_stream(unsigned flags, int priority);
  void remove_stream(const std::shared_ptr<Stream>& stream);
  std::shared_ptr<Stream> null_stream();
  std::vector<std::shared_ptr<Stream>> streams() const;
  /// Enqueues on a stream, in the order that HIP defines between the null stream and blocking streams.
  void enqueue(const std::shared_ptr<Stream>& stream, Stream::Item item);
  void synchronize();
  /// The error that breaks the device after the next work that this thread enqueues; hipSuccess for none.
  static hipError_t& late_failure();

  /// The first fault of a kernel or copy, kept until the device is reset; 0 if there was none.
  hipError_t error() const { return error_; }
  void set_error(hipError_t error);
  void clear_error() { error_ = hipSuccess; }

 private:
  MemoryTable& table_;
  std::atomic<hipError_t> error_{hipSuccess};
  std::uint64_t free_bytes() const;
  mutable std::mutex memory_mutex_;
  std::uint64_t used_ = 0, used_by_pools_ = 0, kept_ = 0;
  mutable std::mutex mutex_;
  std::shared_ptr<Stream> null_;
  std::vector<std::shared_ptr<Stream>> streams_;
};

}  // namespace weir::hipsim
