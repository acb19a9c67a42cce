// SPDX-License-Identifier: Apache-2.0
// A device's memory: stream-ordered blocks above the driver's allocator.
//
// A block belongs to the order of one stream, its home: work of that stream may use it at once. The first use
// on another stream makes that stream wait for the home stream, unless the block was ready for all by then.
// Each use sets the stream's bit, so that freeing knows whom to wait for: a block that one stream used goes
// to that stream's own cache, where the same stream takes it again without any wait; a block of several
// streams waits in `pending_` behind one event each.
#pragma once

#include <weir/driver.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <forward_list>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>
#include <weir/device.hpp>

#include "runtime/driver_call.hpp"
#include "runtime/event_pool.hpp"
#include "runtime/stream_state.hpp"

namespace weir::detail {

struct Block {
  explicit Block(DeviceState& device_) : device(device_) {}
  DeviceState& device;
  std::atomic<std::uint64_t> generation{0};  ///< odd while an array owns it
  weir_allocation allocation = nullptr;
  std::uint64_t address = 0;  ///< 0 where the driver gives none
  std::uint32_t size_class = 0;
  bool ready = false;  ///< for all streams, not only in the order of `home`
  StreamState* home = nullptr;
  std::uint64_t available_at = 0;  ///< the block is ready for all once `home` has completed so much
  EventState* available =
      nullptr;  ///< or once this is reached; for memory that the driver allocated in order
  std::atomic<std::uint64_t> used{0};  ///< bit per stream slot; the last bit stands for those in `more_users`
  std::vector<std::uint32_t> more_users;  ///< slots from 63, guarded by the pool
  /// Last copies on streams of other devices, a share of each event; guarded by the pool. The last bit of `used`
  /// stands for these too.
  std::vector<std::pair<const StreamState*, EventState*>> peer_uses;
  Block* next = nullptr;                  ///< in a cache
};

class MemoryPool {
 public:
  explicit MemoryPool(DeviceState& device) : device_(device) {}

  /// A block of at least `bytes` in the order of `stream`. Throws Error{out_of_memory}.
  Block* allocate(StreamState& stream, std::uint64_t bytes);
  /// Takes the block back, in the order of every stream that used it.
  void release(Block* block) noexcept;

  /// Called for each block before work that uses it is submitted to `stream`: orders the stream behind the
  /// block's earlier life and remembers the use.
  void use(Block& block, StreamState& stream) {
    const std::uint64_t bit = std::uint64_t{1} << (stream.slot < 63 ? stream.slot : 63);
    if (stream.slot < 63 && (block.used.load(std::memory_order_acquire) & bit)) [[likely]]
      return;
    first_use(block, stream, bit);
  }
  /// As use, for a copy between devices: `stream` may be of the other one.
  void use_by_peer(Block& block, StreamState& stream);
  /// After a copy on `stream`, of another device: the block is reused behind it. No stream of this device waits.
  void order_free_after(Block& block, StreamState& stream);

  /// Looks which marks have been reached, and does what waited for them.
  void collect_pending();

  /// Gives cached blocks back to the driver after waiting for their uses; returns the bytes.
  std::uint64_t trim();
  /// Hands a retiring stream's cache on, behind `mark`, which may be null when the stream is idle. Borrows
  /// the mark.
  void adopt_cache(StreamState& stream, EventState* mark) noexcept;

  /// Calls `action` once every stream of the device has passed its work so far: at once, or on a thread that
  /// calls into the device later. For what must not be destroyed while work uses it. `action` must not throw.
  void when_unused(std::function<void()> action) noexcept;

  MemoryStatistics statistics() noexcept;

  /// Counts the times that memory went back to the driver: what names allocations, as graphs do, may name dead
  /// ones once it has grown.
  std::uint64_t times_given_back() const noexcept { return given_back_.load(std::memory_order_acquire); }

 private:
  using Marks = std::vector<EventState*>;
  struct Pending {  // a block that becomes ready, or an action that runs, when all marks are reached
    Block* block = nullptr;
    std::function<void()> action;
    Marks marks;
  };
  struct Users {
    std::vector<std::uint32_t> slots;  // streams not known to be idle
    bool retired = false;              // one of them is gone
  };

  void first_use(Block& block, StreamState& stream, std::uint64_t bit);
  void order_after_earlier_life(Block& block, StreamState& stream);
  void release_shared(Block* block) noexcept;

  Block* take_from(StreamState& owner, std::uint32_t index) noexcept;
  Block* steal_from(StreamState& owner, std::uint32_t index) noexcept;
  Block* take_ready(std::uint32_t index) noexcept;
  Block* take_idle(StreamState& stream, std::uint32_t index);
  Block* take_behind_events(StreamState& stream, std::uint32_t index);
  Block* allocate_from_driver(StreamState& stream, std::uint32_t index);
  weir_result ask_driver(StreamState& stream, std::uint64_t bytes, weir_allocation* out,
                         Status& status);
  Block* hand_out(Block* block, StreamState& home, bool ready) noexcept;
  EventState* mark_allocation(StreamState& stream) noexcept;

  void put(StreamState& owner, Block* block) noexcept;
  void put_ready(Block* block) noexcept;
  void keep_until(Block* block, Marks marks) noexcept;
  void finish(Pending& entry) noexcept;
  std::uint64_t give_to_driver(Block* list) noexcept;
  Block* new_block();
  Users users_of(std::uint64_t used, const std::vector<std::uint32_t>& more);
  Marks marks_of(const Users& users);
  static void drop(Marks& marks) noexcept;
  static bool is_reached(const EventState& mark) noexcept;
  void wait_on_host(const Marks& marks) noexcept;
  [[noreturn]] void throw_out_of_memory(std::uint64_t bytes, const Status& status);

  DeviceState& device_;
  std::mutex mutex_;  // guards what follows; never held during a driver call
  std::deque<Block> blocks_;
  Block* unused_blocks_ = nullptr;
  std::array<Block*, size_class_count> ready_{};
  std::uint64_t ready_bytes_ = 0;
  std::vector<Pending> pending_;
  std::uint64_t pending_bytes_ = 0;
  std::atomic<std::uint32_t> pending_count_{0};
  std::forward_list<std::function<void()>> never_run_;

  std::atomic<std::uint64_t> driver_bytes_{0}, peak_bytes_{0}, last_trim_{0};
  std::atomic<std::uint64_t> driver_allocations_{0}, cross_stream_{0}, given_back_{0};
};

}  // namespace weir::detail
