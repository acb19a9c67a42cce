// SPDX-License-Identifier: Apache-2.0
#include "device_group.hpp"

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <optional>
#include <thread>
#include <weir/sdk/thread.hpp>

namespace weir::collectives {
namespace {

using namespace std::chrono_literals;
using sdk::format_text;

constexpr auto remote_grace = 500ms;  // until the connections name the rank of a remote error

/// Shared with the thread that starts the communicator, which may outlive the group.
struct Start {
  std::mutex mutex;
  std::condition_variable changed;
  bool ended = false, abandoned = false;
  NcclComm comm = nullptr;
  std::optional<sdk::Failure> failure;
};

void run_start(const std::shared_ptr<Start>& start, void* context, UniqueId id, std::uint32_t rank,
               std::uint32_t size) noexcept {
  NcclComm comm = nullptr;
  std::optional<sdk::Failure> failure;
  try {
    const Current current(context);
    check_nccl(nccl().comm_init_rank(&comm, static_cast<int>(size), {id}, static_cast<int>(rank)),
               "ncclCommInitRank");
  } catch (const sdk::Failure& thrown) {
    failure = thrown;
  }
  bool abandoned;
  {
    const std::lock_guard lock(start->mutex);
    start->ended = true;
    start->comm = comm;
    start->failure = failure;
    abandoned = start->abandoned;
  }
  start->changed.notify_all();
  if (abandoned && comm) nccl().comm_abort(comm);
}

}  // namespace

DeviceGroup::DeviceGroup(Ranks& ranks, const DeviceOfStream& device, const UniqueId& id)
    : ranks_(ranks), context_(device.context) {
  start(id);
  try {
    const Current current(context_);
    stream_ = create_stream();
    scratch_ = allocate(8);
  } catch (const sdk::Failure& failure) {
    abort_communicator();
    if (stream_) destroy_stream(stream_);
    ranks_.fail_quietly(static_cast<int>(ranks_.rank()),
                        format_text("rank %u: %s", ranks_.rank(), failure.message.c_str()));
    throw;
  }
  ranks_.watch([this] { look(); });
}

void DeviceGroup::start(const UniqueId& id) {
  const auto shared = std::make_shared<Start>();
  std::thread thread = sdk::start_thread(
      "weir-nccl-start", [shared, context = context_, id, rank = ranks_.rank(), size = ranks_.size()] {
        run_start(shared, context, id, rank, size);
      });
  const auto until = Clock::now() + ranks_.limit();
  std::unique_lock lock(shared->mutex);
  while (!shared->ended && Clock::now() < until && !ranks_.has_failed()) shared->changed.wait_for(lock, 20ms);
  if (!shared->ended) {
    shared->abandoned = true;
    thread.detach();
    lock.unlock();
    ranks_.fail(-1, format_text("ncclCommInitRank of rank %u did not return within %g s; start all ranks, or "
                                "raise JoinOptions::limit",
                                ranks_.rank(), std::chrono::duration<double>(ranks_.limit()).count()));
  }
  comm_ = shared->comm;
  const auto failure = shared->failure;
  lock.unlock();
  thread.join();
  if (failure) {
    ranks_.fail_quietly(static_cast<int>(ranks_.rank()),
                        format_text("rank %u: %s", ranks_.rank(), failure->message.c_str()));
    throw sdk::Failure(*failure);
  }
}

DeviceGroup::~DeviceGroup() {
  ranks_.watch(nullptr);
  abort_communicator();
  try {
    const Current current(context_);
    for (const Pending& pending : pending_) {
      destroy_event(pending.begin);
      destroy_event(pending.end);
    }
    for (void* const event : events_) destroy_event(event);
    destroy_stream(stream_);
    release(scratch_);
  } catch (const sdk::Failure&) {  // the device is lost, with all of it
  }
}

// All operations are complete, here and on the other ranks, or the group has failed. ncclCommDestroy would
// wait for the other ranks, which may have ended.
void DeviceGroup::abort_communicator() noexcept {
  // A call that hangs inside the library holds the mutex, and ends by the abort.
  const bool locked = using_.try_lock_for(200ms);
  if (NcclComm comm = std::exchange(comm_, nullptr)) try {
      const Current current(context_);
      nccl().comm_abort(comm);
    } catch (const sdk::Failure&) {
    }
  if (locked) using_.unlock();
}

void* DeviceGroup::event() {
  if (events_.empty()) return create_event();
  void* const made = events_.back();
  events_.pop_back();
  return made;
}

void DeviceGroup::submit(void* stream, Operation operation, const Call& call) {
  void* const on = stream ? stream : stream_;
  void* end = nullptr;
  {
    const std::lock_guard guard(using_);
    ranks_.check();
    const Current current(context_);
    Pending pending{std::move(operation), ranks_.collectives(), nullptr, nullptr};
    {
      const std::lock_guard lock(mutex_);
      pending.begin = event();
      pending.end = end = event();
    }
    const auto recorded = [&] {
      const std::lock_guard lock(mutex_);
      pending_.push_back(std::move(pending));
    };
    try {
      record_event(pending.begin, on);
      call(nccl(), comm_, on);
      record_event(pending.end, on);
    } catch (const sdk::Failure& failure) {
      {
        const std::lock_guard lock(mutex_);
        events_.push_back(pending.begin);
        events_.push_back(pending.end);
      }
      ranks_.check();
      ranks_.fail(static_cast<int>(ranks_.rank()),
                  format_text("rank %u: %s", ranks_.rank(), failure.message.c_str()));
    }
    recorded();
  }
  if (stream) return;
  drain();
  ranks_.check();
}

void DeviceGroup::drain() {
  const auto until = Clock::now() + ranks_.limit() + 1s;
  for (unsigned round = 0; Clock::now() < until; ++round) {
    {
      const std::lock_guard lock(mutex_);
      std::erase_if(pending_, [&](const Pending& pending) {
        if (query_event(pending.end) == EventState::pending) return false;
        events_.push_back(pending.begin);
        events_.push_back(pending.end);
        return true;
      });
      if (pending_.empty()) return;
    }
    std::this_thread::sleep_for(round < 100 ? 10us : 200us);
  }
}

void DeviceGroup::look() noexcept try {
  if (ranks_.has_failed()) {
    abort_communicator();
    const std::lock_guard lock(mutex_);
    std::erase_if(pending_, [&](const Pending& pending) {
      if (query_event(pending.end) == EventState::pending) return false;
      events_.push_back(pending.begin);
      events_.push_back(pending.end);
      return true;
    });
    return;
  }
  look_at_operations();
  look_at_library();
} catch (const std::exception&) {
}

void DeviceGroup::look_at_operations() {
  struct Late {
    const char* name;
    std::uint64_t number;
    std::vector<std::uint32_t> peers;
  };
  std::optional<Late> late;
  std::string failure;
  std::vector<std::pair<const char*, std::uint64_t>> begun;
  bool ask = false;
  std::uint64_t waiting = 0;
  {
    const std::lock_guard lock(mutex_);
    const auto now = Clock::now();
    for (auto at = pending_.begin(); at != pending_.end();) {
      const EventState end = query_event(at->end);
      if (end != EventState::pending) {
        if (end == EventState::failed)
          failure = format_text("the device of rank %u failed in %s", ranks_.rank(), at->operation.name);
        events_.push_back(at->begin);
        events_.push_back(at->end);
        at = pending_.erase(at);
        continue;
      }
      if (!at->begun && query_event(at->begin) != EventState::pending) {
        at->begun = true;
        at->since = now;
      }
      const bool collective = at->operation.peers.empty();
      if (!at->begun) {
        waiting += collective;
      } else {
        if (collective) begun.emplace_back(at->operation.name, at->number);
        const auto limit = ranks_.limit();
        if (!at->asked && now - at->since >= limit - std::min(limit / 4, longest_question))
          ask = at->asked = true;
        if (now - at->since >= limit && !late) late = {at->operation.name, at->number, at->operation.peers};
      }
      ++at;
    }
  }
  const int own = static_cast<int>(ranks_.rank());
  if (!failure.empty()) return ranks_.fail_quietly(own, failure);
  ranks_.set_waiting(waiting);
  for (const auto& [name, number] : begun)
    for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank)
      if (ranks_.left_before(rank, number))
        return ranks_.fail_quietly(static_cast<int>(rank),
                                   format_text("rank %u left the group, while other ranks waited for it in "
                                               "%s; all ranks must make the same calls",
                                               rank, name));
  if (ask) ranks_.ask();
  if (late) ranks_.give_up(late->name, late->number, late->peers);
}

// The library's own errors, such as those of a network.
void DeviceGroup::look_at_library() {
  std::unique_lock guard(using_, std::try_to_lock);
  if (!guard || !comm_) return;
  int result = nccl_success;
  const Current current(context_);
  if (nccl().comm_get_async_error(comm_, &result) != nccl_success || result == nccl_success ||
      result == nccl_in_progress)
    return;
  if (remote_error_ == Clock::time_point{}) remote_error_ = Clock::now();
  if (result == nccl_remote_error && Clock::now() - remote_error_ < remote_grace) return;
  const char* const last = nccl().get_last_error ? nccl().get_last_error(comm_) : nullptr;
  ranks_.fail_quietly(
      static_cast<int>(ranks_.rank()),
      format_text("%s reports on rank %u: %s%s%s", vendor.product, ranks_.rank(),
                  nccl().get_error_string(result), last && *last ? ": " : "", last ? last : ""));
}

}  // namespace weir::collectives
