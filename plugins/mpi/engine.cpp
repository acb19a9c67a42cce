// SPDX-License-Identifier: Apache-2.0
#include "engine.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <thread>
#include <weir/sdk/fork.hpp>
#include <weir/sdk/status.hpp>
#include <weir/sdk/thread.hpp>

#include "membership.hpp"

namespace weir::mpi {
namespace {

using namespace std::chrono_literals;
using sdk::format_text;

constexpr auto rank_error = static_cast<weir_result>(WEIR_ERROR_RANK);
constexpr auto idle_pause = 5ms;      // between looks for control messages while no operation runs
constexpr auto ended_pause = 2ms;     // between looks for ended ranks
constexpr auto leave_limit = 1s;      // for the word that this rank leaves its groups
constexpr auto farewell_limit = 10s;  // for other ranks to report a failure before this process ends

thread_local bool is_service = false;

/// Keeps the program's signal handlers, which MPI_Init replaces to print stacks.
class KeepSignalHandlers {
 public:
  KeepSignalHandlers() {
    for (std::size_t i = 0; i < signals.size(); ++i) sigaction(signals[i], nullptr, &kept_[i]);
  }
  ~KeepSignalHandlers() {
    for (std::size_t i = 0; i < signals.size(); ++i) sigaction(signals[i], &kept_[i], nullptr);
  }

 private:
  static constexpr std::array signals{SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGTERM, SIGINT, SIGPIPE, SIGCHLD};
  std::array<struct sigaction, signals.size()> kept_{};
};

std::string names_of(const std::vector<std::uint32_t>& ranks) {
  std::string text;
  for (const std::uint32_t rank : ranks) {
    text += format_text("%srank %u", text.empty() ? "" : ", ", rank);
    if (text.size() > 300) return text + " and others";
  }
  return text;
}

}  // namespace

Engine& Engine::get() {
  static auto* engine = new Engine;  // outlives threads that run at exit
  return *engine;
}

void Engine::check_usable() const {
  if (!failure_.empty()) sdk::fail(rank_error, "%s", failure_.c_str());
}

void Engine::start(const Launch& launch, Clock::time_point until, double seconds) {
  const std::lock_guard one(starting_);
  {
    const Lock lock(mutex_);
    check_usable();
    if (state_ == State::running) return;
  }
  api();
  if (!neighbours_) {
    launch_ = launch;
    neighbours_.emplace(launch);
  }
  for (std::vector<std::uint32_t> absent; !(absent = neighbours_->absent()).empty();
       std::this_thread::sleep_for(2ms)) {
    if (const auto ended = neighbours_->ended(); !ended.empty())
      sdk::fail(rank_error,
                "%s did not join the group, and %s ended while it waited; see the output of the latter",
                names_of(absent).c_str(), names_of(ended).c_str());
    if (Clock::now() >= until)
      sdk::fail(
          rank_error,
          "no answer within %g s: %s did not join the group; start all ranks, or raise JoinOptions::limit",
          seconds, names_of(absent).c_str());
  }
  Lock lock(mutex_);
  if (state_ == State::idle) {
    sdk::notice_forks();
    sdk::start_thread("weir-mpi", [this] { serve(); }).detach();
    state_ = State::starting;
    std::atexit([] { get().end_with_process(); });
  }
  if (!changed_.wait_until(lock, until, [&] { return state_ != State::starting; }))
    sdk::fail(rank_error,
              "MPI_Init_thread did not return within %g s; it waits until every rank on every machine has "
              "joined (%s); start all ranks, or raise JoinOptions::limit",
              seconds, launch_.by.c_str());
  check_usable();
}

void Engine::serve() noexcept {
  is_service = true;
  Lock lock(mutex_);
  try {
    lock.unlock();
    initialise();
    lock.lock();
    receive_next();
    state_ = State::running;
  } catch (const sdk::Failure& failure) {
    if (!lock.owns_lock()) lock.lock();
    failure_ = failure.message;
    state_ = State::failed;
  } catch (const std::exception& error) {
    if (!lock.owns_lock()) lock.lock();
    failure_ = error.what();
    state_ = State::failed;
  }
  changed_.notify_all();
  while (state_ == State::running && !ending_) {
    progress();
    changed_.wait_for(lock, idle_pause, [&] { return ending_; });
  }
  finish(lock);
  finished_ = true;
  changed_.notify_all();
}

void Engine::initialise() {
  const Api& mpi = api();
  int flag = 0, level = 0;
  check(mpi.finalized(&flag), "MPI_Finalized");
  if (flag) sdk::fail(WEIR_ERROR_INVALID, "the program has called MPI_Finalize; join groups before that");
  check(mpi.initialized(&flag), "MPI_Initialized");
  if (flag) {
    check(mpi.query_thread(&level), "MPI_Query_thread");
    if (level < MPI_THREAD_MULTIPLE)
      sdk::fail(WEIR_ERROR_INVALID,
                "the program has initialised MPI with thread level %d; expected MPI_THREAD_MULTIPLE (%d), "
                "because both use MPI at the same time",
                level, MPI_THREAD_MULTIPLE);
  } else {
    const KeepSignalHandlers kept;
    check(mpi.init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level), "MPI_Init_thread");
    own_ = true;
    if (level < MPI_THREAD_SERIALIZED)
      sdk::fail(WEIR_ERROR_UNSUPPORTED,
                "this MPI has thread level %d; expected MPI_THREAD_SERIALIZED (%d); install an MPI that was "
                "built with threads",
                level, MPI_THREAD_SERIALIZED);
    mpi.comm_set_errhandler(mpi.world, mpi.errors_return);
  }
  check(mpi.comm_dup(mpi.world, &ranks_), "MPI_Comm_dup");
  check(mpi.comm_set_errhandler(ranks_, mpi.errors_return), "MPI_Comm_set_errhandler");
  int rank = 0, size = 0;
  check(mpi.comm_rank(ranks_, &rank), "MPI_Comm_rank");
  check(mpi.comm_size(ranks_, &size), "MPI_Comm_size");
  if (static_cast<std::uint32_t>(rank) != launch_.rank || static_cast<std::uint32_t>(size) != launch_.size)
    sdk::fail(
        WEIR_ERROR_INVALID,
        "MPI counts this process as rank %d of %d, the environment as rank %u of %u (%s); start the program "
        "with Open MPI's mpirun, or with srun --mpi=pmix",
        rank, size, launch_.rank, launch_.size, launch_.by.c_str());
  // The program may call MPI_Finalize itself. MPI deletes the attributes of MPI_COMM_SELF first.
  if (!own_) {
    int key = MPI_KEYVAL_INVALID;
    const auto stop_using = +[](MPI_Comm, int, void*, void*) -> int {
      Engine& engine = get();
      const Lock lock(engine.mutex_);
      engine.stop("the program has called MPI_Finalize");
      return MPI_SUCCESS;
    };
    check(mpi.comm_create_keyval(nullptr, stop_using, &key, nullptr), "MPI_Comm_create_keyval");
    check(mpi.comm_set_attr(mpi.self, key, nullptr), "MPI_Comm_set_attr");
  }
  const Lock lock(mutex_);
  ended_.resize(launch_.size);
  farewells_.resize(launch_.size);
  lost_.resize(launch_.size);
}

void Engine::receive_next() {
  check(api().irecv(&incoming_, sizeof incoming_, api().byte, MPI_ANY_SOURCE, control_tag, ranks_,
                    &incoming_request_),
        "MPI_Irecv");
}

void Engine::look_for_ended() {
  const auto now = Clock::now();
  if (now - looked_ < ended_pause) return;
  looked_ = now;
  for (const std::uint32_t rank : neighbours_->ended()) ended_[rank] = lost_[rank] = true;
}

// The order matters: a rank counts as ended only after its last messages have been received.
void Engine::progress() {
  if (state_ != State::running || stopped_) return;
  look_for_ended();
  for (int flag = 1; flag;) {
    if (api().test(&incoming_request_, &flag, MPI_STATUS_IGNORE) != MPI_SUCCESS)
      return stop("MPI cannot receive the messages of other ranks");
    if (!flag) break;
    handle(incoming_);
    receive_next();
  }
  std::erase_if(outgoing_, [](Outgoing& out) {
    int done = 0;
    return api().test(&out.request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS || done;
  });
}

void Engine::send(std::uint32_t to, const Control& message) {
  if (state_ != State::running || stopped_ || has_ended(to)) return;
  Outgoing& out = outgoing_.emplace_back(Outgoing{to, message, nullptr});
  out.message.from = launch_.rank;
  if (api().isend(&out.message, sizeof out.message, api().byte, static_cast<int>(to), control_tag, ranks_,
                  &out.request) != MPI_SUCCESS)
    outgoing_.pop_back();
}

void Engine::handle(const Control& message) {
  if (message.from >= launch_.size) return;
  if (message.kind == Control::farewell) {
    farewells_[message.from] = true;
    return;
  }
  if (message.kind == Control::question) return answer(message);
  const auto found = members_.find(message.group);
  const auto group = found == members_.end() ? nullptr : found->second.lock();
  // A rank that leaves after a failure reports it too: the word of the rank that failed may arrive later.
  const bool failure = message.kind == Control::abort || (message.kind == Control::left && *message.text);
  if (failure && !group && message.group > groups_) early_aborts_.try_emplace(message.group, message);
  if (!group) return;
  if (failure) {
    if (message.state == Control::gone) lose(message.rank);
    group->set_failure(message.rank, message.text);
  }
  if (message.kind == Control::left) group->left_[message.from] = true;
  if (message.kind == Control::answer) group->answers_[message.from] = {true, message};
}

void Engine::answer(const Control& question) {
  Control reply{Control::answer, 0, question.group, -1, Control::not_joined, 0, 0, ""};
  const auto found = members_.find(question.group);
  if (const auto group = found == members_.end() ? nullptr : found->second.lock()) {
    reply.state = Control::member;
    reply.calls = group->calls_;
    reply.collectives = group->collectives_;
    std::snprintf(reply.text, sizeof reply.text, "%s", group->last_);
  } else if (question.group <= groups_) {
    reply.state = Control::gone;
  }
  send(question.from, reply);
}

void Engine::enter(const std::shared_ptr<Membership>& group) {
  const Lock lock(mutex_);
  check_usable();
  group->id_ = ++groups_;
  members_[group->id_] = group;
  if (const auto early = early_aborts_.extract(group->id_))
    group->set_failure(early.mapped().rank, early.mapped().text);
}

void Engine::leave(Membership& group) {
  const Lock lock(mutex_);
  members_.erase(group.id_);
  say_left(group);
}

void Engine::say_left(const Membership& group) {
  const Control message = group.failure_message(Control::left);
  for (std::uint32_t rank = 0; rank < group.size_; ++rank)
    if (rank != group.rank_ && !is_lost(static_cast<int>(rank))) send(rank, message);
}

void Engine::stop(std::string reason) {
  stopped_ = true;
  if (failure_.empty()) failure_ = "MPI is no longer used by this process: " + std::move(reason);
}

void Engine::lose(int rank) {
  if (rank >= 0 && static_cast<std::size_t>(rank) < lost_.size())
    lost_[static_cast<std::size_t>(rank)] = true;
}

bool Engine::is_lost(int rank) const {
  return rank >= 0 && static_cast<std::size_t>(rank) < lost_.size() && lost_[static_cast<std::size_t>(rank)];
}

// Without MPI_Finalize, the launcher counts a process as crashed and ends the others. If a rank has ended or
// hangs, MPI_Finalize does not return. Then this process only waits until the other ranks have reported the
// failure, because the launcher ends them when the first process exits.
void Engine::finish(Lock& lock) noexcept {
  if (state_ != State::running || stopped_ || !own_) return;
  try {
    // exit() destroys no groups. Without a word of this rank the others would wait for it, and it would wait
    // for them in MPI_Finalize.
    for (const auto& [number, member] : members_)
      if (const auto group = member.lock()) say_left(*group);
    const auto sends = [&] {
      return std::ranges::any_of(outgoing_,
                                 [&](const Outgoing& out) { return !lost_[out.to] && !has_ended(out.to); });
    };
    progress();
    for (const auto until = Clock::now() + leave_limit; sends() && Clock::now() < until; progress())
      changed_.wait_for(lock, idle_pause);
  } catch (...) {  // no memory; the process ends in any case
  }
  const bool whole = std::ranges::none_of(lost_, [](bool lost) { return lost; });
  if (!whole) {
    try {
      for (std::uint32_t rank = 0; rank < launch_.size; ++rank)
        if (rank != launch_.rank && !lost_[rank]) send(rank, {Control::farewell, 0, 0, -1, 0, 0, 0, ""});
      for (const auto until = Clock::now() + farewell_limit; Clock::now() < until;) {
        progress();
        bool all = std::ranges::all_of(outgoing_, [&](const Outgoing& out) { return lost_[out.to]; });
        for (std::uint32_t rank = 0; rank < launch_.size; ++rank)
          all = all && (rank == launch_.rank || lost_[rank] || farewells_[rank]);
        if (all) break;
        changed_.wait_for(lock, idle_pause);
      }
    } catch (...) {  // no memory; the process ends in any case
    }
    stopped_ = true;
    return;
  }
  stopped_ = true;
  lock.unlock();
  api().finalize();
  lock.lock();
}

void Engine::end_with_process() noexcept {
  if (sdk::was_forked()) return;
  if (is_service) {  // MPI ends the process
    static constexpr char text[] =
        "weir: mpi communicator: MPI has ended this process with the message above, in MPI_Init_thread or "
        "MPI_Finalize\n";
    [[maybe_unused]] const auto written = write(STDERR_FILENO, text, sizeof text - 1);
    return;
  }
  Lock lock(mutex_);
  ending_ = true;
  changed_.notify_all();
  if (state_ == State::starting) return;  // MPI_Init waits for other ranks, possibly without end
  changed_.wait(lock, [&] { return finished_; });
}

}  // namespace weir::mpi
