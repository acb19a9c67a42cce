// SPDX-License-Identifier: Apache-2.0
// Statements that make code generation choose a form for the enclosing parallel loop.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "aimed_groups.hpp"

namespace weir::test {

class AimedLoops : protected AimedGroups {
 protected:
  enum class InnerLoop : std::uint8_t { lane_loop, shared_loop, staged_loop };

  explicit AimedLoops(Choices& choices) : AimedGroups(choices) {}

  /// Elements that are 0 before a loop whose iterations add to them: sums_.
  void clear_sums(Block& out);
  /// Adds or subtracts an integer below 64, so that no order of the iterations rounds.
  void add_to_sum(Block& out, std::uint32_t p);
  /// Adjacent elements with the given number of bytes, which GPUs access in packets.
  void neighbours(Block& out, std::size_t bytes);
  /// Elements of two rows, the second of which is added to a variable; of 8 bytes, or also of 4.
  void rows(Block& out, bool packets, bool four_bytes_too);
  /// Adds a loop with that many indices, whose statements `body` makes.
  template <class F>
  void over_indices(Block& out, Statement loop, std::size_t indices, F body) {
    const Scope scope = enter();
    Block block;
    loop_ = {};
    for (std::size_t d = 0; d < indices; ++d) {
      index(block);
      loop_.indices.push_back(block.arguments.back());
    }
    body(block);
    loop.bodies.push_back(std::move(block));
    leave(scope);
    loop_ = {};
    out.statements.push_back(std::move(loop));
  }
  /// A loop so short that LLVM vectorises it, in which some iterations divide what no iteration changes.
  void divided_loop();
  /// Short rows whose iterations store to their own elements several times. LLVM unrolls them, and vectorises
  /// the loop of rows.
  void rewritten_rows();
  /// A sum of two arrays, which LLVM vectorises.
  void wide_add(Block& out);
  /// A sequential loop that LLVM vectorises.
  void wide_sum(Block& out);
  /// A sequential loop of that form, and the inserted statement in it or beside it.
  void around_loop(Block& out, Kind inserted, InnerLoop kind);

  std::vector<std::uint32_t> sums_;  ///< arrays whose first element the loop adds to

 private:
  /// Stores to the iteration's own element of each of the arrays, some of them under conditions, and loads in
  /// between. All have elements of the type and one dimension.
  void rewrite(Block& out, ScalarType type, const std::vector<std::uint32_t>& arrays, ValueId own);
  template <class F>
  void sequential(Block& out, std::int64_t rounds, bool constant, F f, ScalarType type);
  void add_to(Block& body, std::uint32_t sum, ScalarType type, ValueId value);
};

}  // namespace weir::test
