// SPDX-License-Identifier: Apache-2.0
// Exchanges between the threads of sub-groups.
#include <utility>

#include "aimed_groups.hpp"
#include "ir/groups.hpp"

namespace weir::test {

using ir::AtomicKind;

/// A local that threads exchange; some do not set it.
std::uint32_t AimedGroups::exchanged(Block& out, ScalarType type) {
  const ValueId value = fresh(out, type);
  const std::uint32_t id = local(out, type);
  Statement set = make(Op::set, type);
  set.index = id;
  set.operands = {value};
  if (c_.chance(3))
    guarded(out, condition(out), [&](Block& block) { block.statements.push_back(std::move(set)); });
  else
    out.statements.push_back(std::move(set));
  return id;
}

std::uint64_t AimedGroups::width_of_subgroup() {
  std::uint64_t width = 1;
  while (width < ir::max_subgroup && threads_ % (2 * width) == 0 && !c_.chance(5)) width *= 2;
  return width;
}

void AimedGroups::shuffle(Block& out) {
  const ScalarType type = any_type();
  const std::uint32_t id = exchanged(out, type);
  for (std::size_t n = 1 + c_.below(2); n > 0; --n) {
    Statement s = make(Op::shuffle, type);
    s.index = id;
    s.immediate = width_of_subgroup();
    s.operands = {fresh(out, ScalarType::i32)};
    const ValueId got = emit(out, std::move(s));
    keep(out, got, type);
  }
}

void AimedGroups::ballot(Block& out) {
  const std::uint32_t id = exchanged(out, ScalarType::boolean);
  for (std::size_t n = 1 + c_.below(2); n > 0; --n) {
    Statement s = make(Op::ballot, ScalarType::u32);
    s.index = id;
    s.immediate = width_of_subgroup();
    const ValueId got = emit(out, std::move(s));
    keep(out, got, ScalarType::u32);
  }
}

// Threads of one sub-group write, and read what others of it wrote, a few times.
void AimedGroups::within_subgroups(Block& out) {
  const std::uint64_t width = width_of_subgroup();
  const auto wait = [&] {
    Statement s = make(Op::barrier);
    s.immediate = width;
    out.statements.push_back(std::move(s));
  };
  const auto of_neighbour = [&] {
    const ValueId first =
        binary(out, Op::bit_and, ScalarType::i64, thread_, number(out, -static_cast<std::int64_t>(width)));
    return binary(out, Op::add, ScalarType::i64, first, index_below(out, width));
  };
  const AtomicKind kind = any_update();
  const bool updates = commutes(kind, own_.type) && c_.chance(2);
  const Shared& array = updates ? own_ : tile_;
  for (std::size_t n = 1 + c_.below(3); n > 0; --n) {
    if (updates) {
      Statement s = access(Op::shared_atomic, array, {of_neighbour(), fresh(out, array.type)});
      s.immediate = static_cast<std::uint64_t>(kind);
      emit(out, std::move(s));
      values_.pop_back();  // it depends on the order of the threads
    } else {
      Statement set = access(Op::set, array, {thread_, fresh(out, array.type)});
      if (c_.chance(2))
        guarded(out, condition(out), [&](Block& block) { block.statements.push_back(std::move(set)); });
      else
        out.statements.push_back(std::move(set));
    }
    wait();
    const ValueId value = emit(out, access(Op::get, array, {of_neighbour()}));
    keep(out, value, array.type);
    wait();
  }
  barrier(out);
}

}  // namespace weir::test
