// SPDX-License-Identifier: Apache-2.0
#include "interpreter/machine.hpp"

#include <array>
#include <bit>
#include <cstring>
#include <utility>
#include <weir/error.hpp>
#include <weir/sdk/floating_point.hpp>

#include "ir/evaluate.hpp"
#include "ir/groups.hpp"

namespace weir::interpreter {

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
    case ir::ReduceKind::bit_or:
    case ir::ReduceKind::bit_xor:
    case ir::ReduceKind::any:
      return 0;
    case ir::ReduceKind::bit_and:
      return cut(type, ~std::uint64_t{0});
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
std::array<std::uint32_t, 4> philox_words(std::array<std::uint32_t, 6> words) {
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

Machine::Machine(const ir::Kernel& kernel, Arguments arguments, MathLibrary library, Meaning meaning)
    : kernel_(kernel),
      arguments_(std::move(arguments)),
      library_(std::move(library)),
      strict_(meaning == Meaning::strict) {}

void Machine::start(std::uint32_t values, std::uint32_t locals, std::uint64_t steps) {
  values_.assign(values, {});
  locals_.assign(locals, {});
  per_thread_.assign(locals, 0);
  is_shared_.assign(locals, false);
  split_.clear();
  group_ = nullptr;
  steps_ = steps;
  iteration_ = {};
}

void Machine::run_kernel(std::uint64_t steps) {
  const sdk::DefaultFloatingPoint floating_point;  // as on a device
  start(kernel_.value_count, kernel_.local_count, steps);
  block(kernel_.body);
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
    if (observer_) observer_->outside(*this, s);
    if (!kernel_.options.check_bounds) throw CannotRun{};
    return fail();
  }
  switch (s.op) {
    case Op::constant:
      set(s, s.immediate);
      break;
    case Op::argument:
      set(s, arguments_.scalars[s.index][s.component]);
      break;
    case Op::extent:
      set(s, static_cast<std::uint64_t>(arguments_.arrays[s.index].extents[s.component]));
      break;
    case Op::launch_key:
      set(s, arguments_.launch_key);
      break;
    case Op::philox:
      set(s, philox(s));
      break;
    case Op::load:
      set(s, load(s));
      break;
    case Op::store:
      store(s, bits(s.operands.back()));
      break;
    case Op::atomic:
      set(s, atomic(s));
      break;
    case Op::local:
    case Op::shared:
      is_shared_[s.index] = s.op == Op::shared;
      per_thread_[s.index] = s.component != 0 ? s.immediate : 0;
      locals_[s.index].assign(s.immediate * (s.component != 0 ? ir::group_threads(*group_) : 1), 0);
      break;
    case Op::shared_atomic:
      set(s, shared_atomic(s));
      break;
    case Op::shuffle: {
      const std::uint64_t width = s.immediate, lane = bits(s.operands[0]) & (width - 1);
      set(s, locals_[s.index][per_thread_[s.index] != 0 ? (thread_ & ~(width - 1)) | lane : 0]);
      break;
    }
    case Op::ballot: {
      const std::uint64_t first = thread_ & ~(s.immediate - 1);
      std::uint64_t bits = 0;
      for (std::uint64_t lane = 0; lane < s.immediate; ++lane)
        bits |= locals_[s.index][per_thread_[s.index] != 0 ? first + lane : 0] << lane;
      set(s, bits);
      break;
    }
    case Op::barrier:
      if (s.immediate == 0)
        ++iteration_.interval;
      else
        iteration_.waited[std::size_t(std::countr_zero(s.immediate))] = ++iteration_.time;
      break;
    case Op::threads:
      return threads(s);
    case Op::get: {
      const std::size_t index = local_index(s, !s.operands.empty());
      observe_shared(s, Access::read, index);
      set(s, locals_[s.index][index]);
      break;
    }
    case Op::set: {
      const std::size_t index = local_index(s, s.operands.size() > 1);
      observe_shared(s, Access::write, index);
      locals_[s.index][index] = bits(s.operands.back());
      break;
    }
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
      if (observer_) observer_->false_assert(*this, s);
      if (strict_) return fail();
      return iteration_.loop ? Flow::failed : Flow::next;
    case Op::print:
      if (observer_) observer_->printed(*this, s);
      break;
    case Op::parallel:
      if (ir::is_group_loop(s)) {
        run_groups(s);
        break;
      }
      iterate(s, [](Flow) {});
      break;
    case Op::reduce:
      set(s, result_of(s));
      break;
    case Op::algorithm:
      throw Error(ErrorCode::unsupported,
                  "the interpreter runs kernels without algorithms; run each part of split_at_algorithms()");
    case Op::region:
      for (const ir::Block& body : s.bodies) block(body);
      break;
    case Op::repeat:
      return repeat(s);
    case Op::phase:
      phase(s);
      break;
    case Op::repetition:
      set(s, static_cast<std::uint64_t>(repetitions_.at(s.index)));
      break;
    case Op::failed:
      set(s, failed_);
      break;
    default:
      set(s, operation(s));
      break;
  }
  return Flow::next;
}

std::uint64_t Machine::operation(const Statement& s) {
  std::array<ScalarType, 3> all_types{};
  std::array<std::uint64_t, 3> all_operands{};
  const std::size_t count = s.operands.size();
  for (std::size_t i = 0; i < count; ++i) {
    all_types[i] = type(s.operands[i]);
    all_operands[i] = bits(s.operands[i]);
  }
  const std::span<const ScalarType> types = std::span(all_types).first(count);
  const std::span<const std::uint64_t> operands = std::span(all_operands).first(count);
  std::uint64_t result;
  if (s.op != Op::math || ir::is_host_evaluable(s))
    result = ir::evaluate_operation(s, types, operands);
  else if (strict_)
    result = library_(s, types, operands);
  else
    result = cut(s.type, mixed(s.index, mixed(all_operands[0], all_operands[1])));
  if (observer_) observer_->computed(*this, s, types, operands, result);
  return result;
}

std::uint64_t Machine::philox(const Statement& s) const {
  if (strict_) {
    std::array<std::uint32_t, 6> words;
    for (std::size_t i = 0; i < 6; ++i) words[i] = static_cast<std::uint32_t>(bits(s.operands[i]));
    return philox_words(words)[s.component];
  }
  std::uint64_t word = s.component;
  for (const ir::ValueId id : s.operands) word = mixed(word, bits(id));
  return cut(s.type, word);
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

Machine::Flow Machine::repeat(const Statement& s) {
  const std::int64_t count = number(s.operands[0]);
  for (std::int64_t i = 0; i < count; ++i) {
    if (steps_-- == 0) throw CannotRun{};
    values_[s.bodies[0].arguments[0]] = {static_cast<std::uint64_t>(i), ScalarType::i64};
    if (has_condition(s)) {
      const Flow condition = block(s.bodies[0]);
      if (condition != Flow::yielded) return condition;
      if (yielded_.bits == 0 || failed_) break;
    }
    const Flow flow = block(s.bodies.back());
    if (flow != Flow::next) return flow;
  }
  return Flow::next;
}

// Statements after a failed one do not run; later phases do.
void Machine::phase(const Statement& s) {
  const ir::Block& body = s.bodies[0];
  if (body.statements.empty() || body.statements.back().op != Op::reduce) {
    block(body);
    return;
  }
  const Statement& loop = body.statements.back();
  for (const Statement& before : body.statements)
    if (&before != &loop) statement(before);
  const std::uint64_t result = result_of(loop);
  std::memcpy(scratch_->data() + (s.immediate & 0xffffffff), &result, size_of(loop.type));
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
  iteration_.loop = &s;
  ++iteration_.loops;
  iteration_.number = 0;
  iteration_.indices.resize(rank);
  for (;;) {
    if (steps_-- == 0) throw CannotRun{};
    for (std::size_t d = 0; d < rank; ++d) {
      const std::int64_t index = backward_ && s.op == Op::parallel ? high[d] - 1 - (at[d] - low[d]) : at[d];
      values_[body.arguments[d]] = {static_cast<std::uint64_t>(index), ScalarType::i64};
      iteration_.indices[d] = index;
    }
    after(block(body));
    ++iteration_.number;
    std::size_t d = rank;
    while (d > 0 && ++at[d - 1] == high[d - 1]) {
      at[d - 1] = low[d - 1];
      --d;
    }
    if (d == 0) break;
  }
  iteration_.loop = nullptr;
}

std::uint64_t Machine::result_of(const Statement& reduction) {
  return strict_ ? reduce_in_order(reduction) : reduce(reduction);
}

std::uint64_t Machine::reduce(const Statement& s) {
  const Op op = ir::combining(static_cast<ir::ReduceKind>(s.index));
  std::uint64_t result = 0;
  bool first = true;
  iterate(s, [&](Flow flow) {
    if (flow != Flow::yielded) return;
    result = first ? yielded_.bits : combine(s, op, result, yielded_.bits);
    first = false;
  });
  return result;
}

// In the order defined by task.hpp: within chunks, in 64 lanes each; then across the chunks, in 1024 lanes.
std::uint64_t Machine::reduce_in_order(const Statement& s) {
  const Op op = ir::combining(static_cast<ir::ReduceKind>(s.index));
  const std::uint64_t identity = reduce_identity(static_cast<ir::ReduceKind>(s.index), s.type);
  using Lanes = std::vector<std::uint64_t>;
  const auto fold = [&](Lanes lanes) {
    for (std::size_t width = lanes.size() / 2; width > 0; width /= 2) {
      for (std::size_t l = 0; l < width; ++l) lanes[l] = combine(s, op, lanes[l], lanes[l + width]);
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
    if (flow == Flow::yielded) lane = combine(s, op, lane, yielded_.bits);
    ++at;
  });
  Lanes last(ir::reduce_final_lanes, identity);
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    std::uint64_t& lane = last[i % ir::reduce_final_lanes];
    lane = combine(s, op, lane, fold(chunks[i]));
  }
  return fold(last);
}

Machine::Flow Machine::fail() {
  failed_ = true;
  if (!iteration_.loop) failed_between_loops_ = true;
  return Flow::failed;
}

}  // namespace weir::interpreter
