// SPDX-License-Identifier: Apache-2.0
#include "meeting.hpp"

#include <algorithm>
#include <cstring>
#include <map>

namespace weir::local {
namespace {

using sdk::format_text;

double seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

/// Groups whose ranks have not all joined, by address.
struct OpenGroups {
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<Meeting>> by_address;
};
OpenGroups& open_groups() {
  static auto* groups = new OpenGroups;  // outlives threads that run at exit
  return *groups;
}

}  // namespace

Meeting::Meeting(std::uint32_t size, std::chrono::nanoseconds limit, bool validate)
    : size_(size),
      limit_(limit),
      validate_(validate),
      ranks_(size),
      calls_(size),
      sends_(std::size_t{size} * size) {}

std::shared_ptr<Meeting> Meeting::join(const weir_group_options& options) {
  const std::string address = options.address ? options.address : "";
  OpenGroups& open = open_groups();
  std::shared_ptr<Meeting> meeting;
  {
    const std::lock_guard guard(open.mutex);
    std::shared_ptr<Meeting>& found = open.by_address[address];
    if (!found)
      found = std::make_shared<Meeting>(options.size, std::chrono::nanoseconds(options.limit),
                                        options.validate != 0);
    meeting = found;
    const Lock lock(meeting->mutex_);
    meeting->take_seat(options, lock);
    if (std::ranges::all_of(meeting->ranks_, [](const Rank& rank) { return rank.joined; }))
      open.by_address.erase(address);
  }
  meeting->changed_.notify_all();
  Lock lock(meeting->mutex_);
  try {
    meeting->wait(
        lock,
        [&] { return std::ranges::all_of(meeting->ranks_, [](const Rank& rank) { return rank.joined; }); },
        [&] {
          std::vector<std::uint32_t> absent;
          for (std::uint32_t rank = 0; rank < meeting->size_; ++rank)
            if (!meeting->ranks_[rank].joined) absent.push_back(rank);
          return std::pair(absent, "joining the group");
        });
  } catch (...) {
    lock.unlock();
    const std::lock_guard guard(open.mutex);
    if (const auto found = open.by_address.find(address);
        found != open.by_address.end() && found->second == meeting)
      open.by_address.erase(found);
    throw;
  }
  return meeting;
}

void Meeting::take_seat(const weir_group_options& options, const Lock&) {
  check();
  if (options.size != size_ || (options.validate != 0) != validate_ ||
      std::chrono::nanoseconds(options.limit) != limit_)
    sdk::fail(WEIR_ERROR_INVALID,
              "rank %u joins with size %u, limit %g s and validate %u; the ranks before it gave size %u, "
              "limit %g s and "
              "validate %d; all ranks must give the same",
              options.rank, options.size, seconds(std::chrono::nanoseconds(options.limit)), options.validate,
              size_, seconds(limit_), validate_);
  if (ranks_[options.rank].joined)
    sdk::fail(WEIR_ERROR_INVALID, "rank %u joins a second time; every thread needs a rank of its own",
              options.rank);
  ranks_[options.rank].joined = true;
}

void Meeting::check() const {
  if (!failure_.empty()) sdk::fail(static_cast<weir_result>(WEIR_ERROR_RANK), "%s", failure_.c_str());
}

void Meeting::fail_group(int rank, std::string words) {
  if (failure_.empty()) {
    failure_ = std::move(words);
    failed_rank_ = rank;
    changed_.notify_all();
  }
  check();
  std::abort();  // unreachable: check throws
}

std::string Meeting::describe(const std::vector<std::uint32_t>& ranks, const char* doing) const {
  std::string text;
  for (const std::uint32_t rank : ranks) {
    const Rank& at = ranks_[rank];
    text += text.empty() ? "" : ", ";
    if (at.left)
      text += format_text("rank %u left the group", rank);
    else if (at.calls == 0)
      text += format_text("rank %u has made no call", rank);
    else
      text += format_text("rank %u has come no further than its call %llu, %s", rank,
                          static_cast<unsigned long long>(at.calls), at.last);
    if (text.size() > 600) return text + ", and others";
  }
  return text + format_text(", while other ranks waited for it in %s", doing);
}

// Waits for `done`. `missing` gives the ranks that it waits for and the name of the wait.
template <class Done, class Missing>
void Meeting::wait(Lock& lock, Done done, Missing missing) {
  const Clock::time_point until = Clock::now() + limit_;
  for (;;) {
    if (done()) return;  // also when the group has failed since: this step is complete
    check();
    const auto [ranks, doing] = missing();
    std::vector<std::uint32_t> gone = ranks;
    std::erase_if(gone, [&](std::uint32_t rank) { return !ranks_[rank].left; });
    if (!gone.empty())
      fail_group(static_cast<int>(gone.front()),
                 describe(gone, doing) + "; all ranks must make the same calls");
    if (changed_.wait_until(lock, until) != std::cv_status::timeout || done()) continue;
    check();
    const auto [late, what] = missing();
    fail_group(static_cast<int>(late.front()),
               format_text("no answer within %g s: ", seconds(limit_)) + describe(late, what) +
                   "; make the same calls on all ranks, or raise JoinOptions::limit");
  }
}

std::vector<std::uint32_t> Meeting::late(std::uint64_t count) const {
  std::vector<std::uint32_t> ranks;
  for (std::uint32_t rank = 0; rank < size_; ++rank)
    if (ranks_[rank].reached < count) ranks.push_back(rank);
  return ranks;
}

void Meeting::begin(std::uint32_t rank, const Call& call) {
  Lock lock(mutex_);
  check();
  calls_[rank] = call;
  ++ranks_[rank].calls;
  ranks_[rank].last = call.name;
  const std::uint64_t count = ++ranks_[rank].reached;
  changed_.notify_all();
  wait(
      lock,
      [&] { return std::ranges::all_of(ranks_, [&](const Rank& other) { return other.reached >= count; }); },
      [&] { return std::pair(late(count), call.name); });
  compare_calls(rank);
}

// Always, because it is cheap here, and a mismatch would access memory outside of a rank's arrays.
void Meeting::compare_calls(std::uint32_t rank) {
  const Call& mine = calls_[0];
  for (std::uint32_t other = 1; other < size_; ++other) {
    const Call& call = calls_[other];
    if (std::strcmp(call.name, mine.name) == 0 && call.size == mine.size && call.type == mine.type &&
        call.reduction == mine.reduction && call.root == mine.root)
      continue;
    const auto call_text = [](std::uint32_t of, const Call& made) {
      return sdk::describe_call(of, made.name, made.size, made.type, made.reduction, made.root);
    };
    fail_group(static_cast<int>(other),
               format_text("call %llu differs: ", static_cast<unsigned long long>(ranks_[rank].calls)) +
                   call_text(0, mine) + "; " + call_text(other, call) +
                   "; all ranks must make the same call");
  }
}

// A failure of the group does not end this wait: every rank has begun the call and arrives soon. Until then
// others may read the memory of this rank.
void Meeting::meet(std::uint32_t rank) {
  Lock lock(mutex_);
  const std::uint64_t count = ++ranks_[rank].reached;
  changed_.notify_all();
  changed_.wait(lock, [&] {
    return std::ranges::all_of(ranks_, [&](const Rank& other) { return other.reached >= count; });
  });
}

// Rank 0 allocates. All ranks fail together, because the others would wait in the call for a single one.
std::byte* Meeting::scratch(std::uint32_t rank, std::uint64_t bytes) {
  if (rank == 0) try {
      if (scratch_.size() < bytes) scratch_.resize(bytes);
    } catch (const std::exception&) {
    }
  meet(rank);
  if (scratch_.size() < bytes)
    sdk::fail(WEIR_ERROR_OUT_OF_MEMORY, "the host has no %llu bytes for a reduction; reduce smaller arrays",
              static_cast<unsigned long long>(bytes));
  return scratch_.data();
}

void Meeting::exchange(std::uint32_t rank, std::span<const weir_transfer> transfers) {
  std::vector<Send> sends;
  sends.reserve(transfers.size());
  Lock lock(mutex_);
  check();
  ++ranks_[rank].calls;
  ranks_[rank].last = "exchange";
  const auto queue = [&](std::uint32_t from, std::uint32_t to) -> std::deque<Send*>& {
    return sends_[std::size_t{from} * size_ + to];
  };
  for (const weir_transfer& transfer : transfers)
    if (!transfer.receive) {
      sends.push_back({transfer.memory.address, transfer.size});
      queue(rank, transfer.peer).push_back(&sends.back());
    }
  // A failed call must not leave pointers to its sends.
  struct Withdraw {
    Meeting& meeting;
    Lock& lock;
    std::uint32_t rank;
    std::vector<Send>& sends;
    ~Withdraw() {
      meeting.changed_.wait(
          lock, [&] { return std::ranges::all_of(sends, [](const Send& s) { return s.begun == s.taken; }); });
      for (std::uint32_t to = 0; to < meeting.size_; ++to)
        std::erase_if(meeting.sends_[std::size_t{rank} * meeting.size_ + to], [&](const Send* send) {
          return send >= sends.data() && send < sends.data() + sends.size();
        });
    }
  } withdraw{*this, lock, rank, sends};
  changed_.notify_all();

  for (const weir_transfer& transfer : transfers) {
    if (!transfer.receive) continue;
    std::deque<Send*>& posted = queue(transfer.peer, rank);
    const std::vector<std::uint32_t> peer{transfer.peer};
    wait(
        lock, [&] { return !posted.empty(); }, [&] { return std::pair(peer, "exchange"); });
    Send& send = *posted.front();
    if (send.size != transfer.size)
      fail_group(static_cast<int>(transfer.peer),
                 format_text("rank %u receives %llu bytes from rank %u, which sent %llu; both must be equal",
                             rank, static_cast<unsigned long long>(transfer.size), transfer.peer,
                             static_cast<unsigned long long>(send.size)));
    posted.pop_front();
    send.begun = true;
    // The sender waits for `taken`, also when the group fails meanwhile, so the memory stays valid.
    lock.unlock();
    if (transfer.size) std::memcpy(transfer.memory.address, send.from, transfer.size);
    lock.lock();
    send.taken = true;
    changed_.notify_all();
  }
  std::size_t next = 0;
  for (const weir_transfer& transfer : transfers) {
    if (transfer.receive) continue;
    const Send& send = sends[next++];
    const std::vector<std::uint32_t> peer{transfer.peer};
    const auto is_posted = [&] { return std::ranges::count(queue(rank, transfer.peer), &send) != 0; };
    // A send that a receiver has begun to copy ends soon, even if the group fails.
    while (!send.taken) {
      if (!is_posted())
        changed_.wait(lock);
      else
        wait(
            lock, [&] { return !is_posted(); }, [&] { return std::pair(peer, "exchange"); });
    }
  }
}

void Meeting::leave(std::uint32_t rank) {
  const Lock lock(mutex_);
  ranks_[rank].left = true;
  changed_.notify_all();
}

void Meeting::abort(std::uint32_t rank, const std::string& reason) {
  const Lock lock(mutex_);
  if (!failure_.empty()) return;
  failure_ = format_text("rank %u ended the group: %.512s", rank, reason.c_str());
  failed_rank_ = static_cast<int>(rank);
  changed_.notify_all();
}

int Meeting::failed_rank() const {
  const Lock lock(mutex_);
  return failed_rank_;
}

}  // namespace weir::local
