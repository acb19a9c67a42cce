// SPDX-License-Identifier: Apache-2.0
// Random numbers: Philox 4x32-10 with the counter layout of sdk/docs/kernel-language.md.
#include "dsl/trace.hpp"

namespace weir::detail {

namespace {

// FNV-1a of the kernel's name gives kernels with equal seed and launch number different sequences.
std::uint32_t name_number(std::string_view name) {
  std::uint32_t hash = 2166136261u;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return hash;
}

}  // namespace

// Row-major number of the iteration in its parallel loop or reduction; 0 in serial code.
Handle Trace::element_number(const Where& where) {
  const std::size_t depth = task_depth();
  if (stack_[depth].kind != BlockKind::parallel && stack_[depth].kind != BlockKind::reduce)
    return constant(ScalarType::i64, 0, where);
  const std::size_t rank = stack_[depth].block.arguments.size();
  Handle number;
  for (std::size_t d = 0; d < rank; ++d) {
    const Handle index{id_, stack_[depth].block.arguments[d]}, low = stack_[depth].low[d],
                                                               high = stack_[depth].high[d];
    const Handle offset = operation(ir::Op::sub, ScalarType::i64, {index, low}, where);
    if (d == 0) {
      number = offset;
      continue;
    }
    const Handle length = operation(ir::Op::sub, ScalarType::i64, {high, low}, where);
    const Handle row = operation(ir::Op::mul, ScalarType::i64, {number, length}, where);
    number = operation(ir::Op::add, ScalarType::i64, {row, offset}, where);
  }
  return number;
}

// Number of earlier executions of this call site in the same iteration. Only loops inside the iteration need
// a counter.
Handle Trace::draw_number(const Where& where) {
  std::size_t loop = task_depth() + 1;
  while (loop < stack_.size() &&
         (stack_[loop].kind == BlockKind::then || stack_[loop].kind == BlockKind::otherwise)) {
    ++loop;
  }
  if (loop >= stack_.size()) return constant(ScalarType::u32, 0, where);

  // The counter is declared outside the outermost loop. The loop's statement is appended after the block's
  // current statements.
  OpenBlock& around = stack_[loop - 1];
  const auto id = static_cast<std::uint32_t>(locals_.size());
  ir::Statement local = statement_of(ir::Op::local, ScalarType::u32);
  local.index = id;
  local.immediate = 1;
  local.location = locate(where);
  around.block.statements.push_back(std::move(local));
  locals_.push_back({around.id, known(where)});

  Place place;
  place.trace = id_;
  place.kind = Place::Kind::local;
  place.id = id;
  const Handle count = get_local(place, 0, ScalarType::u32, where);
  const Handle one = constant(ScalarType::u32, 1, where);
  set_local(place, 0, ScalarType::u32, operation(ir::Op::add, ScalarType::u32, {count, one}, where), where);
  return count;
}

// The number of the repetition, with those of outer repetitions spread over all bits.
Handle Trace::repetition_number(const Where& where) {
  Handle number{id_, ir::no_value};
  for (const OpenBlock& block : stack_) {
    ir::ValueId index = ir::no_value;
    if (block.kind == BlockKind::repeat_condition ||
        (block.kind == BlockKind::repeat_body && block.owner.bodies.empty()))
      index = block.block.arguments[0];
    else if (block.kind == BlockKind::repeat_body)
      index = block.owner.bodies[0].arguments[0];
    else
      continue;
    const Handle inner = operation(ir::Op::cast, ScalarType::u32, {Handle{id_, index}}, where);
    if (number.value == ir::no_value) {
      number = inner;
      continue;
    }
    const Handle factor = constant(ScalarType::u32, 0x9e3779b9u, where);
    const Handle outer = operation(ir::Op::mul, ScalarType::u32, {number, factor}, where);
    number = operation(ir::Op::add, ScalarType::u32, {outer, inner}, where);
  }
  return number;
}

void Trace::random(Handle* words, std::size_t count, const Handle* element, const Where& where) {
  const Handle key = append(statement_of(ir::Op::launch_key, ScalarType::u64), where);
  const Handle half = constant(ScalarType::u64, 32, where);
  const Handle key_low = operation(ir::Op::cast, ScalarType::u32, {key}, where);
  const Handle key_upper = operation(ir::Op::shr, ScalarType::u64, {key, half}, where);
  const Handle key_high = operation(ir::Op::cast, ScalarType::u32, {key_upper}, where);

  const Handle number =
      operation(ir::Op::cast, ScalarType::u64, {element ? *element : element_number(where)}, where);
  const Handle number_low = operation(ir::Op::cast, ScalarType::u32, {number}, where);
  const Handle number_upper = operation(ir::Op::shr, ScalarType::u64, {number, half}, where);
  Handle number_high = operation(ir::Op::cast, ScalarType::u32, {number_upper}, where);
  if (const Handle repetition = repetition_number(where); repetition.value != ir::no_value)
    number_high = operation(ir::Op::add, ScalarType::u32, {number_high, repetition}, where);
  const std::uint32_t site_number = name_number(kernel_.name) + random_sites_++;
  const Handle site = constant(ScalarType::u32, site_number, where);
  const Handle draw = draw_number(where);

  for (std::size_t word = 0; word < count; ++word) {
    ir::Statement philox = statement_of(ir::Op::philox, ScalarType::u32);
    philox.component = static_cast<std::uint8_t>(word);
    for (const Handle& h : {key_low, key_high, number_low, number_high, site, draw}) {
      philox.operands.push_back(use(h, where));
    }
    words[word] = append(std::move(philox), where);
  }
}

}  // namespace weir::detail
