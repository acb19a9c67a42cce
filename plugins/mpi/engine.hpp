// SPDX-License-Identifier: Apache-2.0
// MPI in this process: started once, used by one thread at a time, ended with the process.
//
// A service thread initialises MPI and receives control messages while no operation runs: aborts, and the
// questions of ranks that wait. Operations run on their callers' threads. All calls of MPI are made with the
// mutex held, so MPI_THREAD_SERIALIZED is enough.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "launch.hpp"
#include "library.hpp"
#include "neighbours.hpp"

namespace weir::mpi {

using Clock = std::chrono::steady_clock;
using Lock = std::unique_lock<std::mutex>;

class Membership;

/// A message between the engines of two ranks.
struct Control {
  enum Kind : std::uint32_t { abort, question, answer, left, farewell };
  enum State : std::uint32_t { not_joined, member, gone };
  Kind kind = abort;
  std::uint32_t from = 0;
  std::uint64_t group = 0;
  std::int32_t rank = -1;        ///< abort, left: the rank that the failure was traced to
  std::uint32_t state = member;  ///< answer: of the group on the rank; abort, left: `gone` if `rank` is lost
  std::uint64_t calls = 0, collectives = 0;
  char text[584] = "";  ///< abort, left: the failure; answer: the name of the last call
};

constexpr int control_tag = 0;

class Engine {
 public:
  static Engine& get();

  /// Starts MPI on the first call, in which all ranks meet. Fails with WEIR_ERROR_RANK at `until`; `seconds`
  /// is the limit in the message.
  void start(const Launch& launch, Clock::time_point until, double seconds);

  /// Numbers the group, which its ranks join in the same order, and delivers its control messages.
  void enter(const std::shared_ptr<Membership>& group);
  void leave(Membership& group);

  // With the mutex held.
  std::mutex& mutex() { return mutex_; }
  void check_usable() const;
  MPI_Comm ranks() const { return ranks_; }
  void progress();
  void send(std::uint32_t to, const Control& message);
  bool has_ended(std::uint32_t rank) const { return rank < ended_.size() && ended_[rank]; }
  /// Stops the use of MPI in this process, because it may still access memory of a failed call.
  void stop(std::string reason);
  /// The rank ended or hangs, so it may never call MPI_Finalize.
  void lose(int rank);
  bool is_lost(int rank) const;

 private:
  enum class State { idle, starting, running, failed };
  struct Outgoing {
    std::uint32_t to;
    Control message;
    MPI_Request request;
  };

  void serve() noexcept;
  void initialise();
  void receive_next();
  void handle(const Control& message);
  void answer(const Control& question);
  void say_left(const Membership& group);
  void look_for_ended();
  void finish(Lock& lock) noexcept;
  void end_with_process() noexcept;

  std::mutex starting_;  ///< one thread starts MPI
  std::optional<Neighbours> neighbours_;
  Launch launch_;

  std::mutex mutex_;
  std::condition_variable changed_;
  State state_ = State::idle;
  std::string failure_;  ///< of the start, or why MPI is no longer used
  bool stopped_ = false, ending_ = false, finished_ = false, own_ = false;
  MPI_Comm ranks_ = nullptr;
  Control incoming_;
  MPI_Request incoming_request_ = nullptr;
  std::list<Outgoing> outgoing_;
  std::vector<bool> ended_, farewells_, lost_;
  Clock::time_point looked_{};
  std::uint64_t groups_ = 0;
  std::map<std::uint64_t, std::weak_ptr<Membership>> members_;
  std::map<std::uint64_t, Control> early_aborts_;  ///< of groups that this rank has not joined yet
};

}  // namespace weir::mpi
