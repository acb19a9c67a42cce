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
    pending_.destroy_events();
    destroy_stream(stream_);
    release(scratch_);
  } catch (const sdk::Failure&) {  // the device is lost, and its resources with it
  }
}

// All operations are complete, here and on the other ranks, or the group has failed. ncclCommDestroy would
// wait for the other ranks, which may have ended.
void DeviceGroup::abort_communicator() noexcept {
  // A call that hangs inside the library holds the mutex, and the abort ends it.
  const bool locked = using_.try_lock_for(200ms);
  if (NcclComm comm = std::exchange(comm_, nullptr)) try {
      const Current current(context_);
      nccl().comm_abort(comm);
    } catch (const sdk::Failure&) {
    }
  if (locked) using_.unlock();
}

// Without using_: the watch must be able to end the operations for which this waits. The context must be
// current.
PendingOperations::Entry* DeviceGroup::take_entry() {
  for (unsigned round = 0;; ++round) {
    ranks_.check();
    if (PendingOperations::Entry* const entry = pending_.take()) return entry;
    std::this_thread::sleep_for(round < 100 ? 10us : 200us);
  }
}

void DeviceGroup::submit(void* stream, Operation operation, const Call& call) {
  void* const on = stream ? stream : stream_;
  const Current current(context_);
  PendingOperations::Entry* const entry = take_entry();
  entry->operation = std::move(operation);
  entry->number = ranks_.collectives();
  try {
    const std::lock_guard guard(using_);
    ranks_.check();
    record_event(entry->begin, on);
    call(nccl(), comm_, on);
    record_event(entry->end, on);
  } catch (const sdk::Failure& failure) {
    pending_.withdraw(entry);
    ranks_.check();
    ranks_.fail(static_cast<int>(ranks_.rank()),
                format_text("rank %u: %s", ranks_.rank(), failure.message.c_str()));
  }
  pending_.submitted(entry, on);
  if (stream) return;
  drain();
  ranks_.check();
}

void DeviceGroup::drain() {
  const Current current(context_);
  for (unsigned round = 0; !pending_.collect(); ++round) {
    ranks_.check();
    std::this_thread::sleep_for(round < 100 ? 10us : 200us);
  }
}

void DeviceGroup::look() noexcept try {
  if (ranks_.has_failed()) {
    abort_communicator();
    pending_.collect();
    return;
  }
  look_at_operations();
  look_at_library();
} catch (const std::exception&) {
}

void DeviceGroup::look_at_operations() {
  const auto limit = ranks_.limit();
  const auto [failed, waiting, begun, ask, late] =
      pending_.look(limit, std::min<std::chrono::nanoseconds>(limit / 4, longest_question));
  const int own = static_cast<int>(ranks_.rank());
  if (failed)
    return ranks_.fail_quietly(own, format_text("the device of rank %u failed in %s", ranks_.rank(), failed));
  ranks_.set_waiting(waiting);
  for (const auto& [name, number] : begun)
    for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank)
      if (ranks_.left_before(rank, number))
        return ranks_.fail_quietly(static_cast<int>(rank),
                                   format_text("rank %u left the group, while other ranks waited for it in "
                                               "%s; all ranks must make the same calls",
                                               rank, name));
  if (ask) ranks_.ask();
  if (late) ranks_.give_up(late->first.name, late->second, late->first.peers);
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
