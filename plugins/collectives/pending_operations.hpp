// SPDX-License-Identifier: Apache-2.0
// The operations of a group that streams have not finished, each between two events.
//
// Operations of one stream end in their order, so that few of them are queried to know all that have ended.
// No query of an event holds a lock that submission needs. A query costs as much as the record of an event,
// so that submission makes one only for many operations. Events are reused when their operations have ended;
// their number is limited.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "wire.hpp"

namespace weir::collectives {

class PendingOperations {
 public:
  /// Operations that streams may have ahead of them. CUDA limits the launches of a stream to a similar
  /// number.
  static constexpr std::size_t max_pending = 256;
  /// Of which the first are made without asking whether earlier operations have ended.
  static constexpr std::size_t unqueried = 32;

  struct Operation {
    const char* name;
    std::vector<std::uint32_t> peers{};  ///< of an exchange; empty for a collective operation
  };
  struct Entry {
    Operation operation{};
    std::uint64_t number = 0;               ///< of collective operations
    void *begin = nullptr, *end = nullptr;  ///< events, which the caller records before and after it
   private:
    friend class PendingOperations;
    bool begun = false, asked = false;
    Clock::time_point since{};  ///< when the stream was found to have reached it
  };

  PendingOperations() = default;
  PendingOperations(const PendingOperations&) = delete;
  PendingOperations& operator=(const PendingOperations&) = delete;

  // For the thread that submits.
  /// An unused entry; null while max_pending operations are pending. Throws a Failure.
  Entry* take();
  /// The entry's operation is submitted to `stream`.
  void submitted(Entry* entry, void* stream);
  /// The entry was not submitted.
  void withdraw(Entry* entry);

  // For any thread.
  /// Queries the events, and reuses those of operations that have ended. Returns whether none is pending.
  bool collect();

  struct Report {
    const char* failed = nullptr;  ///< name of an operation in which the device failed
    std::uint64_t waiting = 0;     ///< collective operations that the streams have not reached
    std::vector<std::pair<const char*, std::uint64_t>> begun;  ///< names and numbers of collective operations
    bool ask = false;  ///< an operation has waited for limit - question
    std::optional<std::pair<Operation, std::uint64_t>> late;  ///< an operation has waited for the limit
  };
  /// As collect(); returns the state of the operations.
  Report look(std::chrono::nanoseconds limit, std::chrono::nanoseconds question);

  /// Destroys the events. No other call follows.
  void destroy_events() noexcept;

 private:
  Entry* take_unused();
  /// `querying_` must be held. The number of operations of one stream, given from the first one on, that have
  /// ended.
  std::size_t count_ended(std::span<Entry* const> entries);
  /// `querying_` must be held. Returns the first operation of each stream that has not ended.
  std::vector<Entry*> collect_ended();

  std::mutex querying_;                           ///< held while events are queried
  const char* failed_ = nullptr;                  ///< guarded by querying_
  std::mutex mutex_;                              ///< guards the rest
  std::map<void*, std::vector<Entry*>> streams_;  ///< no empty ones
  std::vector<Entry*> unused_;
  std::vector<std::unique_ptr<Entry>> all_;  ///< changed by the thread that submits
};

}  // namespace weir::collectives
