// SPDX-License-Identifier: Apache-2.0
#include "runtime/communicators/direct_operation.hpp"

#include "runtime/errors/stream_errors.hpp"
#include "runtime/memory/array_use.hpp"
#include "runtime/streams/submission.hpp"

namespace weir::detail {
namespace {

weir_memory memory_on(const AnyArrayView& view, StreamState& stream, const char* driver) {
  const MemoryBlock& block = use_on(view, stream, [] { return std::string("the array"); });
  return {driver, block.allocation, view.offset(), reinterpret_cast<void*>(block.address + view.offset())};
}

}  // namespace

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

}  // namespace weir::detail
