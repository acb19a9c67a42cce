// SPDX-License-Identifier: Apache-2.0
// Host memory of a communicator's calls.
#pragma once

#include <weir/communicator.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>
#include <weir/array.hpp>
#include <weir/event.hpp>

namespace weir::detail {

/// Pinned memory and the events of the call that uses it.
struct StagingMemory {
  StagingMemory(const Device& device, std::size_t bytes);

  DeviceState* const device;
  const std::size_t bytes;
  PinnedMemory memory;
  Event begin;           ///< the stream's work before the call
  Event end;             ///< the copies of the call's results
  bool is_taken = true;  ///< `end` is not recorded yet, or failed
};

/// Keeps memory for reuse. To free pinned memory, a GPU's driver may wait for all of its work, with a lock
/// held that other calls need. Not thread-safe.
class StagingPool {
 public:
  /// Memory of at least `bytes` bytes that no earlier call uses. Waits for the oldest calls if too many are
  /// in flight, because streams may be far behind the thread that submits.
  std::shared_ptr<StagingMemory> take(const Device& device, std::size_t bytes);
  /// Waits for the work before each call. Throws if it failed.
  void synchronize() const;

 private:
  void collect(std::size_t bytes);

  std::deque<std::shared_ptr<StagingMemory>> in_flight_;  ///< calls begin and end in this order
  std::size_t in_flight_bytes_ = 0;
  std::vector<std::shared_ptr<StagingMemory>> unused_;
  std::vector<std::shared_ptr<StagingMemory>>
      kept_;  ///< of failed submissions and streams: copies may still run
};

/// The arrays of one call in such memory.
class Staged {
 public:
  using Views = std::span<const AnyArrayView>;

  Staged(StagingPool& pool, const Device& device, Views sent, Views received);

  StagingMemory& staging() const noexcept { return *staging_; }
  std::size_t sent_count() const noexcept { return sent_.size(); }
  std::size_t received_count() const noexcept { return received_.size(); }
  std::span<std::byte> sent(std::size_t array) const noexcept { return sent_[array]; }
  std::span<std::byte> received(std::size_t array) const noexcept { return received_[array]; }

 private:
  std::shared_ptr<StagingMemory> staging_;
  std::vector<std::span<std::byte>> sent_, received_;
};

/// Host memory as communicators take it.
inline weir_memory memory_at(std::span<std::byte> bytes) noexcept {
  return {nullptr, nullptr, 0, bytes.data()};
}

}  // namespace weir::detail
