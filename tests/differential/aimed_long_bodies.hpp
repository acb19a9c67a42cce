// SPDX-License-Identifier: Apache-2.0
// Loop bodies of so many statements that GPUs run them in small blocks.
#pragma once

#include <vector>

#include "aimed_loops.hpp"

namespace weir::test {

class AimedLongBodies : protected AimedLoops {
 protected:
  explicit AimedLongBodies(Choices& choices) : AimedLoops(choices) {}

  /// Fills a body with statements of each of the kinds. Between them, loads and stores access the iteration's
  /// own elements of several arrays, so that a load that comes too early returns another value.
  void long_body(Block& out, std::vector<Kind> kinds);

 private:
  ValueId load_own(Block& out, ScalarType type);
  void store_own(Block& out, ScalarType type, ValueId value);
  void update_own(Block& out, ScalarType type);
  void add_to_digest(Block& out);
  void branch_on_own(Block& out);
  void loop_over_own(Block& out);
  void end_some(Block& out);
  void part(Block& out);
};

}  // namespace weir::test
