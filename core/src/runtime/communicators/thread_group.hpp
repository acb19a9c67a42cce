// SPDX-License-Identifier: Apache-2.0
// The state that the ranks of a group share in memory, because all of them are threads of this process.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>
#include <weir/array.hpp>
#include <weir/device.hpp>
#include <weir/event.hpp>

namespace weir::detail {

/// An array that a rank sends. The receiving rank copies it.
struct Offer {
  AnyArrayView array;
  std::shared_ptr<const Event> ready;   ///< the sender's earlier work
  std::shared_ptr<const Event> copied;  ///< set before `settled`; null if no copy was submitted
  std::atomic<bool> settled{false};
};

/// Of a group of threads: each has a thread and a queue for each other one.
inline constexpr std::uint32_t max_thread_ranks = 1024;

class ThreadGroup {
 public:
  /// Adds a rank with its device, before it joins the group `address`. All ranks of a group get one object.
  static std::shared_ptr<ThreadGroup> enter(const std::string& address, std::uint32_t rank,
                                            std::uint32_t size, const std::optional<Device>& device);
  /// Returns the device of each rank. Called after the join, which returns when all ranks have entered. Later
  /// groups may have the same address.
  std::vector<std::optional<Device>> complete(const std::string& address);

  /// Registers an offer and returns its number, never 0.
  std::uint64_t make(std::shared_ptr<Offer> offer);
  /// The offer of that number, which the caller must settle; null if it was withdrawn.
  std::shared_ptr<Offer> take(std::uint64_t number);
  /// The receiver has submitted its copy, or will not.
  void settle(Offer& offer, std::shared_ptr<const Event> copied);
  /// Waits until the offer is settled. The receiver has its number, so the wait is short even if the group
  /// fails. Afterwards the receiver does not use the array's handle.
  void wait(const Offer& offer);
  /// Withdraws the offer. False if it was taken.
  bool withdraw(std::uint64_t number);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::optional<Device>> devices_;
  std::map<std::uint64_t, std::shared_ptr<Offer>> offers_;  ///< not taken
  std::uint64_t made_ = 0;
};

}  // namespace weir::detail
