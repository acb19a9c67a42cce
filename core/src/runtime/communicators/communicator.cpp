// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <functional>
#include <span>
#include <tuple>
#include <vector>
#include <weir/communicator.hpp>

#include "runtime/communicators/group_state.hpp"
#include "runtime/devices/device_state.hpp"
#include "runtime/errors/stream_errors.hpp"
#include "runtime/memory/array_use.hpp"
#include "runtime/streams/submission.hpp"

namespace weir {
namespace {

using detail::DeviceState;
using detail::GroupState;
using detail::live;
using detail::memory_at;
using detail::MemoryBlock;
using detail::Staged;
using detail::StreamState;
using detail::Submission;
using detail::SubmissionSequence;

/// The memory of a call, in the order of its arrays: on the host without a stream, else on the device.
struct Operands {
  std::vector<weir_memory> sent, received;
  const weir_communicator_stream* stream;
};
using OperandFunction =
    std::function<weir_result(const Operands&, const weir_communicator_table&, weir_group, weir_status*)>;

weir_memory memory_on(const AnyArrayView& view, StreamState& stream, const char* driver) {
  const MemoryBlock& block = use_on(view, stream, [] { return std::string("the array"); });
  return {driver, block.allocation, view.offset(), reinterpret_cast<void*>(block.address + view.offset())};
}

/// Submits the call in the order of `stream`, whose device the group takes. Returns false if the communicator
/// does not support the operation, on all ranks alike. Throws Error with the failure of the group.
bool submit_directly(GroupState& group, const StreamRef& on, std::span<const AnyArrayView> sent,
                     std::span<const AnyArrayView> received, const OperandFunction& function) {
  StreamState& stream = live(on);
  for (const AnyArrayView& view : sent) live(view);
  for (const AnyArrayView& view : received) live(view);
  throw_failure(stream);
  const char* const driver = stream.device.driver().name().c_str();
  const weir_communicator_stream named{sizeof named, driver, on.native_handle()};
  Operands operands{{}, {}, &named};
  // Not under the submission lock: the call may wait for other ranks, at most the group's limit.
  const SubmissionSequence sequence(stream);
  for (const AnyArrayView& view : sent) operands.sent.push_back(memory_on(view, stream, driver));
  for (const AnyArrayView& view : received) operands.received.push_back(memory_on(view, stream, driver));
  const bool supported =
      group.call_directly([&](const weir_communicator_table& table, weir_group handle, weir_status* status) {
        return function(operands, table, handle, status);
      });
  const Submission submission(stream);
  stream.note_submission();
  return supported;
}

std::uint32_t scalar_of(const AnyArrayView& values) {
  switch (values.element().scalar) {
    case ScalarType::i8:
      return WEIR_I8;
    case ScalarType::i16:
      return WEIR_I16;
    case ScalarType::i32:
      return WEIR_I32;
    case ScalarType::i64:
      return WEIR_I64;
    case ScalarType::u8:
      return WEIR_U8;
    case ScalarType::u16:
      return WEIR_U16;
    case ScalarType::u32:
      return WEIR_U32;
    case ScalarType::u64:
      return WEIR_U64;
    case ScalarType::f16:
      return WEIR_F16;
    case ScalarType::f32:
      return WEIR_F32;
    case ScalarType::f64:
      return WEIR_F64;
    default:
      throw Error(
          ErrorCode::unsupported,
          "all_reduce: the elements are expected to be integers or floats, but are bool; convert them first");
  }
}

Operands operands_of(const Staged& staged) {
  Operands operands{{}, {}, nullptr};
  for (std::size_t i = 0; i < staged.sent_count(); ++i) operands.sent.push_back(memory_at(staged.sent(i)));
  for (std::size_t i = 0; i < staged.received_count(); ++i)
    operands.received.push_back(memory_at(staged.received(i)));
  return operands;
}

/// Makes the call on device memory if the communicator takes it. Otherwise copies `sent` to the host, makes
/// the call there and copies `received` back. Both in the order of `stream`.
void submit(GroupState& group, const StreamRef& stream, Staged::Views sent, Staged::Views received,
            OperandFunction function) {
  group.check();
  const Device device = stream.device();
  if (group.size() > 1) device.state()->streams.note_ranks();
  if (group.takes_memory_of(device) && submit_directly(group, stream, sent, received, function))
    return;
  const bool callbacks = group.may_wait_in_callback(device);
  const auto staged = std::make_shared<const Staged>(group.staging, device, sent, received);
  detail::StagingMemory& staging = staged->staging();
  const auto call = std::make_shared<GroupState::Call>();
  call->function = [staged, function = std::move(function)](const weir_communicator_table& table,
                                                            weir_group handle, weir_status* status) {
    return function(operands_of(*staged), table, handle, status);
  };
  call->staged = staged;
  call->stream = stream.state();
  call->in_callback = callbacks && device.info().kind != DeviceKind::cpu;
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i].copy_to_bytes_async(stream, staged->sent(i));
  if (call->in_callback) {
    // GPUs run callbacks one at a time. One that waits must not begin before those of earlier calls.
    if (group.last_in_callback) stream.wait(group.last_in_callback->staging().end);
    group.last_in_callback = staged;
  }
  staging.begin.record(stream);
  if (group.peers &&
      !callbacks) {  // the stream may wait for an exchange, and the group's thread for the stream
    stream.flush();
    group.peers->synchronize(staging.begin);
  }
  group.queue(call);
  // If the submission failed half way, the other ranks would wait for this rank until the limit.
  try {
    if (callbacks)
      stream.call_host([progress = call->progress] {
        progress->begin();
        progress->wait_for_end();
      });
    else
      call->progress->wait_for_end();
    for (std::size_t i = 0; i < received.size(); ++i)
      received[i].copy_from_bytes_async(stream, staged->received(i));
    staging.end.record(stream);
    staging.is_taken = false;
    stream.flush();
  } catch (const std::exception& error) {
    group.abort(error.what());
    call->progress->wait_for_end();
    throw;
  }
}

void submit(GroupState& group, const StreamRef& stream, const AnyArrayView& sent,
            const AnyArrayView& received, OperandFunction function) {
  submit(group, stream, Staged::Views(&sent, 1), Staged::Views(&received, 1), std::move(function));
}

}  // namespace

Communicator::Communicator(std::unique_ptr<GroupState> state) noexcept
    : state_(std::move(state)), exceptions_(std::uncaught_exceptions()) {}
Communicator::Communicator(Communicator&&) noexcept = default;

Communicator::~Communicator() {
  if (state_ && state_->is_forked()) (void)state_.release();  // to the parent
  if (state_ && std::uncaught_exceptions() > exceptions_) state_->abort("an exception ended it");
}

std::uint32_t Communicator::rank() const noexcept {
  return state_->rank();
}
std::uint32_t Communicator::size() const noexcept {
  return state_->size();
}
const std::string& Communicator::name() const noexcept {
  return state_->name();
}

void Communicator::all_reduce(const StreamRef& stream, const AnyArrayView& values, Reduction reduction) const
    try {
  if (reduction > Reduction::maximum)
    throw Error(ErrorCode::invalid, fmt::format("all_reduce: the reduction is {}, which is none of "
                                                "Reduction; pass Reduction::sum, product, minimum or maximum",
                                                static_cast<std::uint32_t>(reduction)));
  const std::uint32_t type = scalar_of(values);
  const std::uint64_t count = values.size() * (values.element().size() / size_of(values.element().scalar));
  submit(
      *state_, stream, values, values,
      [=](const Operands& on, const weir_communicator_table& table, weir_group group, weir_status* status) {
        return table.all_reduce(group, &on.received[0], &on.sent[0], count, type,
                                static_cast<std::uint32_t>(reduction), on.stream, status);
      });
} catch (...) {
  detail::rethrow_as_error();
}

void Communicator::broadcast(const StreamRef& stream, const AnyArrayView& values, std::uint32_t root) const
    try {
  submit(*state_, stream, values, values,
         [root, size = values.size_bytes()](const Operands& on, const weir_communicator_table& table,
                                            weir_group group, weir_status* status) {
           const weir_result result = table.broadcast(group, &on.sent[0], size, root, on.stream, status);
           if (result == WEIR_OK && size != 0 && on.sent[0].address != on.received[0].address)  // staged
             std::memcpy(on.received[0].address, on.sent[0].address, size);
           return result;
         });
} catch (...) {
  detail::rethrow_as_error();
}

void Communicator::all_gather(const StreamRef& stream, const AnyArrayView& all,
                              const AnyArrayView& mine) const try {
  if (all.size_bytes() != mine.size_bytes() * size())
    throw Error(ErrorCode::invalid, fmt::format("all_gather over {} ranks: `all` needs {} bytes; it has {}",
                                                size(), mine.size_bytes() * size(), all.size_bytes()));
  submit(*state_, stream, mine, all,
         [size = mine.size_bytes()](const Operands& on, const weir_communicator_table& table,
                                    weir_group group, weir_status* status) {
           return table.all_gather(group, &on.received[0], &on.sent[0], size, on.stream, status);
         });
} catch (...) {
  detail::rethrow_as_error();
}

void Communicator::exchange(const StreamRef& stream, const AnyArrayView& sent, std::uint32_t to,
                            const AnyArrayView& received, std::uint32_t from) const {
  const Message send{sent, to}, receive{received, from};
  exchange(stream, {&send, 1}, {&receive, 1});
}

namespace {

std::vector<AnyArrayView> arrays_of(std::span<const Message> messages) {
  std::vector<AnyArrayView> arrays;
  for (const Message& message : messages) arrays.push_back(message.array);
  return arrays;
}

/// The transfers of `messages`, without their memory.
std::vector<weir_transfer> transfers_of(std::span<const Message> messages, bool receive) {
  std::vector<weir_transfer> transfers;
  for (const Message& message : messages)
    transfers.push_back({message.rank, receive ? 1u : 0u, message.array.size_bytes(), {}});
  return transfers;
}

/// Throws if a received array shares memory with another array of the call.
void expect_apart(std::span<const Message> sends, std::span<const Message> receives) {
  struct Range {
    const DeviceState* device;
    std::uint64_t begin, end;
    const Message* message;
    bool received;
  };
  std::vector<Range> ranges;
  for (const bool received : {false, true})
    for (const Message& message : received ? receives : sends) {
      const MemoryBlock& block = live(message.array);
      const std::uint64_t begin = block.address + message.array.offset();
      const std::uint64_t size = message.array.size_bytes();
      if (size) ranges.push_back({&block.device, begin, begin + size, &message, received});
    }
  std::ranges::sort(ranges, {}, [](const Range& r) { return std::tuple(r.device, r.begin); });
  const Range *furthest = nullptr, *furthest_received = nullptr;
  for (const Range& range : ranges) {
    const Range* const before = range.received ? furthest : furthest_received;
    if (before && before->device == range.device && range.begin < before->end)
      throw Error(
          ErrorCode::invalid,
          fmt::format("exchange: the array {} rank {} is expected to share no memory with the array {} "
                      "rank {}, but does; receive into another array",
                      range.received ? "received from" : "sent to", range.message->rank,
                      before->received ? "received from" : "sent to", before->message->rank));
    const auto keep = [&](const Range*& far) {
      if (!far || far->device != range.device || far->end < range.end) far = &range;
    };
    keep(furthest);
    if (range.received) keep(furthest_received);
  }
}

std::uint64_t bytes_of(std::span<const AnyArrayView> arrays) {
  std::uint64_t bytes = 0;
  for (const AnyArrayView& array : arrays) bytes += array.size_bytes();
  return bytes;
}

}  // namespace

void Communicator::exchange(const StreamRef& stream, std::span<const Message> sends,
                            std::span<const Message> receives) const try {
  const std::vector<AnyArrayView> sent = arrays_of(sends), received = arrays_of(receives);
  expect_apart(sends, receives);
  if (state_->peers) {
    state_->check();
    stream.device().state()->streams.note_ranks();
    state_->peers->exchange(stream, sends, receives);
  } else {
    submit(
        *state_, stream, sent, received,
        [out = transfers_of(sends, false), in = transfers_of(receives, true)](
            const Operands& on, const weir_communicator_table& table, weir_group group, weir_status* status) {
          std::vector<weir_transfer> transfers = out;
          transfers.insert(transfers.end(), in.begin(), in.end());
          for (std::size_t i = 0; i < transfers.size(); ++i)
            transfers[i].memory = i < out.size() ? on.sent[i] : on.received[i - out.size()];
          return table.exchange(group, static_cast<std::uint32_t>(transfers.size()), transfers.data(),
                                on.stream, status);
        });
  }
  state_->messages.sent += sent.size();
  state_->messages.sent_bytes += bytes_of(sent);
  state_->messages.received += received.size();
  state_->messages.received_bytes += bytes_of(received);
} catch (...) {
  detail::rethrow_as_error();
}

MessageStatistics Communicator::message_statistics() const noexcept {
  return state_->messages;
}

void Communicator::barrier() const try {
  state_->check();
  if (state_->peers) state_->peers->finish();
  const auto call = std::make_shared<GroupState::Call>();
  call->function = [](const weir_communicator_table& table, weir_group group, weir_status* status) {
    return table.barrier(group, nullptr, status);
  };
  state_->queue(call);
  call->progress->wait_for_end();
  state_->check_calls();  // another rank may have ended the group since
} catch (...) {
  detail::rethrow_as_error();
}

void Communicator::synchronize(const StreamRef& stream) const try {
  try {
    if (state_->peers)
      state_->peers->synchronize(stream);
    else
      stream.synchronize();
  } catch (const std::exception& error) {
    state_->abort(error.what());  // the stream may never reach calls that other ranks wait for
    throw;
  }
  state_->check();
} catch (...) {
  detail::rethrow_as_error();
}

void Communicator::abort(const std::string& reason) const noexcept {
  state_->abort(reason);
}

}  // namespace weir
