// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstring>
#include <exception>
#include <weir/communicator.hpp>

#include "runtime/communicators/group_state.hpp"
#include "runtime/memory/array_use.hpp"

namespace weir {
namespace {

using detail::GroupState;

weir_memory host_memory(const detail::PinnedMemory& memory) {
  return {nullptr, nullptr, 0, memory.data()};
}

std::span<std::byte> bytes_of(const detail::PinnedMemory& memory, const AnyArrayView& view) {
  return {static_cast<std::byte*>(memory.data()), view.size_bytes()};
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
      throw Error(ErrorCode::unsupported,
                  "all_reduce needs elements of integers or floats; the array has others");
  }
}

/// Copies `sent` to the host, makes the call there and copies `received` back, all in the order of `stream`.
void submit(GroupState& group, const StreamRef& stream, const AnyArrayView& sent,
            const AnyArrayView& received,
            std::function<GroupState::Function(const weir_memory& sent, const weir_memory& received)> make) {
  group.check();
  const Device device = stream.device();
  for (const AnyArrayView* view : {&sent, &received}) detail::live(*view);
  const auto call = std::make_shared<GroupState::Call>();
  call->sent = detail::PinnedMemory(device, sent.size_bytes());
  call->received = detail::PinnedMemory(device, received.size_bytes());
  call->function = make(host_memory(call->sent), host_memory(call->received));
  sent.copy_to_bytes_async(stream, bytes_of(call->sent, sent));
  call->begin = device.create_event();
  call->begin.record(stream);
  const bool callbacks = device.info().has(Capability::host_callback);
  const auto ended = group.queue(call);
  // A group whose submission failed half way would wait for ever on this rank.
  try {
    if (callbacks)
      stream.call_host([ended] { ended->wait(); });
    else
      ended->wait();
    received.copy_from_bytes_async(stream, bytes_of(call->received, received));
    stream.flush();
  } catch (const std::exception& error) {
    group.abort(error.what());
    ended->wait();
    throw;
  }
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
  submit(*state_, stream, values, values, [=](const weir_memory& sent, const weir_memory& received) {
    return [=](const weir_communicator_table& table, weir_group group, weir_status* status) {
      return table.all_reduce(group, &received, &sent, count, type, static_cast<std::uint32_t>(reduction),
                              nullptr, status);
    };
  });
} catch (...) {
  detail::rethrow_as_error();
}

void Communicator::broadcast(const StreamRef& stream, const AnyArrayView& values, std::uint32_t root) const
    try {
  submit(*state_, stream, values, values,
         [root, size = values.size_bytes(), is_root = root == rank()](const weir_memory& sent,
                                                                      const weir_memory& received) {
           return [=](const weir_communicator_table& table, weir_group group, weir_status* status) {
             const weir_result result = table.broadcast(group, &sent, size, root, nullptr, status);
             if (result == WEIR_OK && size != 0) std::memcpy(received.address, sent.address, size);
             return result;
           };
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
         [bytes = mine.size_bytes()](const weir_memory& sent, const weir_memory& received) {
           return [=](const weir_communicator_table& table, weir_group group, weir_status* status) {
             return table.all_gather(group, &received, &sent, bytes, nullptr, status);
           };
         });
} catch (...) {
  detail::rethrow_as_error();
}

void Communicator::exchange(const StreamRef& stream, const AnyArrayView& sent, std::uint32_t to,
                            const AnyArrayView& received, std::uint32_t from) const try {
  submit(*state_, stream, sent, received,
         [to, from, out = sent.size_bytes(), in = received.size_bytes()](const weir_memory& sends,
                                                                         const weir_memory& receives) {
           return [=](const weir_communicator_table& table, weir_group group, weir_status* status) {
             const weir_transfer transfers[] = {{to, 0, out, sends}, {from, 1, in, receives}};
             return table.exchange(group, 2, transfers, nullptr, status);
           };
         });
} catch (...) {
  detail::rethrow_as_error();
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
