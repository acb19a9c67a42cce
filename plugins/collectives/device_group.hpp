// SPDX-License-Identifier: Apache-2.0
// A rank's NCCL communicator, and the watch over the operations that streams have not finished.
#pragma once

#include <functional>
#include <mutex>
#include <string>

#include "nccl.hpp"
#include "pending_operations.hpp"
#include "ranks.hpp"
#include "vendor.hpp"

namespace weir::collectives {

class DeviceGroup {
 public:
  /// Starts NCCL's communicator with all other ranks. Throws a Failure and makes the group fail if that takes
  /// longer than the limit; the starting thread then keeps the communicator until it returns.
  DeviceGroup(Ranks& ranks, const DeviceOfStream& device, const UniqueId& id);
  /// Waits for the submitted operations, at most the limit. leave() of the ranks comes first.
  ~DeviceGroup();
  DeviceGroup(const DeviceGroup&) = delete;
  DeviceGroup& operator=(const DeviceGroup&) = delete;

  using Operation = PendingOperations::Operation;
  using Call = std::function<void(const NcclApi&, NcclComm, void* stream)>;
  /// Submits `call`, which throws a Failure, to the stream. Waits while max_pending operations are pending;
  /// without a stream, until the call is complete.
  void submit(void* stream, Operation operation, const Call& call);

  /// Waits until the streams have finished the operations. Throws the failure of the group, which ends the
  /// wait: an operation has the limit from the time at which its stream reaches it.
  void drain();
  void* scratch() const noexcept { return scratch_; }  ///< 8 bytes on the device

 private:
  void start(const UniqueId& id);
  void look() noexcept;
  void look_at_operations();
  void look_at_library();
  void abort_communicator() noexcept;
  PendingOperations::Entry* take_entry();

  Ranks& ranks_;
  void* const context_;
  void *stream_ = nullptr, *scratch_ = nullptr;
  std::timed_mutex using_;  ///< held by calls with the communicator
  NcclComm comm_ = nullptr;
  PendingOperations pending_;
  Clock::time_point remote_error_{};
};

}  // namespace weir::collectives
