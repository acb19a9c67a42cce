// SPDX-License-Identifier: Apache-2.0
// Exchanges between ranks that are threads with devices of one driver: copies between the devices, in the
// order of the streams.
//
// The ranks meet on the host when they submit: the communicator passes the number of each sent array, and
// reports missing ranks. The receiver's stream waits for the sender's stream and copies; then the sender's
// stream waits for the copy. No host waits for a device.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>
#include <weir/communicator.hpp>

#include "runtime/communicators/thread_group.hpp"

namespace weir::detail {

class GroupState;

/// Whether the ranks exchange by copies: each has a device, and any two devices are the same or have peer
/// copies.
bool are_peers(std::span<const std::optional<Device>> devices);

/// One rank's exchanges. For the thread that uses the Communicator.
class PeerExchange {
 public:
  PeerExchange(GroupState& group, std::shared_ptr<ThreadGroup> threads, std::chrono::nanoseconds limit)
      : group_(group), threads_(std::move(threads)), limit_(limit) {}

  void exchange(const StreamRef& stream, std::span<const Message> sends, std::span<const Message> receives);
  /// As stream.synchronize(). Ends the group if the stream of another rank has not reached its part of an
  /// exchange for the limit.
  void synchronize(const StreamRef& stream);
  /// As event.synchronize(), likewise.
  void synchronize(const EventRef& event);
  /// Waits for the submitted exchanges, likewise.
  void finish();

 private:
  using SharedEvent = std::shared_ptr<const Event>;
  using Clock = std::chrono::steady_clock;

  /// An exchange that the streams may not have finished.
  struct Submitted {
    SharedEvent begin, end;  ///< this rank's work before it, and its copies
    std::vector<std::pair<std::uint32_t, SharedEvent>> others{};  ///< events of other ranks that it waits for
    std::optional<Clock::time_point> since{};                     ///< begin was found to be reached
  };
  class Sends;
  class Receives;

  SharedEvent record(const StreamRef& stream);
  /// Removes exchanges that have ended. Throws the failure of the group.
  void check_progress();
  /// Waits until `is_done` returns true or all exchanges have ended.
  template <class Condition>
  void wait_until(Condition is_done);
  template <class Mark>
  void wait_for(const Mark& mark);
  [[noreturn]] void fail(const std::string& words);
  [[noreturn]] void fail_with(std::uint32_t rank);

  GroupState& group_;
  const std::shared_ptr<ThreadGroup> threads_;
  const std::chrono::nanoseconds limit_;
  std::vector<SharedEvent> events_;  ///< reused when no other owner is left
  std::size_t next_ = 0;             ///< the last one that was reused
  std::deque<Submitted> submitted_;
};

}  // namespace weir::detail
