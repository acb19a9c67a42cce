// SPDX-License-Identifier: Apache-2.0
#include "runtime/communicators/group_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <optional>
#include <span>
#include <weir/sdk/thread.hpp>

#include "foreign_text.hpp"
#include "runtime/devices/device_state.hpp"
#include "runtime/errors/stream_errors.hpp"

namespace weir::detail {
namespace {

ErrorCode code_of(weir_result result) {
  if (result == WEIR_ERROR_RANK) return ErrorCode::rank;
  if (result == WEIR_ERROR_OUT_OF_MEMORY) return ErrorCode::out_of_memory;
  return result == WEIR_ERROR_INVALID ? ErrorCode::invalid : ErrorCode::system;
}

/// Drivers have no WEIR_ERROR_RANK, so describe_failure() would add its number.
std::string describe(weir_result result, const weir_status& status) {
  if (result == WEIR_ERROR_RANK && *status.message)
    return without_control_characters(bounded(status.message), is_control_in_lines);
  return describe_failure(result, status);
}

}  // namespace

void GroupState::Progress::set(bool& what) {
  {
    const std::lock_guard lock(mutex_);
    what = true;
  }
  changed_.notify_all();
}

bool GroupState::Progress::wait_for_begin() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return begun_ || cancelled_; });
  return begun_;
}

void GroupState::Progress::wait_for_end() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return ended_; });
}

namespace {

/// Without capabilities if the communicator cannot describe itself.
weir_communicator_info describe(const CommunicatorPlugin& plugin) {
  weir_communicator_info info{};
  info.struct_size = sizeof info;
  Status status;
  if (plugin.table().communicator_get_info(&info, &status) != WEIR_OK) return {};
  return info;
}

}  // namespace

bool takes_memory(const CommunicatorPlugin& communicator, const Device& device) {
  if (communicator.abi_version() < WEIR_ABI_VERSION(1, 1)) return false;
  const weir_communicator_info info = describe(communicator);
  const std::span direct(info.direct, std::min<std::size_t>(info.direct_count, WEIR_MAX_DIRECT_DRIVERS));
  return (info.capabilities & WEIR_COMMUNICATOR_STREAM_ORDER) != 0 &&
         std::ranges::any_of(direct, [&](const auto& name) { return device.driver() == bounded(name); }) &&
         device.info().has(Capability::native_stream) && device.info().has(Capability::device_address);
}

// Longer ones overflow when they are added to a time.
constexpr std::chrono::years longest_limit{10};

GroupState::GroupState(const CommunicatorPlugin& plugin, const JoinOptions& options)
    : plugin_(plugin), rank_(options.rank), size_(options.size) {
  if (options.limit <= std::chrono::milliseconds(0))
    throw Error(
        ErrorCode::invalid,
        fmt::format("JoinOptions::limit is {} ms, expected at least 1: the longest wait for other ranks",
                    options.limit.count()));
  if (size_ != 0 && rank_ >= size_)
    throw Error(
        ErrorCode::invalid,
        fmt::format("JoinOptions::rank is {}, expected a number below JoinOptions::size, {}", rank_, size_));
  const auto limit = std::min<std::chrono::milliseconds>(options.limit, longest_limit);
  weir_group_options wanted{};
  wanted.struct_size = sizeof wanted;
  std::optional<Stream> stream;
  weir_communicator_stream device{};
  if (options.device && takes_memory(plugin_, *options.device)) {
    device_ = options.device;
    stream.emplace(device_->create_stream());
    device = {sizeof device, device_->driver().c_str(), stream->native_handle()};
    wanted.device = &device;
  }
  wanted.rank = options.rank;
  wanted.size = options.size;
  wanted.validate = options.validate;
  wanted.limit = static_cast<std::uint64_t>(std::chrono::nanoseconds(limit).count());
  wanted.address = options.size == 0 && options.address.empty() ? nullptr : options.address.c_str();
  const std::uint64_t capabilities = describe(plugin_).capabilities;
  std::shared_ptr<ThreadGroup> threads;
  if ((capabilities & WEIR_COMMUNICATOR_THREADS) && !(capabilities & WEIR_COMMUNICATOR_PROCESSES)) {
    if (size_ > max_thread_ranks)
      throw Error(ErrorCode::invalid,
                  fmt::format("JoinOptions::size is {}; a group of threads has at most {} ranks", size_,
                              max_thread_ranks));
    threads = ThreadGroup::enter(options.address, rank_, size_, options.device);
  }
  Status status;
  if (const weir_result result = plugin_.table().group_join(&wanted, &group_, &status); result != WEIR_OK)
    throw Error(code_of(result),
                fmt::format("{} communicator: {} cannot join: {}", name(),
                            size_ == 0 ? "this process" : fmt::format("rank {} of {}", rank_, size_),
                            describe(result, status)));
  weir_group_info info{};
  info.struct_size = sizeof info;
  if (const weir_result result = plugin_.table().group_get_info(group_, &info, &status); result != WEIR_OK) {
    const std::string words = describe_failure(result, status);
    plugin_.table().group_leave(group_, nullptr);
    throw Error(ErrorCode::system,
                fmt::format("{} communicator: the group has no description: {}", name(), words));
  }
  rank_ = info.rank;
  size_ = info.size;
  has_threads_ = size_ > 1 && (capabilities & WEIR_COMMUNICATOR_THREADS) != 0;
  if (has_threads_ && options.device) options.device->state()->streams.note_ranks();
  if (threads) devices_ = threads->complete(options.address);
  if (are_peers(devices_)) peers.emplace(*this, threads, limit);
  try {
    thread_ = sdk::start_thread("weir-ranks", [this] { run(); });
  } catch (const std::exception& error) {
    plugin_.table().group_leave(group_, nullptr);
    throw Error(ErrorCode::system, fmt::format("{} communicator: {}", name(), error.what()));
  }
}

GroupState::~GroupState() {
  // A stream that failed may never run its callbacks.
  try {
    staging.synchronize();
    if (peers) peers->finish();
  } catch (const std::exception& error) {
    abort(error.what());
  }
  {
    const std::lock_guard lock(mutex_);
    leaving_ = true;
  }
  changed_.notify_all();
  thread_.join();
  Status status;
  plugin_.table().group_leave(group_, &status);
}

bool GroupState::may_wait_in_callback(const Device& device) const {
  const DeviceInfo& info = device.info();
  return info.has(Capability::host_callback) && (!has_threads_ || info.kind == DeviceKind::cpu);
}

void GroupState::queue(std::shared_ptr<const Call> call) {
  {
    const std::lock_guard lock(mutex_);
    queued_.push_back(std::move(call));
  }
  changed_.notify_all();
}

void GroupState::run() {
  for (;;) {
    std::shared_ptr<const Call> next;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return leaving_ || !queued_.empty(); });
      if (queued_.empty()) return;
      next = queued_.front();
    }
    make(*next);
    const std::shared_ptr<Progress> progress = next->progress;
    next.reset();
    {
      const std::lock_guard lock(mutex_);
      queued_.pop_front();
    }
    changed_.notify_all();
    progress->end();
  }
}

void GroupState::make(const Call& call) noexcept {
  {  // the other ranks would take the messages of a later call for those of the failed one
    const std::lock_guard lock(mutex_);
    if (failure_) return;
  }
  try {
    try {
      if (call.in_callback) {
        if (!call.progress->wait_for_begin())
          throw Error(ErrorCode::rank,
                      fmt::format("{} communicator: rank {} of {} was aborted before its stream "
                                  "reached the call",
                                  name(), rank_, size_));
        throw_failure(*call.stream);
      } else if (call.staged) {
        call.staged->staging().begin.synchronize();
      }
      Status status;
      const weir_result result = call.function(plugin_.table(), group_, &status);
      if (result != WEIR_OK) throw failure_of(result, status);
    } catch (...) {
      rethrow_as_error();
    }
  } catch (const Error& error) {
    fail(error);
  } catch (const std::exception& error) {
    fail(Error(ErrorCode::system, error.what()));
  }
}

void GroupState::fail(const Error& failure) noexcept {
  abort(failure.what());
  const std::lock_guard lock(mutex_);
  if (!failure_) failure_ = failure;
}

Error GroupState::failure_of(weir_result result, const weir_status& status) const {
  return Error(code_of(result), fmt::format("{} communicator: rank {} of {}: {}", name(), rank_, size_,
                                            describe(result, status)));
}

bool GroupState::call_directly(const Function& function) {
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return queued_.empty(); });
    if (failure_) throw Error(*failure_);
  }
  Status status;
  const weir_result result = function(plugin_.table(), group_, &status);
  if (result == WEIR_OK) return true;
  if (result == WEIR_ERROR_UNSUPPORTED) return false;
  const Error failure = failure_of(result, status);
  fail(failure);
  throw failure;
}

void GroupState::check_calls() const {
  const std::lock_guard lock(mutex_);
  if (failure_) throw Error(*failure_);
}

// Another rank may have ended the group, or an operation of a stream may have failed after its call had
// returned. The communicator reports that in every later call, also in an exchange of nothing.
void GroupState::check() const {
  if (is_forked())
    throw Error(
        ErrorCode::system,
        fmt::format("{} communicator: this process was forked from one that had joined the group, which "
                    "does not work in the child; start the child with exec, or join only after the fork",
                    name()));
  check_calls();
  {
    const std::lock_guard lock(mutex_);
    if (!queued_.empty()) return;  // their thread makes the operations, and reports the failure
  }
  Status status;
  if (!device_) {  // an exchange of nothing would count as a call
    weir_group_info info{};
    info.struct_size = sizeof info;
    if (plugin_.table().group_get_info(group_, &info, &status) == WEIR_OK && info.failed_rank < 0) return;
  }
  const weir_result result = plugin_.table().exchange(group_, 0, nullptr, nullptr, &status);
  if (result != WEIR_OK) throw failure_of(result, status);
}

void GroupState::abort(const std::string& reason) noexcept {
  if (is_forked()) return;
  Status status;
  plugin_.table().group_abort(group_, reason.c_str(), &status);
  const std::lock_guard lock(mutex_);
  for (const auto& call : queued_) call->progress->cancel();
}

}  // namespace weir::detail
