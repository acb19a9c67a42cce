// SPDX-License-Identifier: Apache-2.0
// A group's membership and the thread that makes its calls. The calls of a communicator without streams
// block. So they run on this thread, in the order of submission, which is the same on all ranks. A stream
// waits for a call in a host callback. The wait ends after the work before the call and the group's limit.
#pragma once

#include <unistd.h>
#include <weir/communicator.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>
#include <weir/communicator.hpp>
#include <weir/error.hpp>

#include "driver/communicator_plugin.hpp"
#include "driver/gpu_driver.hpp"
#include "runtime/communicators/peer_exchange.hpp"
#include "runtime/communicators/staging.hpp"
#include "runtime/communicators/thread_group.hpp"
#include "runtime/streams/stream_state.hpp"

namespace weir::detail {

/// Whether operations of the communicator take the device's memory and streams.
bool takes_memory(const CommunicatorPlugin& communicator, const Device& device);

class GroupState {
 public:
  /// Joins the group.
  GroupState(const CommunicatorPlugin& plugin, const JoinOptions& options);
  /// Waits for the queued calls, then leaves.
  ~GroupState();
  GroupState(const GroupState&) = delete;
  GroupState& operator=(const GroupState&) = delete;

  using Function = std::function<weir_result(const weir_communicator_table&, weir_group, weir_status*)>;

  /// The progress of a call.
  class Progress {
   public:
    /// Called by the stream's host callback when the stream has reached the call.
    void begin() { set(begun_); }
    /// The stream will not reach the call.
    void cancel() { set(cancelled_); }
    /// The call has ended, also by a failure.
    void end() { set(ended_); }
    /// Waits until the stream has reached the call. False if it was cancelled first.
    bool wait_for_begin();
    void wait_for_end();

   private:
    void set(bool& what);
    std::mutex mutex_;
    std::condition_variable changed_;
    bool begun_ = false, cancelled_ = false, ended_ = false;
  };

  /// A queued call.
  struct Call {
    Function function;
    std::shared_ptr<const Staged> staged;  ///< null for calls of the host
    StreamState* stream = nullptr;
    /// The stream's callback begins the call and waits for its end. The group's thread must not call the
    /// GPU's driver then, because the driver may hold a lock while it waits for the callback.
    bool in_callback = false;
    std::shared_ptr<Progress> progress = std::make_shared<Progress>();
  };

  void queue(std::shared_ptr<const Call> call);
  /// Makes a call that submits to a stream, on this thread, after the queued ones. Returns false if the
  /// communicator does not support it. Throws the failure of the group.
  bool call_directly(const Function& function);
  /// Throws the failure of the group, which may be of another rank, and Error{system} in a forked child.
  void check() const;
  /// Throws the failure of an earlier call.
  void check_calls() const;
  /// Does nothing in a forked child.
  void abort(const std::string& reason) noexcept;
  /// True in a forked child. The group is the parent's: the child has neither its threads nor the other
  /// ranks, and another thread may have held a lock at the fork.
  bool is_forked() const noexcept { return getpid() != process_; }

  std::uint32_t rank() const noexcept { return rank_; }
  std::uint32_t size() const noexcept { return size_; }
  const std::string& name() const noexcept { return plugin_.name(); }
  /// Whether a host callback of `device` may wait for a call. Drivers of GPUs may run the callbacks of all
  /// streams of a process one after the other. Ranks that are threads would then wait for one another.
  bool may_wait_in_callback(const Device& device) const;
  /// Whether operations take the device's memory and streams, because the rank joined with it.
  bool takes_memory_of(const Device& device) const { return device_ && device_->name() == device.name(); }

  /// The device that each rank gave, if all ranks of the communicator are threads of this process; else
  /// empty.
  const std::vector<std::optional<Device>>& devices() const noexcept { return devices_; }

  // For the thread that uses the Communicator.
  MessageStatistics messages;
  StagingPool staging;
  std::optional<PeerExchange> peers;  ///< exchanges of ranks that are threads, if their devices allow it
  std::shared_ptr<const Staged> last_in_callback;  ///< the last call that waits in a callback of a GPU

 private:
  void run();
  void make(const Call& call) noexcept;
  /// Ends the group on all ranks, because the others wait for the call that failed here.
  void fail(const Error& failure) noexcept;
  Error failure_of(weir_result result, const weir_status& status) const;

  const CommunicatorPlugin& plugin_;
  const pid_t process_ = getpid();
  std::uint32_t rank_, size_;
  bool has_threads_ = false;      ///< other ranks may be threads of this process
  std::optional<Device> device_;  ///< that the rank joined with, if the communicator takes its memory
  std::vector<std::optional<Device>> devices_;
  weir_group group_ = nullptr;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::deque<std::shared_ptr<const Call>> queued_;  ///< the first is the current one
  std::optional<Error> failure_;
  bool leaving_ = false;
  std::thread thread_;
};

}  // namespace weir::detail
