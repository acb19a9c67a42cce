// SPDX-License-Identifier: Apache-2.0
// The state that the ranks of a group share, guarded by one mutex. A wait ends at the limit, at a failure of
// the group, or when a rank that it needs has left.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>
#include <weir/sdk/communicator.hpp>

namespace weir::local {

/// The parts of a call that must be equal on all ranks, and its memory.
struct Call {
  const char* name = "";
  std::uint64_t size = 0;  ///< bytes, or elements of a reduction
  std::uint32_t type = 0, reduction = 0, root = 0;
  void* to = nullptr;
  const void* from = nullptr;
};

/// A posted send. Belongs to the sender's call, which does not end between `begun` and `taken`.
struct Send {
  const void* from;
  std::uint64_t size;
  bool begun = false;  ///< a receiver copies it
  bool taken = false;
};

class Meeting {
 public:
  using Clock = std::chrono::steady_clock;

  Meeting(std::uint32_t size, std::chrono::nanoseconds limit, bool validate);

  /// Meets the other ranks of the group `address`. Fails after the limit.
  static std::shared_ptr<Meeting> join(const weir_group_options& options);

  /// Posts a collective call and waits until all ranks have posted theirs. Fails if they differ.
  void begin(std::uint32_t rank, const Call& call);
  /// Waits until all ranks have reached this point of their call.
  void meet(std::uint32_t rank);
  /// The call of another rank, between begin and the last meet of the call.
  const Call& call_of(std::uint32_t rank) const { return calls_[rank]; }
  /// Memory that all ranks share during a call; the same for all of them, at least `bytes` long.
  std::byte* scratch(std::uint32_t rank, std::uint64_t bytes);

  void exchange(std::uint32_t rank, std::span<const weir_transfer> transfers);
  void leave(std::uint32_t rank);
  void abort(std::uint32_t rank, const std::string& reason);
  int failed_rank() const;

 private:
  struct Rank {
    bool joined = false, left = false;
    std::uint64_t reached = 0;  ///< number of meetings
    std::uint64_t calls = 0;
    const char* last = "";  ///< name of its last call
  };
  using Lock = std::unique_lock<std::mutex>;

  void take_seat(const weir_group_options& options, const Lock& lock);
  void compare_calls(std::uint32_t rank);
  template <class Done, class Missing>
  void wait(Lock& lock, Done done, Missing missing);
  std::vector<std::uint32_t> late(std::uint64_t count) const;
  std::string describe(const std::vector<std::uint32_t>& ranks, const char* doing) const;
  void check() const;
  [[noreturn]] void fail_group(int rank, std::string words);

  const std::uint32_t size_;
  const std::chrono::nanoseconds limit_;
  const bool validate_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Rank> ranks_;
  std::vector<Call> calls_;
  std::vector<std::deque<Send*>> sends_;  ///< of each pair, from * size + to
  std::vector<std::byte> scratch_;
  std::string failure_;
  int failed_rank_ = -1;
};

}  // namespace weir::local
