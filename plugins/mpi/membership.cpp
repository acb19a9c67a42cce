// SPDX-License-Identifier: Apache-2.0
#include "membership.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <thread>

#include "pieces.hpp"

namespace weir::mpi {
namespace {

using namespace std::chrono_literals;
using sdk::format_text;

constexpr std::uint64_t piece = std::uint64_t{1} << 28;  // MPI counts bytes in an int
constexpr auto withdrawal = 200ms;                       // for transfers of a failed call to end
constexpr std::chrono::nanoseconds longest_question = 500ms;
constexpr std::uint64_t tagged_groups = 1 << 19;

double seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

/// Polls at first, for latency; then sleeps. Ranks may share a processor, where a thread that yields waits
/// for the time slices of all others.
void pause(unsigned round) {
  if (round > 50) std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(10us + round * 50ns, 200us));
}

}  // namespace

int Membership::tag() const {
  return 1 + static_cast<int>(id_ % tagged_groups) * 2 + (channel_ == Channel::exchange ? 1 : 0);
}

void Membership::check() const {
  if (!failure_.empty()) sdk::fail(static_cast<weir_result>(WEIR_ERROR_RANK), "%s", failure_.c_str());
  if (size_ > 1) engine_.check_usable();
}

void Membership::set_failure(int rank, std::string words) {
  if (!failure_.empty()) return;
  failure_ = std::move(words);
  failed_rank_ = rank;
}

Control Membership::failure_message(Control::Kind kind) const {
  const auto state = engine_.is_lost(failed_rank_) ? Control::gone : Control::member;
  Control message{kind, 0, id_, failed_rank_, state, 0, 0, ""};
  std::snprintf(message.text, sizeof message.text, "%s", failure_.c_str());
  return message;
}

void Membership::fail_locked(int rank, std::string words) {
  if (failure_.empty()) {
    set_failure(rank, std::move(words));
    const Control message = failure_message(Control::abort);
    for (std::uint32_t other = 0; other < size_; ++other)
      if (other != rank_) engine_.send(other, message);
  }
  check();
  std::abort();  // unreachable: check throws
}

void Membership::fail(int rank, std::string words) {
  const Lock lock(engine_.mutex());
  fail_locked(rank, std::move(words));
}

void Membership::abort(const std::string& reason) {
  try {
    fail(static_cast<int>(rank_), format_text("rank %u ended the group: %.512s", rank_, reason.c_str()));
  } catch (const sdk::Failure&) {  // the failure of the group
  }
}

int Membership::failed_rank() const {
  const Lock lock(engine_.mutex());
  return failed_rank_;
}

void Membership::begin(const char* name, Channel channel, Clock::time_point until) {
  const Lock lock(engine_.mutex());
  engine_.progress();
  check();
  ++calls_;
  if (channel == Channel::collective) ++collectives_;
  last_ = name;
  channel_ = channel;
  until_ = until;
}

void Membership::post(std::span<const Part> parts, std::vector<Request>& requests) {
  const Api& mpi = api();
  for (const bool receive : {true, false})  // a message that is expected is not copied
    for (const Part& part : parts) {
      if (part.receive != receive) continue;
      for_each_piece(part.size, piece, [&](std::uint64_t begin, std::uint64_t size) {
        void* const address = static_cast<std::byte*>(part.address) + begin;
        MPI_Request handle = nullptr;
        const int peer = static_cast<int>(part.peer), bytes = static_cast<int>(size);
        if (receive)
          mpi::check(mpi.irecv(address, bytes, mpi.byte, peer, tag(), engine_.ranks(), &handle), "MPI_Irecv");
        else
          mpi::check(mpi.isend(address, bytes, mpi.byte, peer, tag(), engine_.ranks(), &handle), "MPI_Isend");
        requests.push_back({handle, {part.peer, address, size, receive}});
      });
    }
}

// Drops the requests that are complete.
bool Membership::test(std::vector<Request>& requests) {
  const Api& mpi = api();
  for (std::size_t i = 0; i < requests.size();) {
    Request& request = requests[i];
    MPI_Status status{};
    int done = 0, bytes = 0;
    const Part part = request.part;
    const int result = mpi.test(&request.handle, &done, &status);
    if (result == MPI_SUCCESS && !done) {
      ++i;
      continue;
    }
    requests.erase(requests.begin() + static_cast<std::ptrdiff_t>(i));
    if (result != MPI_SUCCESS && result != MPI_ERR_TRUNCATE) {
      char text[MPI_MAX_ERROR_STRING] = "";
      int length = 0;
      mpi.error_string(result, text, &length);
      fail_locked(static_cast<int>(part.peer),
                  format_text("the transfer with rank %u failed in %s: %s", part.peer, last_, text));
    }
    if (!part.receive) continue;
    mpi.get_count(&status, mpi.byte, &bytes);
    if (result == MPI_ERR_TRUNCATE || static_cast<std::uint64_t>(bytes) != part.size)
      fail_locked(
          static_cast<int>(part.peer),
          format_text("rank %u receives %llu bytes from rank %u in %s, which sent %s%d; both must be equal, "
                      "and all ranks must make the same calls",
                      rank_, static_cast<unsigned long long>(part.size), part.peer, last_,
                      result == MPI_ERR_TRUNCATE ? "more: " : "", bytes));
  }
  return requests.empty();
}

void Membership::judge(const std::vector<Request>& requests) {
  check();
  for (const Request& request : requests) {
    const std::uint32_t peer = request.part.peer;
    if (left_[peer])
      fail_locked(static_cast<int>(peer), format_text("rank %u left the group, while other ranks waited for "
                                                      "it in %s; all ranks must make the same calls",
                                                      peer, last_));
  }
  for (std::uint32_t rank = 0; rank < size_; ++rank)
    if (engine_.has_ended(rank) && !left_[rank])
      fail_locked(
          static_cast<int>(rank),
          format_text("rank %u has ended without leaving the group: its process was killed or exited, while "
                      "other ranks waited for it in %s; see the output of that rank",
                      rank, last_));
}

void Membership::ask() {
  for (Answer& answer : answers_) answer.given = false;
  for (std::uint32_t rank = 0; rank < size_; ++rank)
    if (rank != rank_) engine_.send(rank, {Control::question, 0, id_, -1, 0, 0, 0, ""});
}

std::string Membership::describe(std::uint32_t rank) const {
  const auto& [given, answer] = answers_[rank];
  if (!given)
    return format_text("rank %u does not answer: its process is stopped or its machine cannot be reached",
                       rank);
  if (answer.state == Control::not_joined) return format_text("rank %u has not joined the group", rank);
  if (answer.state == Control::gone) return format_text("rank %u left the group", rank);
  if (answer.calls <= 1)
    return format_text("rank %u has made no call", rank);  // the first is that of joining
  return format_text("rank %u has come no further than its call %llu, %.40s", rank,
                     static_cast<unsigned long long>(answer.calls - 1), answer.text);
}

// The ranks that made another call than most, as their call of the same number; the largest set names what
// most called.
void Membership::name_other_calls() {
  std::map<std::string, std::vector<std::uint32_t>> ranks_of{{last_, {rank_}}};
  for (std::uint32_t rank = 0; rank < size_; ++rank) {
    const auto& [given, answer] = answers_[rank];
    if (rank != rank_ && given && answer.state == Control::member && answer.collectives == collectives_)
      ranks_of[answer.text].push_back(rank);
  }
  if (ranks_of.size() < 2) return;
  const auto [fewest, most] =
      std::ranges::minmax_element(ranks_of, {}, [](const auto& entry) { return entry.second.size(); });
  const std::uint32_t rank = fewest->second.front();
  fail_locked(
      static_cast<int>(rank),
      format_text("rank %u called %s where other ranks called %s, as call %llu of the group; make the same "
                  "calls on all ranks (JoinOptions::validate compares them)",
                  rank, fewest->first.c_str(), most->first.c_str(),
                  static_cast<unsigned long long>(calls_ - 1)));
}

// A rank that this rank waits for may itself wait for another one. The cause is the rank with the fewest
// calls, or the one that made another call.
void Membership::give_up(const std::vector<Request>& requests) {
  if (channel_ == Channel::collective) name_other_calls();
  std::vector<std::uint32_t> late;
  for (std::uint32_t rank = 0; rank < size_; ++rank) {
    if (rank == rank_) continue;
    const auto& [given, answer] = answers_[rank];
    if (!given || answer.state != Control::member ||
        (channel_ == Channel::collective && answer.collectives < collectives_))
      late.push_back(rank);
  }
  const auto awaited = [&](std::uint32_t rank) {
    return std::ranges::any_of(requests, [&](const Request& request) { return request.part.peer == rank; });
  };
  if (channel_ == Channel::exchange) std::erase_if(late, [&](std::uint32_t rank) { return !awaited(rank); });
  if (late.empty())
    for (std::uint32_t rank = 0; rank < size_; ++rank)
      if (awaited(rank)) late.push_back(rank);
  std::string text;
  for (const std::uint32_t rank : late) {
    text += (text.empty() ? "" : ", ") + describe(rank);
    engine_.lose(static_cast<int>(rank));
    if (text.size() > 400) {
      text += ", and others";
      break;
    }
  }
  fail_locked(static_cast<int>(late.front()),
              format_text("no answer within %g s: %s, while other ranks waited for it in %s; make the same "
                          "calls on all ranks, or raise JoinOptions::limit",
                          seconds(limit_), text.c_str(), last_));
}

// After a failure, MPI must not access the caller's memory. A receive without a message can be withdrawn;
// other transfers end if the other rank answers.
void Membership::withdraw(std::vector<Request>& requests, Lock& lock) {
  const Api& mpi = api();
  for (Request& request : requests)
    if (request.part.receive) mpi.cancel(&request.handle);
  const auto until = Clock::now() + withdrawal;
  for (unsigned round = 0; !requests.empty() && Clock::now() < until; ++round) {
    engine_.progress();
    std::erase_if(requests, [&](Request& request) {
      int done = 0;
      return mpi.test(&request.handle, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS || done;
    });
    lock.unlock();
    pause(round);
    lock.lock();
  }
  if (!requests.empty()) engine_.stop("transfers of a failed call did not end: " + failure_);
}

void Membership::transfer(std::span<const Part> parts) {
  if (parts.empty()) return;
  Lock lock(engine_.mutex());
  check();
  std::vector<Request> requests;
  requests.reserve(parts.size());
  const auto question_time = std::min(limit_ / 4, longest_question);
  bool asked = false;
  try {
    post(parts, requests);
    for (unsigned round = 0;; ++round) {
      engine_.progress();
      const std::size_t posted = requests.size();
      if (test(requests)) return;  // also when the group has failed since: this step is complete
      judge(requests);
      const auto now = Clock::now();
      if (requests.size() < posted) until_ = std::max(until_, now + limit_);  // the rest may take as long
      if (now >= until_) give_up(requests);
      const bool is_late = now >= until_ - question_time;
      if (is_late && !asked) ask();
      asked = is_late;
      lock.unlock();
      pause(round);
      lock.lock();
    }
  } catch (...) {
    withdraw(requests, lock);
    throw;
  }
}

}  // namespace weir::mpi
