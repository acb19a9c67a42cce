// SPDX-License-Identifier: Apache-2.0
// Dependences between the loops of a kernel.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "ir/ir.hpp"
#include "passes/linear_form.hpp"

namespace weir::passes {

/// Properties of every launch of the code; see codegen::LaunchAssumptions.
struct FusionAssumptions {
  bool no_alias = false;
  bool index32 = false;
};

/// The accesses of a statement and its bodies to array parameters, in program order.
using Accesses = std::vector<const ir::Statement*>;
Accesses accesses_of(const ir::Statement& loop);

/// The dependence between two loops, of which the first comes before the second.
struct Dependence {
  /// False if no iteration of one loop accesses memory that an iteration of the other writes.
  bool exists = false;
  /// Pairs of loop indices, one of the first loop and one of the second, by their symbols. The two are equal
  /// in any two iterations that depend on each other. If all indices of both are paired in order, the
  /// dependence is within the same iteration. If none is, any iteration of the second may depend on any of
  /// the first.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> equal;
  /// The two accesses that leave the fewest pairs.
  const ir::Statement* first = nullptr;
  const ir::Statement* second = nullptr;
};

/// Compares all accesses of both, which are loops or other statements of the kernel of `forms`.
///  - Loads do not depend on loads, nor accesses to different components of an element on each other.
///  - Two atomics of one kind on integers, except exchanges, may change their order if no statement uses
///    their old values. All other atomics are ordered with every access to their array, at any index. On some
///    devices, an atomic access and a plain one to the same element need the end of a task between them.
///  - Different parameters may be the same memory unless all launches have no alias.
///  - Other accesses meet where their indices are equal. Indices are compared as linear forms modulo 2^64, as
/// wrapping arithmetic computes them. Loaded indices and quotients are symbols that differ between
/// iterations, so they prove nothing. Random numbers and reductions touch no array; the order within a
/// reduction does not depend on its neighbours.
Dependence find_dependence(const LinearForms& forms, const ir::Kernel& kernel, const Accesses& first,
                           const Accesses& second, const FusionAssumptions& known);

/// The dependence in words: "@x is stored at k.cpp:3 and loaded at k.cpp:5".
std::string describe(const ir::Kernel& kernel, const Dependence& dependence);

}  // namespace weir::passes
