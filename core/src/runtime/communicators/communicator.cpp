// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <vector>
#include <weir/communicator.hpp>

#include "runtime/communicators/direct_operation.hpp"
#include "runtime/communicators/group_state.hpp"
#include "runtime/memory/array_use.hpp"

namespace weir {
namespace {

using detail::GroupState;
using detail::OperandFunction;
using detail::Operands;

using Views = std::span<const AnyArrayView>;

/// Pinned memory for several arrays, one after the other.
class Staging {
 public:
  Staging(const Device& device, Views views) {
    std::size_t bytes = 0;
    for (const AnyArrayView& view : views) {
      detail::live(view);
      parts_.push_back({bytes, view.size_bytes()});
      bytes += (view.size_bytes() + alignment - 1) / alignment * alignment;
    }
    memory_ = detail::PinnedMemory(device, bytes);
  }
  std::span<std::byte> bytes(std::size_t part) const noexcept {
    return {static_cast<std::byte*>(memory_.data()) + parts_[part].offset, parts_[part].bytes};
  }
  std::vector<weir_memory> memories() const {
    std::vector<weir_memory> all;
    for (std::size_t part = 0; part < parts_.size(); ++part)
      all.push_back({nullptr, nullptr, 0, bytes(part).data()});
    return all;
  }

 private:
  static constexpr std::size_t alignment = 64;  // of a cache line: no two arrays share one
  struct Part {
    std::size_t offset, bytes;
  };
  std::vector<Part> parts_;
  detail::PinnedMemory memory_;
};

/// The host memory of a call. Lives until the call has ended and its results are copied.
struct Staged {
  Staging sent, received;
};

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
      throw Error(ErrorCode::unsupported,
                  "all_reduce needs elements of integers or floats; the array has others");
  }
}

/// Makes the call on device memory if the communicator takes it. Otherwise copies `sent` to the host, makes
/// the call there and copies `received` back. Both in the order of `stream`.
void submit(GroupState& group, const StreamRef& stream, Views sent, Views received,
            OperandFunction function) {
  group.check();
  const Device device = stream.device();
  if (group.takes_memory_of(device) && detail::submit_directly(group, stream, sent, received, function))
    return;
  const auto staged = std::make_shared<const Staged>(Staging(device, sent), Staging(device, received));
  const auto call = std::make_shared<GroupState::Call>();
  call->function = [staged, function = std::move(function)](const weir_communicator_table& table,
                                                            weir_group handle, weir_status* status) {
    return function({staged->sent.memories(), staged->received.memories(), nullptr}, table, handle, status);
  };
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i].copy_to_bytes_async(stream, staged->sent.bytes(i));
  call->begin = device.create_event();
  call->begin.record(stream);
  const bool callbacks = group.may_wait_in_callback(device);
  const auto ended = group.queue(call);
  // A group whose submission failed half way would wait for ever on this rank.
  try {
    if (callbacks)
      stream.call_host([ended] { ended->wait(); });
    else
      ended->wait();
    for (std::size_t i = 0; i < received.size(); ++i)
      received[i].copy_from_bytes_async(stream, staged->received.bytes(i));
    stream.flush();
  } catch (const std::exception& error) {
    group.abort(error.what());
    ended->wait();
    throw;
  }
}

void submit(GroupState& group, const StreamRef& stream, const AnyArrayView& sent,
            const AnyArrayView& received, OperandFunction function) {
  submit(group, stream, Views(&sent, 1), Views(&received, 1), std::move(function));
}

}  // namespace

Communicator::Communicator(std::unique_ptr<GroupState> state) noexcept
    : state_(std::move(state)), exceptions_(std::uncaught_exceptions()) {}
Communicator::Communicator(Communicator&&) noexcept = default;

Communicator::~Communicator() {
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
    throw Error(ErrorCode::invalid, fmt::format("all_reduce: the reduction is {}, which is none of Reduction",
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

std::uint64_t bytes_of(std::span<const AnyArrayView> arrays) {
  std::uint64_t bytes = 0;
  for (const AnyArrayView& array : arrays) bytes += array.size_bytes();
  return bytes;
}

}  // namespace

void Communicator::exchange(const StreamRef& stream, std::span<const Message> sends,
                            std::span<const Message> receives) const try {
  const std::vector<AnyArrayView> sent = arrays_of(sends), received = arrays_of(receives);
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
  const auto call = std::make_shared<GroupState::Call>();
  call->function = [](const weir_communicator_table& table, weir_group group, weir_status* status) {
    return table.barrier(group, nullptr, status);
  };
  state_->queue(call)->wait();
  state_->check();
} catch (...) {
  detail::rethrow_as_error();
}

void Communicator::synchronize(const StreamRef& stream) const {
  stream.synchronize();
  state_->check();
}

void Communicator::abort(const std::string& reason) const noexcept {
  state_->abort(reason);
}

}  // namespace weir
