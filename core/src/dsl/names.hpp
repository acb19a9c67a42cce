// SPDX-License-Identifier: Apache-2.0
// What names stand for: operations and functions by the IR's words, kernels by the number of their trace.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <weir/dsl/trace.hpp>

#include "ir/ir.hpp"

namespace weir::detail {

/// The operation, function or kind that the IR calls `word`. The header templates use known words only;
/// throws std::logic_error for others.
ir::Op op_named(std::string_view word);
std::uint32_t math_named(std::string_view word);
ir::AtomicKind atomic_named(std::string_view word);
ir::ReduceKind reduce_named(std::string_view word);

/// Gives the next trace its number, from 1, and keeps its kernel's name for messages. Thread-safe.
std::uint32_t remember_kernel(std::string_view name, const Where& where);
/// "'step' (main.cpp:12)" of a recent trace.
std::string kernel_of_trace(std::uint32_t trace);

}  // namespace weir::detail
