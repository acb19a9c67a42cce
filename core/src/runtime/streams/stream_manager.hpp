// SPDX-License-Identifier: Apache-2.0
// Owns every stream of a device: user streams, a bounded pool of idle streams, and the streams that regions
// lease. No lock except a stream's submission lock is held during a driver call. Leasing takes no lock. It
// calls the driver only to grow the pool or to replace a failed stream.
#pragma once

#include <weir/driver.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/streams/stream_state.hpp"

namespace weir::detail {

class StreamPin;

class StreamManager {
 public:
  static constexpr std::uint32_t max_leased = 32;
  static constexpr std::uint32_t min_leasable = 8;
  static constexpr std::size_t kept_streams = 32;  ///< upper bound on the destroyed streams kept for reuse

  explicit StreamManager(DeviceState& device) : device_(device) {
    kept_.reserve(kept_streams);  // so that returning a stream cannot fail
  }

  /// Returns a stream for a user: an idle one of the pool, or a new one.
  StreamState* create(int priority);
  StreamState* wrap(void* native);
  /// Takes a user's stream back. Does not wait for its work, which completes. Waits for a thread that is
  /// submitting to the stream.
  void destroy(StreamState* stream) noexcept;
  StreamState* default_stream();

  /// Leases a stream for work forked from `caller`. Order of preference: the one that `caller` used last, one
  /// known to be idle, a new one within the bound, the one leased longest ago. A failed stream gets another
  /// driver stream. Null when every stream is leased, or when there is none and the driver cannot make one;
  /// stream blocks then share the streams already leased.
  StreamState* lease(StreamState& caller);
  /// `joined_into` already waits for the leased stream's work; null when that wait could not be submitted.
  void give_back(StreamState* leased, StreamState* joined_into) noexcept;

  /// Makes later work of `stream` begin after everything submitted to `other`, of the same or another device.
  /// Takes the submission lock of each, one after the other.
  void wait(StreamState& stream, StreamState& other);
  /// As wait, for a leased stream of the launch that holds the caller's submission lock.
  void join(StreamState& caller, StreamState& leased);
  /// Returns an event recorded after all work so far of the stream in `slot`, which may be retired; null if
  /// that work is known to be done. The caller releases the event.
  EventState* mark(std::uint32_t slot);

  /// Starts batched work of all streams of this device, and of all devices when any stream waits across
  /// devices.
  void flush_all() noexcept;
  /// Waits for one stream. Throws its error, or that of a leased stream joined into it, or Error{invalid}
  /// when the stream is gone.
  void synchronize(StreamState& stream);
  /// The same for a stream that the caller has pinned, which may have been destroyed since.
  void synchronize(const StreamPin& pinned, StreamState& stream);
  /// Waits for one stream where errors cannot be reported; a failed wait is retried.
  void wait_for_all_of(StreamState& stream) noexcept;
  /// Runs `wait`, which waits for the stream. If it throws, waits for the stream again before rethrowing,
  /// because unwinding may free memory that the stream's work uses.
  template <class Wait>
  void wait_before_throwing(StreamState& stream, const Wait& wait) {
    try {
      wait();
    } catch (...) {
      wait_for_all_of(stream);
      throw;
    }
  }
  /// Waits for all work recorded before `mark`, which may belong to any device. A failed wait is retried.
  static void wait_for(EventState& mark) noexcept;
  /// Waits for every stream, then throws the first error.
  void synchronize_all();
  /// Waits for every stream. Failures stay recorded for the calls that submitted the work.
  void wait_for_all() noexcept;
  enum class WhichStreams : std::uint8_t { destroyed, all };
  /// Passes on the lines that kernels printed on streams whose work is done.
  void show_printed_lines_of(WhichStreams which) noexcept;
  /// As wait_for_all, for every stream except `stream`, and until `deadline` at most.
  void wait_for_others(const StreamState& stream, std::chrono::steady_clock::time_point deadline) noexcept;
  /// True if everything submitted to the stream is done.
  bool query(StreamState& stream);

  /// Invalidates every handle without taking a lock, for a child of a fork.
  void invalidate_all() noexcept;

  /// Destroys idle streams that are kept for reuse.
  void trim() noexcept;

  /// Keeps a stream's driver handle alive until unpin; false when the stream is retired. For walks over all
  /// streams: the owner of a handle needs no pin.
  bool pin(StreamState& stream) noexcept;
  void unpin(StreamState& stream) noexcept;

  StreamState* at(std::uint32_t slot) noexcept {
    return table_[slot / chunk].load(std::memory_order_acquire) + slot % chunk;
  }
  std::uint32_t size() const noexcept { return size_.load(std::memory_order_acquire); }
  std::uint32_t created() const noexcept { return created_.load(std::memory_order_relaxed); }
  std::uint32_t leased() const noexcept;
  /// Called before a stream of the device waits for other ranks, which may be threads that submit to the same
  /// device. From then on, no region leases a stream with unfinished work of another caller. That work may
  /// wait for a rank whose own work would then have to wait for it.
  void note_ranks() noexcept { waits_for_ranks_.store(true, std::memory_order_relaxed); }
  bool waits_for_ranks() const noexcept { return waits_for_ranks_.load(std::memory_order_relaxed); }
  std::uint32_t lease_limit() const noexcept;

 private:
  static constexpr std::uint32_t chunk = 64, chunks = max_streams / chunk;

  StreamState* make(int priority, void* native);
  StreamState* add_leasable(int priority);
  StreamState* add_leasable_if_possible(int priority) noexcept;
  StreamState* renew(StreamState* leased) noexcept;
  StreamState* take_kept(int priority);
  StreamState* free_slot();
  StreamState* reusable_slot();
  void list_free_slot(StreamState& stream) noexcept;
  void retire(StreamState* stream) noexcept;
  void destroy_driver_stream(StreamState& stream) noexcept;
  EventState* last_mark(StreamState& stream) noexcept;
  template <class Live, class Retired>
  void walk(const Live& live, const Retired& retired) noexcept;
  void check_joined_streams(StreamState& stream);
  void record_mark(StreamState& stream);
  void wait_for_mark(StreamState& stream, StreamState& other);
  void flush_own() noexcept;

  DeviceState& device_;
  std::mutex mutex_;  // guards the table's growth, the free slots and the kept streams
  std::array<std::atomic<StreamState*>, chunks> table_{};
  std::atomic<std::uint32_t> size_{0};
  StreamState* first_free_ = nullptr;  // the slot that has been free longest
  StreamState* last_free_ = nullptr;
  std::size_t free_count_ = 0;
  std::vector<StreamState*> kept_;
  std::atomic<StreamState*> default_{nullptr};

  std::array<std::atomic<StreamState*>, max_leased> leasable_{};
  std::atomic<std::uint32_t> leasable_count_{0};
  std::atomic<std::uint64_t> free_leasable_{0};
  std::atomic<std::uint64_t> lease_clock_{0};
  std::atomic<std::uint32_t> created_{0};
  std::atomic<bool> watched_{false};  ///< watch_process() was called after a stream of this device was created
  std::atomic<bool> waits_for_ranks_{false};
};

}  // namespace weir::detail
