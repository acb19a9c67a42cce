// SPDX-License-Identifier: Apache-2.0
#include "interpreter/checks.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>

#include "interpreter/machine.hpp"
#include "ir/groups.hpp"
#include "ir/literals.hpp"
#include "ir/printer.hpp"

namespace weir::interpreter {

using ir::Op;
using ir::Statement;

namespace {

constexpr std::size_t max_definitions = 8;

std::string tuple(std::span<const std::int64_t> numbers) {
  std::string text = "(";
  for (const std::int64_t number : numbers) text += (text.size() > 1 ? ", " : "") + std::to_string(number);
  return text + ")";
}

std::vector<std::int64_t> numbers(const Machine& machine, const Statement& s, std::size_t count) {
  std::vector<std::int64_t> all;
  for (std::size_t i = 0; i < count; ++i)
    all.push_back(static_cast<std::int64_t>(machine.bits(s.operands[i])));
  return all;
}

/// The indices of iteration `number` of the loop that runs.
std::vector<std::int64_t> indices_of(const Machine& machine, std::uint64_t number) {
  const Statement& loop = *machine.iteration().loop;
  const std::vector<std::int64_t> bounds = numbers(machine, loop, loop.operands.size());
  std::vector<std::int64_t> indices(machine.iteration().indices.size());
  for (std::size_t d = indices.size(); d-- > 0;) {
    const bool is_thread = 2 * d >= bounds.size();  // of a group
    const auto low = is_thread ? 0 : static_cast<std::uint64_t>(bounds[2 * d]);
    const std::uint64_t extent = is_thread ? ir::thread_extent(loop, d - bounds.size() / 2)
                                           : static_cast<std::uint64_t>(bounds[2 * d + 1]) - low;
    indices[d] = static_cast<std::int64_t>(low + number % extent);
    number /= extent;
  }
  return indices;
}

using Definitions = std::map<ir::ValueId, const Statement*>;

void collect(const ir::Block& block, Definitions& definitions) {
  for (const Statement& s : block.statements) {
    if (s.result != ir::no_value) definitions[s.result] = &s;
    for (const ir::Block& body : s.bodies) collect(body, definitions);
  }
}

/// The values that `s` uses, and those from which they were computed: "%3 = load @x[%2] : f32 is -1".
std::string describe(const ir::Kernel& kernel, const Machine& machine, const Statement& s) {
  Definitions definitions;
  collect(kernel.body, definitions);
  std::vector<ir::ValueId> values;
  const auto add = [&](const Statement& from) {
    for (const ir::ValueId id : from.operands)
      if (values.size() < max_definitions && std::find(values.begin(), values.end(), id) == values.end())
        values.push_back(id);
  };
  add(s);
  for (std::size_t i = 0; i < values.size(); ++i)
    if (const auto found = definitions.find(values[i]); found != definitions.end()) add(*found->second);
  std::vector<const Statement*> statements{&s};
  for (const ir::ValueId id : values) {
    const auto found = definitions.find(id);
    statements.push_back(found == definitions.end() ? &s : found->second);
  }
  const ir::KernelParts parts = ir::print_parts(kernel, statements, values);
  std::string text = "\n  in  " + parts.statements[0];
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Statement* definition = statements[i + 1];
    if (definition->op == Op::constant) continue;
    text += "\n      " + (definition == &s ? parts.values[i] : parts.statements[i + 1]) + " is " +
            ir::print_constant(machine.type(values[i]), machine.bits(values[i]));
  }
  return text;
}

}  // namespace

std::vector<std::int64_t> Checks::indices(const Machine& machine, const Statement& s) const {
  return numbers(machine, s, machine.arguments().arrays[s.index].extents.size());
}

std::string Checks::element(const Machine& machine, const Statement& s) const {
  const std::string at = tuple(indices(machine, s));
  const bool member = std::ranges::any_of(
      structs_, [&](const ir::StructParameter& array) { return array.has_member(s.index); });
  if (member) return at + " of " + ir::describe_array(kernel_, structs_, s.index);
  return kernel_.parameters[s.index].name + at;
}

void Checks::stop(const Machine& machine, const Statement& s, std::string problem) const {
  const Iteration& iteration = machine.iteration();
  if (iteration.loop) problem += ", in the iteration " + tuple(iteration.indices);
  throw Fault{s.location, std::move(problem), describe(kernel_, machine, s)};
}

/// The smallest k such that two iterations, counted from 1, are in one sub-group of 2^k threads.
int Checks::distance(std::uint32_t a, std::uint32_t b) {
  return std::bit_width((a - 1) ^ (b - 1));
}

/// Whether an access by iteration `own` now comes after an earlier one: it is of the same iteration, or a
/// barrier of a sub-group of both was in between.
bool Checks::follows(std::uint32_t own, const Use& earlier, const Iteration& now) {
  if (own == earlier.iteration) return true;
  for (auto k = std::size_t(distance(own, earlier.iteration)); k < now.waited.size(); ++k)
    if (now.waited[k] > earlier.time) return true;
  return false;
}

void Checks::outside(const Machine& machine, const Statement& s) {
  if (s.op == Op::get || s.op == Op::set || s.op == Op::shared_atomic)
    stop(machine, s,
         "index " + tuple(numbers(machine, s, 1)) + " is outside a " +
             (machine.is_shared(s.index) ? "shared" : "local") + " array");
  const std::vector<std::int64_t>& extents = machine.arguments().arrays[s.index].extents;
  stop(machine, s,
       "index " + tuple(numbers(machine, s, extents.size())) + " is outside " +
           ir::describe_array(kernel_, structs_, s.index) + " of extents " + tuple(extents));
}

void Checks::false_assert(const Machine& machine, const Statement& s) {
  const std::string& message = kernel_.strings[s.index];
  stop(machine, s, message.empty() ? "assertion failed" : "assertion failed: " + message);
}

void Checks::access(const Machine& machine, const Statement& s, Access access, std::size_t memory,
                    std::size_t at) {
  if (access != Access::write) check_initialised(machine, s, memory, at);
  if (!machine.iteration().loop) return;
  Uses& uses = uses_of(machine.iteration(), std::uint64_t{memory} << 48 | at);
  check_race(machine, s, access, uses, [&] { return element(machine, s); });
}

void Checks::shared_access(const Machine& machine, const Statement& s, Access access, std::size_t index) {
  constexpr std::uint64_t shared = std::uint64_t{1} << 63;  // no memory has such a number
  Uses& uses = uses_of(machine.iteration(), shared | std::uint64_t{s.index} << 32 | index);
  uses.by_other_groups = {};  // each group has an array of its own
  const auto name = [&] { return "element " + std::to_string(index) + " of a shared array"; };
  const auto written = [](const Accesses& by) {
    return by[1].first.iteration != 0 || by[2].first.iteration != 0;
  };
  if (access != Access::write && !written(uses.now) && !written(uses.before))
    stop(machine, s, name() + " is read before a thread of the group has written it");
  check_race(machine, s, access, uses, name);
}

void Checks::Pair::add(const Use& use, const Iteration& now) {
  if (first.iteration == 0 || follows(use.iteration, first, now)) {
    first = use;
    if (second.iteration != 0 && follows(use.iteration, second, now)) second = {};
  } else if (second.iteration == 0 || follows(use.iteration, second, now) ||
             distance(first.iteration, use.iteration) > distance(first.iteration, second.iteration)) {
    second = use;
  }
}

std::uint32_t Checks::Pair::beside(std::uint32_t own, const Iteration& now) const {
  for (const Use& use : {first, second})
    if (use.iteration != 0 && !follows(own, use, now)) return use.iteration;
  return 0;
}

Checks::Uses& Checks::uses_of(const Iteration& iteration, std::uint64_t key) {
  Uses& uses = uses_[key];
  if (uses.loop != iteration.loops) {
    uses = {};
    uses.loop = iteration.loops;
  }
  const auto move = [&iteration](Accesses& from, Accesses& to) {
    for (std::size_t kind = 0; kind < to.size(); ++kind)
      for (const Use& one : {from[kind].first, from[kind].second})
        if (one.iteration != 0) to[kind].add(one, iteration);
    from = {};
  };
  if (uses.interval != iteration.interval) move(uses.now, uses.before);
  if (uses.group != iteration.group) move(uses.before, uses.by_other_groups);
  uses.interval = iteration.interval;
  uses.group = iteration.group;
  return uses;
}

void Checks::check_initialised(const Machine& machine, const Statement& s, std::size_t memory,
                               std::size_t at) {
  const std::vector<std::byte>& bytes = machine.arguments().memories[memory];
  const std::size_t size = size_of(s.type);
  const std::size_t from = size < 4 ? at & ~std::size_t{7} : at, count = size < 4 ? 8 : size;
  if (from + count > bytes.size()) return;
  const std::uint64_t words[] = {unwritten_word, unwritten_word};
  const std::byte* expected = reinterpret_cast<const std::byte*>(words) + from % 8;
  if (std::memcmp(bytes.data() + from, expected, count) == 0)
    stop(machine, s, "element " + element(machine, s) + " is read before anything has written it");
}

void Checks::check_race(const Machine& machine, const Statement& s, Access access, Uses& uses,
                        const std::function<std::string()>& name) {
  const Iteration& iteration = machine.iteration();
  const auto own = static_cast<std::uint32_t>(iteration.number + 1);
  static constexpr const char* verbs[] = {"reads", "writes", "atomically updates"};
  for (const Access earlier : {Access::write, Access::update, Access::read}) {
    if (earlier == access && access != Access::write) continue;  // reads do not race, nor do atomics
    const auto kind = static_cast<std::size_t>(earlier);
    std::uint32_t other = uses.now[kind].beside(own, iteration);
    if (other == 0) other = uses.by_other_groups[kind].first.iteration;
    if (other == 0) continue;
    throw Fault{s.location,
                "race on " + name() + ": iteration " + tuple(iteration.indices) + " " +
                    verbs[static_cast<std::size_t>(access)] + " it, iteration " +
                    tuple(indices_of(machine, other - 1)) + " " + verbs[static_cast<std::size_t>(earlier)] +
                    " it",
                describe(kernel_, machine, s)};
  }
  uses.now[static_cast<std::size_t>(access)].add({own, iteration.time}, iteration);
}

void Checks::computed(const Machine& machine, const Statement& s, std::span<const ScalarType> types,
                      std::span<const std::uint64_t> operands, std::uint64_t bits) {
  // These choose or reinterpret, and compute nothing.
  if (s.op == Op::select || s.op == Op::bitcast || !ir::is_nan(s.type, bits)) return;
  for (std::size_t i = 0; i < operands.size(); ++i)
    if (ir::is_nan(types[i], operands[i])) return;
  std::string text;
  for (std::size_t i = 0; i < operands.size(); ++i)
    text += (i ? ", " : "") + ir::print_constant(types[i], operands[i]);
  stop(machine, s, "NaN results from operands that are not NaN: " + text);
}

}  // namespace weir::interpreter
