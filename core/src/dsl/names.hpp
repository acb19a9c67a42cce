// SPDX-License-Identifier: Apache-2.0
// Lookup by name: operations and functions by their IR names, kernels by the number of their trace.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <weir/dsl/trace.hpp>

#include "ir/ir.hpp"

namespace weir::detail {

/// The operation, function or kind with the IR name `word`. The header templates pass valid names only;
/// throws std::logic_error for others.
ir::Op op_named(std::string_view word);
std::uint32_t math_named(std::string_view word);
ir::AtomicKind atomic_named(std::string_view word);
ir::ReduceKind reduce_named(std::string_view word);
ir::AlgorithmKind algorithm_named(std::string_view word);

/// Returns the number of the next trace, from 1, and stores its kernel's name for messages. Thread-safe.
std::uint32_t remember_kernel(std::string_view name, const Where& where);
/// Returns "'step' (main.cpp:12)" for a recent trace.
std::string kernel_of_trace(std::uint32_t trace);

}  // namespace weir::detail
