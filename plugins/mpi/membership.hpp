// SPDX-License-Identifier: Apache-2.0
// A rank's state in a group, and the transfers with other ranks. A wait ends at the group's limit, at a
// failure of the group, or when a rank that it needs has left or ended.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>
#include <weir/sdk/ranks/messages.hpp>

#include "engine.hpp"

namespace weir::mpi {

using sdk::Channel;
using sdk::Part;

class Membership final : public sdk::Messages, public std::enable_shared_from_this<Membership> {
 public:
  Membership(std::uint32_t rank, std::uint32_t size, std::chrono::nanoseconds limit)
      : Messages(rank, size), limit_(limit), left_(size), answers_(size) {}

  /// Begins an operation: counts it and sets the end of its waits. Fails if the group has failed.
  void begin(const char* name, Channel channel, Clock::time_point until);
  void begin(const char* name, Channel channel) override { begin(name, channel, Clock::now() + limit_); }
  /// Makes all transfers of one step of the operation. Those of a pair of ranks keep their order.
  void transfer(std::span<const Part> parts) override;

  void abort(const std::string& reason) override;
  /// Makes the group fail on all ranks, and throws.
  [[noreturn]] void fail(int rank, std::string words) override;
  int failed_rank() const override;

  std::chrono::nanoseconds limit() const { return limit_; }

 private:
  friend Engine;
  struct Request {
    MPI_Request handle;
    Part part;  ///< of at most `piece` bytes
  };
  struct Answer {
    bool given = false;
    Control control;
  };

  void check() const;
  void post(std::span<const Part> parts, std::vector<Request>& requests);
  bool test(std::vector<Request>& requests);
  void judge(const std::vector<Request>& requests);
  void ask();
  void name_other_calls();
  [[noreturn]] void give_up(const std::vector<Request>& requests);
  void withdraw(std::vector<Request>& requests, Lock& lock);
  void set_failure(int rank, std::string words);
  /// With the failure of the group, if there is one.
  Control failure_message(Control::Kind kind) const;
  [[noreturn]] void fail_locked(int rank, std::string words);
  std::string describe(std::uint32_t rank) const;
  int tag() const;

  Engine& engine_ = Engine::get();
  const std::chrono::nanoseconds limit_;
  // Guarded by the engine's mutex.
  std::uint64_t id_ = 0, calls_ = 0, collectives_ = 0;
  const char* last_ = "";
  Channel channel_ = Channel::collective;
  Clock::time_point until_{};
  std::string failure_;
  int failed_rank_ = -1;
  std::vector<bool> left_;
  std::vector<Answer> answers_;
};

}  // namespace weir::mpi
