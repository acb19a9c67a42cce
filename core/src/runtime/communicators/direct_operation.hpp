// SPDX-License-Identifier: Apache-2.0
// Operations on device memory, which the communicator submits to the stream itself.
#pragma once

#include <functional>
#include <span>
#include <vector>
#include <weir/array.hpp>

#include "runtime/communicators/group_state.hpp"

namespace weir::detail {

/// The memory of a call, in the order of its arrays: on the host without a stream, else on the device.
struct Operands {
  std::vector<weir_memory> sent, received;
  const weir_communicator_stream* stream;
};
using OperandFunction =
    std::function<weir_result(const Operands&, const weir_communicator_table&, weir_group, weir_status*)>;

/// Submits the call in the order of `stream`, whose device the group takes. Returns false if the communicator
/// does not support the operation, on all ranks alike. Throws Error with the failure of the group.
bool submit_directly(GroupState& group, const StreamRef& stream, std::span<const AnyArrayView> sent,
                     std::span<const AnyArrayView> received, const OperandFunction& function);

}  // namespace weir::detail
