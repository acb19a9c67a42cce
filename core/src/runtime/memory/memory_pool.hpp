// SPDX-License-Identifier: Apache-2.0
// A device's memory: stream-ordered memory blocks above the driver's allocator.
//
// A memory block belongs to the order of one stream, its home: work of that stream may use it at once. The
// first use on another stream makes that stream wait for the home stream, unless the block is ready for all
// streams. Each use sets the stream's bit, so that release finds the streams to wait for. A memory block used
// by one stream goes to that stream's cache and is reused there without a wait. A memory block used by
// several streams waits in `pending_` for one event of each.
//
// Policy. A request takes a cached memory block of its size class, else one of at most 1.25 times that class.
// Together with the rounding to classes, a memory block above 512 bytes has at most 1.41 times the requested
// bytes. The cached bytes are bounded, see memory_limit.hpp. The bound is enforced when memory is freed and
// before the driver allocates memory. Memory blocks freed longest ago return to the driver first. They return
// at once if their work is done, else in the order of their stream, else when an event is reached. The host
// never waits for that. Cached memory blocks are also returned before less than one sixteenth of the device's
// memory is free.
//
// A borrowed memory block (borrowed_memory.cpp) contains memory of another owner. It is never cached: after
// its last use, its owner's function is called.
#pragma once

#include <weir/driver.h>

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <deque>
#include <forward_list>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>
#include <weir/device.hpp>

#include "runtime/errors/driver_call.hpp"
#include "runtime/memory/memory_limit.hpp"
#include "runtime/streams/event_pool.hpp"
#include "runtime/streams/stream_state.hpp"

namespace weir::detail {

/// Set of streams with slots from 63 on. Bits are set without a lock.
class ManyStreams {
 public:
  bool contains(std::uint32_t slot) const noexcept {
    return words_[slot / 64].load(std::memory_order_acquire) >> slot % 64 & 1;
  }
  void add(std::uint32_t slot) noexcept {
    words_[slot / 64].fetch_or(std::uint64_t{1} << slot % 64, std::memory_order_release);
  }
  void clear() noexcept {
    for (auto& word : words_) word.store(0, std::memory_order_relaxed);
  }
  template <class Visit>
  void for_each(const Visit& visit) const {
    for (std::uint32_t i = 0; i < words_.size(); ++i)
      for (std::uint64_t rest = words_[i].load(std::memory_order_acquire); rest; rest &= rest - 1)
        visit(i * 64 + static_cast<std::uint32_t>(std::countr_zero(rest)));
  }

 private:
  std::array<std::atomic<std::uint64_t>, max_streams / 64> words_{};
};

/// Memory of another owner that a memory block borrows.
struct Borrowed {
  std::uint64_t size = 0;
  bool on_host = false;
  std::function<void()> give_back;  ///< called once after the last use; must not throw
};

/// A piece of the pool's memory, or borrowed memory of another owner.
struct MemoryBlock {
  explicit MemoryBlock(DeviceState& device_) : device(device_) {}
  DeviceState& device;
  std::atomic<std::uint64_t> generation{0};  ///< odd while an array owns it
  weir_allocation allocation = nullptr;
  std::uint64_t address = 0;  ///< 0 if the driver reports none
  std::uint32_t size_class = 0;
  bool ready = false;  ///< for all streams, not only in the order of `home`
  StreamState* home = nullptr;
  std::uint64_t available_at = 0;   ///< ready for all streams once `home` has completed this many submissions
  EventState* available = nullptr;  ///< or once this event is reached; for memory allocated in stream order
  std::uint64_t freed_at = 0;       ///< in driver allocations; the oldest leave the cache first
  std::atomic<std::uint64_t> used{0};  ///< bit per stream slot; the last bit covers all in `more_users`
  /// Users with slots from 63; created by the first of them and kept with the memory block. Valid while the
  /// last bit of `used` is set.
  std::atomic<ManyStreams*> more_users{nullptr};
  /// Last copies on streams of other devices, with a share of each event; guarded by the pool. The last bit
  /// of `used` covers these too.
  std::vector<std::pair<const StreamState*, EventState*>> peer_uses;
  /// Number of owners while the memory block was ever shared, see share(): the array and each exported
  /// tensor. 0 if the array alone owns the block.
  std::atomic<std::uint32_t> owners{0};
  std::unique_ptr<Borrowed> borrowed;  ///< null for memory of the pool
  MemoryBlock* next = nullptr;         ///< link in a cache list
};

class MemoryPool {
 public:
  /// Throws Error{invalid} when WEIR_POOL_BYTES is malformed.
  explicit MemoryPool(DeviceState& device);

  /// Returns a memory block of at least `bytes` in the order of `stream`. Throws Error{out_of_memory}.
  MemoryBlock* allocate(StreamState& stream, std::uint64_t bytes);
  /// Takes the memory block back, ordered after every stream that used it and after its other owners. Ends
  /// the views of the array.
  void release(MemoryBlock* block) noexcept;

  /// Adds an owner to the memory block of a live array, which keeps the memory until release_share.
  static void share(MemoryBlock& block) noexcept;
  /// Called once per share, by any thread.
  void release_share(MemoryBlock& block) noexcept;
  /// Returns a memory block of `memory`. Calls `give_back` when the memory block is no longer used, on the
  /// thread that releases it, or later on a thread that calls into the device. Everything submitted to
  /// `stream` so far, by any library, precedes the first use. Throws Error, and then calls nothing.
  MemoryBlock* borrow(StreamState& stream, const weir_external_memory& memory,
                      std::function<void()> give_back);
  /// Submits to `stream`: its later work begins after all work so far that uses the memory block. Counts as a
  /// use.
  void order_after_uses(MemoryBlock& block, StreamState& stream);
  /// Waits on the host for all work so far that uses the memory block.
  void wait_for_uses(const MemoryBlock& block);

  /// Called for each memory block before work that uses it is submitted to `stream`. Orders the stream after
  /// the block's earlier uses and records this use. Later uses by the same stream take no lock, for any slot.
  void use(MemoryBlock& block, StreamState& stream) {
    const std::uint64_t used = block.used.load(std::memory_order_acquire);
    if (stream.slot < exact_slots) [[likely]] {
      if (used >> stream.slot & 1) [[likely]]
        return;
    } else if (used & more_bit) {
      const ManyStreams* more = block.more_users.load(std::memory_order_acquire);
      if (more && more->contains(stream.slot)) return;
    }
    first_use(block, stream);
  }
  /// Makes the first use of a new memory block on any other stream wait for the work so far of `stream`, on
  /// which it was allocated.
  void order_others_after(MemoryBlock& block, StreamState& stream) noexcept;
  /// As use, for a copy between devices: `stream` may belong to the other device.
  void use_by_peer(MemoryBlock& block, StreamState& stream);
  /// Called after a copy on `stream`, of another device. The memory block is reused only after the copy. No
  /// stream of this device waits.
  void order_free_after(MemoryBlock& block, StreamState& stream);

  /// Polls pending events; recycles memory blocks and runs the actions that are ready.
  void collect_pending() {
    if (pending_count_.load(std::memory_order_relaxed)) poll_pending();
  }

  /// Waits for the uses of cached memory blocks, then returns them to the driver. Returns the freed bytes.
  std::uint64_t trim();
  /// Makes a retiring stream's cache available to all streams after `mark`, which is null when the stream is
  /// idle. Borrows the event.
  void adopt_cache(StreamState& stream, EventState* mark) noexcept;

  /// Calls `action` once every stream of the device has passed its work so far: at once, or later on a thread
  /// that calls into the device. For objects that must not be destroyed while work uses them. `action` must
  /// not throw.
  void when_unused(std::function<void()> action) noexcept;

  MemoryStatistics statistics() noexcept;

  /// Number of times that memory was returned to the driver. Once it has grown, stored allocation handles, as
  /// in graphs, may be dead.
  std::uint64_t times_given_back() const noexcept { return given_back_.load(std::memory_order_acquire); }

 private:
  static constexpr std::uint32_t exact_slots = 63;
  static constexpr std::uint64_t more_bit = std::uint64_t{1} << exact_slots;

  using Marks = std::vector<EventState*>;
  struct Pending {  // a memory block that becomes ready, or an action that runs, when all events are reached
    std::uint64_t id = 0;  // ascending in `pending_`
    MemoryBlock* block = nullptr;
    std::function<void()> action;
    Marks marks;
    bool leaving = false;  // the memory block is returned to the driver
  };
  struct Users {
    std::vector<std::uint32_t> slots;  // streams not known to be idle
    bool retired = false;              // one of them is retired
  };

  void first_use(MemoryBlock& block, StreamState& stream);
  static ManyStreams& more_users_of(MemoryBlock& block);
  void order_after_earlier_life(MemoryBlock& block, StreamState& stream);
  StreamState* only_user(const MemoryBlock& block) noexcept;
  void release_shared(MemoryBlock* block) noexcept;
  void release_last(MemoryBlock* block) noexcept;
  void release_borrowed(MemoryBlock* block) noexcept;
  void end_borrowed(MemoryBlock* block) noexcept;
  Marks marks_of_uses(const MemoryBlock& block);

  MemoryBlock* take_from(StreamState& owner, std::uint32_t first, std::uint32_t last,
                         bool count = false) noexcept;
  MemoryBlock* take_ready(std::uint32_t index) noexcept;
  void ask_for_progress(StreamState& owner);
  bool release_finished(StreamState& owner, std::uint32_t first, std::uint32_t last);
  MemoryBlock* take_idle(StreamState& stream, std::uint32_t index);
  MemoryBlock* take_after_events(StreamState& stream, std::uint32_t index);
  MemoryBlock* allocate_from_driver(StreamState& stream, std::uint32_t index);
  weir_result request_from_driver(StreamState& stream, std::uint64_t bytes, weir_allocation* out,
                                  Status& status);
  MemoryBlock* hand_out(MemoryBlock* block, StreamState& home, bool ready) noexcept;
  EventState* mark_allocation(StreamState& stream) noexcept;

  void make_room(std::uint32_t size_class) noexcept;
  void keep_within_limit(StreamState* owner) noexcept;
  void evict(std::uint64_t bytes) noexcept;
  std::uint64_t evict_older(std::uint64_t before, std::uint64_t bytes) noexcept;
  void evict_from(StreamState& owner, MemoryBlock* list) noexcept;
  void free_in_order(StreamState& owner, MemoryBlock* list) noexcept;
  void push_list(StreamState& owner, MemoryBlock* list) noexcept;
  void recycle(MemoryBlock* block) noexcept;
  bool is_idle(StreamState& owner) noexcept;
  /// All memory blocks of the stream's cache, which does not ask for progress any more; nothing if it is
  /// empty.
  std::optional<CacheLists> take_cache(StreamState& stream) noexcept;
  std::uint64_t trim_caches();

  bool push(StreamState& owner, MemoryBlock* block) noexcept;
  void put(StreamState& owner, MemoryBlock* block) noexcept;
  void put_ready(MemoryBlock* block) noexcept;
  void push_ready(MemoryBlock* block) noexcept;
  void poll_pending();
  Pending& new_pending();
  void add_pending(MemoryBlock* block, Marks& marks, bool leaving);
  void keep_until(MemoryBlock* block, EventState* mark, bool leaving) noexcept;
  Pending remove(std::vector<Pending>::iterator entry) noexcept;
  std::vector<Pending>::iterator pending_from(std::uint64_t id) noexcept;
  void finish(Pending& entry) noexcept;
  std::uint64_t give_to_driver(MemoryBlock* list) noexcept;
  MemoryBlock* new_block();
  Users users_of(const MemoryBlock& block);
  void add_user(Users& users, std::uint32_t slot);
  Marks marks_of(const Users& users);
  static void drop(Marks& marks) noexcept;
  static bool is_reached(const EventState& mark) noexcept;
  void wait_on_host(const Marks& marks) noexcept;
  std::uint64_t bytes_in_use() const noexcept;
  [[noreturn]] void throw_out_of_memory(std::uint64_t bytes, std::uint64_t released, const Status& status);

  DeviceState& device_;
  CacheLimit limit_;
  std::mutex mutex_;  // guards the members down to the atomics; never held during a driver call
  std::deque<MemoryBlock> blocks_;
  MemoryBlock* unused_blocks_ = nullptr;
  CacheLists ready_{};
  std::vector<Pending> pending_;
  std::uint64_t next_pending_ = 0;
  std::forward_list<std::function<void()>> never_run_;

  std::atomic<std::uint32_t> pending_count_{0};
  std::atomic<std::uint64_t> cached_bytes_{0};   // in `ready_` and `pending_`, except leaving memory blocks
  std::atomic<std::uint64_t> leaving_bytes_{0};  // in `pending_`, to be returned to the driver
  std::atomic<std::uint32_t> trimming_{0};       // threads that return all caches
  std::atomic<std::uint64_t> allocated_since_look_{0}, spare_at_look_{0};
  std::atomic<std::uint64_t> driver_bytes_{0}, peak_bytes_{0};
  std::atomic<std::uint64_t> driver_allocations_{0}, cross_stream_{0}, given_back_{0};
};

}  // namespace weir::detail
