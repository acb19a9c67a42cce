// SPDX-License-Identifier: Apache-2.0
#include "interpreter.hpp"

#include <array>
#include <cstring>
#include <utility>

#include "ir/evaluate.hpp"

namespace weir::test {

using ir::Op;
using ir::Statement;

namespace {

std::uint64_t cut(ScalarType type, std::uint64_t bits) {
  if (type == ScalarType::boolean) return bits & 1;
  const std::size_t width = 8 * size_of(type);
  return width == 64 ? bits : bits & ((std::uint64_t{1} << width) - 1);
}

// Replaces functions whose result bits depend on generated code.
std::uint64_t mixed(std::uint64_t seed, std::uint64_t bits) {
  std::uint64_t z = (seed ^ bits) * 0x9e3779b97f4a7c15u;
  return z ^ (z >> 29);
}

std::uint64_t reduce_identity(ir::ReduceKind kind, ScalarType type) {
  const bool smallest = kind == ir::ReduceKind::max;
  switch (kind) {
    case ir::ReduceKind::sum:
    case ir::ReduceKind::any:
      return 0;
    case ir::ReduceKind::all:
      return 1;
    default:
      break;
  }
  if (type == ScalarType::f32) return smallest ? 0xff800000u : 0x7f800000u;
  if (type == ScalarType::f64) return smallest ? 0xfff0000000000000u : 0x7ff0000000000000u;
  const std::uint64_t top = std::uint64_t{1} << (8 * size_of(type) - 1);
  if (is_signed(type)) return smallest ? top : top - 1;
  return smallest ? 0 : 2 * (top - 1) + 1;
}

// Philox 4x32-10: key, then counter.
std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 6> words) {
  std::uint32_t k0 = words[0], k1 = words[1];
  std::array<std::uint32_t, 4> c{words[2], words[3], words[4], words[5]};
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53u} * c[0], b = std::uint64_t{0xCD9E8D57u} * c[2];
    c = {static_cast<std::uint32_t>(b >> 32) ^ c[1] ^ k0, static_cast<std::uint32_t>(b),
         static_cast<std::uint32_t>(a >> 32) ^ c[3] ^ k1, static_cast<std::uint32_t>(a)};
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return c;
}

}  // namespace

Machine::Machine(const ir::Kernel& kernel, Choices& choices) : kernel_(kernel), launch_key_(choices.bits()) {
  for (const ir::Parameter& p : kernel.parameters) {
    Array& array = arrays_.emplace_back();
    auto& scalar = scalars_.emplace_back();
    const auto value = [&] {
      return cut(p.element.scalar, choices.chance(3) ? choices.bits() : choices.below(8));
    };
    std::size_t count = p.element.components();
    for (std::size_t d = 0; d < p.rank; ++d) {
      array.extents.push_back(static_cast<std::int64_t>(1 + choices.below(4)));
      count *= static_cast<std::size_t>(array.extents.back());
    }
    for (std::size_t i = 0; i < count; ++i) {
      (p.kind == ir::Parameter::Kind::array ? array.components : scalar).push_back(value());
    }
  }
}

Machine::Machine(const ir::Kernel& kernel, LaunchData data, MathLibrary library)
    : kernel_(kernel), launch_key_(data.launch_key), library_(std::move(library)), strict_(true) {
  for (std::size_t p = 0; p < kernel.parameters.size(); ++p) {
    const bool array = kernel.parameters[p].kind == ir::Parameter::Kind::array;
    arrays_.push_back(
        {std::move(data.extents[p]), array ? data.components[p] : std::vector<std::uint64_t>()});
    scalars_.push_back(array ? std::vector<std::uint64_t>() : std::move(data.components[p]));
  }
}

void Machine::start(std::uint32_t values, std::uint32_t locals, std::uint64_t steps) {
  values_.assign(values, {});
  locals_.assign(locals, {});
  steps_ = steps;
  in_loop_ = false;
}

void Machine::run_kernel(std::uint64_t steps) {
  start(kernel_.value_count, kernel_.local_count, steps);
  block(kernel_.body);
}

void Machine::run_task(const ir::Task& task, std::vector<std::byte>& scratch, std::uint64_t steps) {
  start(task.value_count, task.local_count, steps);
  scratch_ = &scratch;
  if (task.kind == ir::TaskKind::reduce_partial) {
    // Computes the whole result at once and stores it where the following task would.
    ir::Block body = task.body;
    const Statement loop = body.statements.back();
    body.statements.pop_back();
    block(body);
    const std::uint64_t result = strict_ ? reduce_in_order(loop) : reduce(loop);
    std::memcpy(scratch.data() + task.result_offset, &result, size_of(loop.type));
  } else {
    block(task.body);
  }
}

std::vector<std::uint64_t> Machine::contents() const {
  std::vector<std::uint64_t> all;
  for (const Array& array : arrays_) all.insert(all.end(), array.components.begin(), array.components.end());
  return all;
}

Machine::Flow Machine::block(const ir::Block& block) {
  for (const Statement& s : block.statements) {
    const Flow flow = statement(s);
    if (flow != Flow::next) return flow;
  }
  return Flow::next;
}

Machine::Flow Machine::statement(const Statement& s) {
  if (steps_-- == 0) throw CannotRun{};
  if (strict_ && !inside(s)) {
    if (!kernel_.options.check_bounds) throw CannotRun{};
    return fail();
  }
  switch (s.op) {
    case Op::constant:
      set(s, s.immediate);
      break;
    case Op::argument:
      set(s, scalars_[s.index][s.component]);
      break;
    case Op::extent:
      set(s, static_cast<std::uint64_t>(arrays_[s.index].extents[s.component]));
      break;
    case Op::launch_key:
      set(s, launch_key_);
      break;
    case Op::philox: {
      if (strict_) {
        std::array<std::uint32_t, 6> words;
        for (std::size_t i = 0; i < 6; ++i) words[i] = static_cast<std::uint32_t>(bits(s.operands[i]));
        set(s, philox(words)[s.component]);
        break;
      }
      std::uint64_t word = s.component;
      for (const ir::ValueId id : s.operands) word = mixed(word, bits(id));
      set(s, cut(s.type, word));
      break;
    }
    case Op::load:
      set(s, element(s));
      break;
    case Op::store:
      element(s) = bits(s.operands.back());
      break;
    case Op::atomic:
      set(s, atomic(s));
      break;
    case Op::local:
      locals_[s.index].assign(s.immediate, 0);
      break;
    case Op::get:
      set(s, locals_[s.index][local_index(s, !s.operands.empty())]);
      break;
    case Op::set:
      locals_[s.index][local_index(s, s.operands.size() > 1)] = bits(s.operands.back());
      break;
    case Op::scratch_load: {
      std::uint64_t value = 0;
      std::memcpy(&value, scratch(s, !s.operands.empty()), size_of(s.type));
      set(s, value);
      break;
    }
    case Op::scratch_store: {
      const std::uint64_t value = bits(s.operands.back());
      std::memcpy(scratch(s, s.operands.size() > 1), &value, size_of(s.type));
      break;
    }
    case Op::if_:
      return block(s.bodies[bits(s.operands[0]) != 0 ? 0 : 1]);
    case Op::while_:
      return while_loop(s);
    case Op::for_:
      return for_loop(s);
    case Op::break_:
      return Flow::leave;
    case Op::continue_:
      return Flow::again;
    case Op::yield:
      yielded_ = values_[s.operands[0]];
      return Flow::yielded;
    case Op::assert_:
      if (bits(s.operands[0]) != 0) return Flow::next;
      if (strict_) return fail();
      return in_loop_ ? Flow::failed : Flow::next;
    case Op::parallel:
      iterate(s, [](Flow) {});
      break;
    case Op::reduce:
      set(s, strict_ ? reduce_in_order(s) : reduce(s));
      break;
    case Op::region:
      for (const ir::Block& body : s.bodies) block(body);
      break;
    default: {
      std::array<ScalarType, 3> types{};
      std::array<std::uint64_t, 3> operands{};
      for (std::size_t i = 0; i < s.operands.size(); ++i) {
        types[i] = values_[s.operands[i]].type;
        operands[i] = bits(s.operands[i]);
      }
      const std::size_t count = s.operands.size();
      if (s.op == Op::math && !ir::is_host_evaluable(s) && strict_) {
        set(s, library_(s, std::span(types).first(count), std::span(operands).first(count)));
      } else if (s.op == Op::math && !ir::is_host_evaluable(s)) {
        set(s, cut(s.type, mixed(s.index, mixed(operands[0], operands[1]))));
      } else {
        set(s, ir::evaluate_operation(s, std::span(types).first(count), std::span(operands).first(count)));
      }
      break;
    }
  }
  return Flow::next;
}

Machine::Flow Machine::for_loop(const Statement& s) {
  const std::int64_t high = number(s.operands[1]), step = number(s.operands[2]);
  std::int64_t i = number(s.operands[0]);
  if (step <= 0) return Flow::next;
  while (i < high) {
    if (steps_-- == 0) throw CannotRun{};
    values_[s.bodies[0].arguments[0]] = {static_cast<std::uint64_t>(i), ScalarType::i64};
    const Flow flow = block(s.bodies[0]);
    if (flow == Flow::leave) break;
    if (flow == Flow::yielded || flow == Flow::failed) return flow;
    if (static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(i) <= static_cast<std::uint64_t>(step))
      break;
    i += step;
  }
  return Flow::next;
}

Machine::Flow Machine::while_loop(const Statement& s) {
  for (;;) {
    if (steps_-- == 0) throw CannotRun{};
    const Flow condition = block(s.bodies[0]);
    if (condition != Flow::yielded) return condition;
    if (yielded_.bits == 0) return Flow::next;
    const Flow flow = block(s.bodies[1]);
    if (flow == Flow::leave) return Flow::next;
    if (flow == Flow::yielded || flow == Flow::failed) return flow;
  }
}

void Machine::iterate(const Statement& s, const std::function<void(Flow)>& after) {
  const ir::Block& body = s.bodies[0];
  const std::size_t rank = body.arguments.size();
  std::vector<std::int64_t> at(rank), low(rank), high(rank);
  for (std::size_t d = 0; d < rank; ++d) {
    at[d] = low[d] = number(s.operands[2 * d]);
    high[d] = number(s.operands[2 * d + 1]);
  }
  for (std::size_t d = 0; d < rank; ++d) {
    if (low[d] >= high[d]) return;
  }
  in_loop_ = true;
  for (;;) {
    if (steps_-- == 0) throw CannotRun{};
    for (std::size_t d = 0; d < rank; ++d) {
      const std::int64_t index = backward_ && s.op == Op::parallel ? high[d] - 1 - (at[d] - low[d]) : at[d];
      values_[body.arguments[d]] = {static_cast<std::uint64_t>(index), ScalarType::i64};
    }
    after(block(body));
    std::size_t d = rank;
    while (d > 0 && ++at[d - 1] == high[d - 1]) {
      at[d - 1] = low[d - 1];
      --d;
    }
    if (d == 0) break;
  }
  in_loop_ = false;
}

std::uint64_t Machine::reduce(const Statement& s) {
  std::uint64_t result = 0;
  bool first = true;
  iterate(s, [&](Flow flow) {
    if (flow != Flow::yielded) return;
    static constexpr Op ops[] = {Op::add, Op::min, Op::max, Op::bit_or, Op::bit_and};
    result = first ? yielded_.bits : combine(ops[s.index], s.type, result, yielded_.bits);
    first = false;
  });
  return result;
}

// In the order defined by task.hpp: within chunks, in 64 lanes each; then across the chunks, in 1024 lanes.
std::uint64_t Machine::reduce_in_order(const Statement& s) {
  static constexpr Op ops[] = {Op::add, Op::min, Op::max, Op::bit_or, Op::bit_and};
  const Op op = ops[s.index];
  const std::uint64_t identity = reduce_identity(static_cast<ir::ReduceKind>(s.index), s.type);
  using Lanes = std::vector<std::uint64_t>;
  const auto fold = [&](Lanes lanes) {
    for (std::size_t width = lanes.size() / 2; width > 0; width /= 2) {
      for (std::size_t l = 0; l < width; ++l) lanes[l] = combine(op, s.type, lanes[l], lanes[l + width]);
    }
    return lanes[0];
  };
  std::uint64_t n = 1;
  for (std::size_t d = 0; d + 1 < s.operands.size(); d += 2) {
    const std::int64_t low = number(s.operands[d]), high = number(s.operands[d + 1]);
    n *= high > low ? static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low) : 0;
  }
  const std::uint64_t chunk = ir::reduce_chunk(n);
  std::vector<Lanes> chunks((n + chunk - 1) / chunk, Lanes(ir::reduce_lanes, identity));
  std::uint64_t at = 0;
  iterate(s, [&](Flow flow) {
    std::uint64_t& lane = chunks[at / chunk][at % chunk % ir::reduce_lanes];
    if (flow == Flow::yielded) lane = combine(op, s.type, lane, yielded_.bits);
    ++at;
  });
  Lanes last(ir::reduce_final_lanes, identity);
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    std::uint64_t& lane = last[i % ir::reduce_final_lanes];
    lane = combine(op, s.type, lane, fold(chunks[i]));
  }
  return fold(last);
}

Machine::Flow Machine::fail() {
  failed_ = true;
  if (!in_loop_) failed_between_loops_ = true;
  return Flow::failed;
}

bool Machine::has_element(const Statement& s) const {
  const Array& array = arrays_[s.index];
  for (std::size_t d = 0; d < array.extents.size(); ++d) {
    if (number(s.operands[d]) < 0 || number(s.operands[d]) >= array.extents[d]) return false;
  }
  return true;
}

// False if the access has no element.
bool Machine::inside(const Statement& s) const {
  switch (s.op) {
    case Op::load:
    case Op::store:
    case Op::atomic:
      return has_element(s);
    case Op::get:
      return s.operands.empty() || bits(s.operands[0]) < locals_[s.index].size();
    case Op::set:
      return s.operands.size() < 2 || bits(s.operands[0]) < locals_[s.index].size();
    default:
      return true;
  }
}

std::uint64_t Machine::combine(Op op, ScalarType type, std::uint64_t a, std::uint64_t b) const {
  Statement s{};
  s.op = op;
  s.type = type;
  const ScalarType types[] = {type, type};
  const std::uint64_t operands[] = {a, b};
  return ir::evaluate_operation(s, types, operands);
}

std::uint64_t& Machine::element(const Statement& s) {
  Array& array = arrays_[s.index];
  std::size_t at = 0;
  for (std::size_t d = 0; d < array.extents.size(); ++d) {
    const std::int64_t extent = array.extents[d];
    const std::int64_t wrapped = (number(s.operands[d]) % extent + extent) % extent;
    at = at * static_cast<std::size_t>(extent) + static_cast<std::size_t>(wrapped);
  }
  return array.components[at * kernel_.parameters[s.index].element.components() + s.component];
}

std::uint64_t Machine::atomic(const Statement& s) {
  std::uint64_t& place = element(s);
  const std::uint64_t old = place;
  const std::uint64_t value = bits(s.operands.back());
  switch (static_cast<ir::AtomicKind>(s.immediate)) {
    case ir::AtomicKind::add:
      place = combine(Op::add, s.type, old, value);
      break;
    case ir::AtomicKind::sub:
      place = combine(Op::sub, s.type, old, value);
      break;
    case ir::AtomicKind::min:
      place = combine(Op::min, s.type, old, value);
      break;
    case ir::AtomicKind::max:
      place = combine(Op::max, s.type, old, value);
      break;
    case ir::AtomicKind::bit_and:
      place = old & value;
      break;
    case ir::AtomicKind::bit_or:
      place = old | value;
      break;
    case ir::AtomicKind::bit_xor:
      place = old ^ value;
      break;
    case ir::AtomicKind::exchange:
      place = value;
      break;
    case ir::AtomicKind::compare_exchange:
      if (old == bits(s.operands[s.operands.size() - 2])) place = value;
      break;
  }
  return old;
}

std::byte* Machine::scratch(const Statement& s, bool indexed) {
  std::size_t at = s.immediate;
  if (indexed) at += static_cast<std::size_t>(bits(s.operands[0])) * size_of(s.type);
  if (at + size_of(s.type) > scratch_->size()) throw CannotRun{};
  return scratch_->data() + at;
}

std::size_t Machine::local_index(const Statement& s, bool indexed) const {
  const std::uint64_t index = indexed ? bits(s.operands[0]) : 0;
  if (index >= locals_[s.index].size()) throw CannotRun{};
  return static_cast<std::size_t>(index);
}

}  // namespace weir::test
