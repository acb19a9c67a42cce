// SPDX-License-Identifier: Apache-2.0
// From a kernel to its plan: merged loops, effects, segments, needs, conflicts, scratch memory, tasks.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <weir/error.hpp>

#include "ir/groups.hpp"
#include "ir/replicated_phases.hpp"
#include "ir/verifier.hpp"
#include "passes/argument_layout.hpp"
#include "passes/bounds.hpp"
#include "passes/concurrency.hpp"
#include "passes/conflicts.hpp"
#include "passes/draft.hpp"
#include "passes/plan.hpp"
#include "passes/task_builder.hpp"

namespace weir::passes {

namespace {

constexpr std::size_t max_symbol_stem = 48;  // of the kernel's name, in symbols

// The kernel's name in letters and digits; each run of other characters becomes one '_'.
std::string symbol_stem(const std::string& kernel) {
  std::string stem;
  for (const char c : kernel.substr(0, max_symbol_stem)) {
    const bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (word)
      stem += c;
    else if (stem.empty() || stem.back() != '_')
      stem += '_';
  }
  if (stem.back() == '_') stem.pop_back();
  return stem.empty() || (stem[0] >= '0' && stem[0] <= '9') ? "k" + stem : stem;
}

std::string_view symbol_end(ir::TaskKind kind) {
  switch (kind) {
    case ir::TaskKind::serial:
      return "serial";
    case ir::TaskKind::parallel:
      return "loop";
    case ir::TaskKind::reduce_partial:
      return "reduce";
    case ir::TaskKind::reduce_final:
      return "combine";
    case ir::TaskKind::phases:
      return "phases";
  }
  return "task";
}

/// Adds the offsets of the values that a block reads from scratch memory.
void find_scratch_reads(const ir::Block& block, std::set<std::uint32_t>& offsets) {
  for (const ir::Statement& s : block.statements) {
    if (s.op == ir::Op::scratch_load) offsets.insert(static_cast<std::uint32_t>(s.immediate));
    for (const ir::Block& body : s.bodies) find_scratch_reads(body, offsets);
  }
}

/// Whether a block contains a loop. A loop of one iteration, which fuse() makes for a `continue`, is none.
class LoopSearch {
 public:
  bool find(const ir::Block& block) {
    return std::ranges::any_of(block.statements, [&](const ir::Statement& s) { return find(s); });
  }

 private:
  bool find(const ir::Statement& s) {
    if (s.op == ir::Op::constant) constants_[s.result] = s.immediate;
    if (s.op == ir::Op::while_ || (s.op == ir::Op::for_ && !runs_once(s))) return true;
    return std::ranges::any_of(s.bodies, [&](const ir::Block& body) { return find(body); });
  }

  bool runs_once(const ir::Statement& loop) const {
    const auto low = constants_.find(loop.operands[0]), high = constants_.find(loop.operands[1]);
    return low != constants_.end() && high != constants_.end() && high->second - low->second == 1;
  }

  std::map<ir::ValueId, std::uint64_t> constants_;
};

class Planner {
 public:
  Planner(const ir::Kernel& kernel, std::uint32_t address_bytes, const PlanOptions& options,
          const MergedLoops& merged)
      : kernel_(kernel),
        address_bytes_(address_bytes),
        options_(options),
        merged_(merged),
        stem_(symbol_stem(kernel.name) + (kernel.part > 1 ? "_part" + std::to_string(kernel.part) : "")) {}

  Plan run() {
    draft_.kernel = &kernel_;
    find_effects(draft_);
    split(draft_);
    find_conflicts(draft_, plan_.alias_checks);
    find_needs(draft_);
    if (options_.concurrency) plan_.order = find_concurrency(draft_, options_.known, options_.phases);
    place_scratch(draft_);
    build_tasks();
    number_regions();
    finish_cooperative();
    plan_.parameters = find_uses(kernel_);
    plan_.scratch_bytes = draft_.scratch_bytes;
    plan_.is_separate = options_.fusion == Fusion::none && !options_.phases && !options_.cooperative &&
                        !plan_.has_independent;
    return std::move(plan_);
  }

 private:
  void build_tasks() {
    TaskBuilder builder(draft_);
    Bounds bounds(draft_, plan_.expressions);
    std::vector<std::uint32_t> open;  // entries of plan_.repeats
    for (std::size_t i = next_live(0); i < draft_.segments.size(); i = next_live(i + 1)) {
      const Segment& segment = draft_.segments[i];
      if (const std::size_t end = end_of_region(i); end != i) {
        add_phases(builder.phases_of_region(i, end), bounds, i, end);
        i = end - 1;
        continue;
      }
      if (const std::size_t end = end_of_phases(i, bounds); end != i) {
        add_phases(builder.phases(i, end), bounds, i, end);
        i = end - 1;
        continue;
      }
      if (segment.kind == Segment::Kind::repeat_begin) {
        open.push_back(static_cast<std::uint32_t>(plan_.repeats.size()));
        begin_repeat(segment, bounds);
        continue;
      }
      if (segment.kind == Segment::Kind::repeat_end) {
        end_repeat(open.back());
        open.pop_back();
        continue;
      }
      PlannedTask& planned = add(builder.build(i), segment);
      if (segment.kind == Segment::Kind::serial) continue;
      const ir::Statement& loop = *segment.statements.front();
      static_cast<LoopBounds&>(planned) = bounds.describe(loop.operands);
      if (const auto known = merged_.find(loop.bodies[0].arguments.front()); known != merged_.end()) {
        for (const WrittenLoop& written : known->second)
          planned.merged.push_back({written.location, bounds.describe(written.bounds)});
        planned.task.merged = true;
        planned.keeps_loops = LoopSearch().find(loop.bodies[0]);
        planned.title = title(planned.task, planned.merged);
        plan_.has_merged = true;
      }
      if (segment.kind == Segment::Kind::reduce) {
        const std::optional<std::size_t> following = serial_after(i);
        ir::Task final = builder.combine(planned.task, following);
        add(std::move(final), segment);
        i = following.value_or(i);
      }
    }
  }

  void begin_repeat(const Segment& segment, Bounds& bounds) {
    const Repeat& repeat = draft_.repeats[static_cast<std::size_t>(segment.repeat)];
    PlannedRepeat& planned = plan_.repeats.emplace_back();
    planned.begin = planned.end = static_cast<std::uint32_t>(plan_.tasks.size());
    planned.depth = repeat.depth;
    planned.count = bounds.bound(repeat.statement->operands[0]);
    planned.location = repeat.statement->location;
  }

  // A repeat whose tasks were all dropped is the last entry, since those in it were dropped before.
  void end_repeat(std::uint32_t number) {
    plan_.repeats[number].end = static_cast<std::uint32_t>(plan_.tasks.size());
    if (plan_.repeats[number].begin == plan_.repeats[number].end) plan_.repeats.resize(number);
  }

  // ---- phases

  // The end of the region that begins at segment `i`, if one task runs its stream blocks; else `i`. With
  // conflicts_are_meant, stream blocks may wait for each other, which blocks of one launch must not.
  std::size_t end_of_region(std::size_t i) const {
    const std::int32_t region = draft_.segments[i].region;
    if (!options_.phases || region < 0 || draft_.are_meant(region)) return i;
    const auto inside = [&](std::size_t s) { return draft_.segments[s].region == region; };
    std::size_t begin = i, end = i;
    while (begin > 0 && inside(begin - 1)) --begin;
    while (end < draft_.segments.size() && inside(end)) ++end;
    std::set<std::int32_t> blocks;
    for (std::size_t s = begin; s < end; ++s)
      if (draft_.segments[s].live) blocks.insert(draft_.segments[s].block);
    return blocks.size() > 1 && !has_group_loop(begin, end) ? end : i;
  }

  // The end of the phases that begin at segment `i`, or `i` for none.
  std::size_t end_of_phases(std::size_t i, Bounds& bounds) const {
    const Segment& first = draft_.segments[i];
    const std::int32_t around = repeat_around(first);
    std::size_t end = i, tasks = 0;
    for (std::size_t s = i; s < draft_.segments.size(); s = end) {
      const Segment& segment = draft_.segments[s];
      if (segment.region != first.region || segment.block != first.block) break;
      std::size_t next = s + 1;
      if (segment.kind == Segment::Kind::repeat_begin) {
        const Repeat& repeat = draft_.repeats[static_cast<std::size_t>(segment.repeat)];
        next = repeat.end + std::size_t{1};
        const bool must = only_device_repeats(repeat, bounds);
        if (must) check_phases(repeat);
        if (!options_.phases) return must && s == i ? next : i;
      } else if (!options_.phases || repeat_around(segment) != around || draft_.is_control(segment)) {
        break;
      }
      if (has_group_loop(s, next)) break;
      tasks += tasks_of(s, next);
      end = next;
    }
    const bool repeats = options_.each_once ? first.kind == Segment::Kind::repeat_begin
                                            : begins_with_device_repeat(first, bounds);
    return tasks > 1 || (end != i && repeats) ? end : i;
  }

  bool begins_with_device_repeat(const Segment& first, Bounds& bounds) const {
    return first.kind == Segment::Kind::repeat_begin &&
           only_device_repeats(draft_.repeats[static_cast<std::size_t>(first.repeat)], bounds);
  }

  std::int32_t repeat_around(const Segment& segment) const {
    if (segment.kind != Segment::Kind::repeat_begin) return segment.repeat;
    return draft_.repeats[static_cast<std::size_t>(segment.repeat)].parent;
  }

  static bool only_device_repeats(const Repeat& repeat, Bounds& bounds) {
    return ir::has_condition(*repeat.statement) ||
           bounds.bound(repeat.statement->operands[0]).kind == HostBound::Kind::device;
  }

  std::size_t tasks_of(std::size_t begin, std::size_t end) const {
    std::size_t count = 0;
    for (std::size_t s = begin; s < end; ++s) {
      const Segment& segment = draft_.segments[s];
      if (!draft_.is_control(segment))
        count += segment.live ? segment.kind == Segment::Kind::reduce ? 2 : 1 : 0;
    }
    return count;
  }

  bool has_group_loop(std::size_t begin, std::size_t end) const { return group_loop(begin, end) != nullptr; }

  const ir::Statement* group_loop(std::size_t begin, std::size_t end) const {
    for (std::size_t s = begin; s < end; ++s) {
      const Segment& segment = draft_.segments[s];
      if (segment.kind == Segment::Kind::parallel && ir::is_group_loop(*segment.statements.front()))
        return segment.statements.front();
    }
    return nullptr;
  }

  void check_phases(const Repeat& repeat) const {
    const ir::Statement* const loop = group_loop(repeat.begin, repeat.end);
    if (!loop) return;
    const ir::Statement& s = *repeat.statement;
    refuse_kernel(
        kernel_,
        {{loop->location,
          "group_for is inside the repeat at " + ir::describe(kernel_, s.location) + ", which ends when " +
              (ir::has_condition(s) ? "a condition that the device computes is false"
                                    : "a count that the device computes is reached") +
              "; such a repetition runs in one block, which cannot hold other groups. Use a count that "
              "is computed from constants, scalars and extents, or range_for"}});
  }

  void add_phases(ir::Task task, Bounds& bounds, std::size_t begin, std::size_t end) {
    // Stream blocks past the number of barriers run at the same time as others.
    task.cooperative = options_.cooperative && !options_.phases &&
                       draft_.segments[begin].block < static_cast<std::int32_t>(ir::grid_barriers);
    PlannedTask& planned = add(std::move(task), draft_.segments[begin]);
    const std::vector<TaskCost> costs = estimate_phases(planned.task);
    planned.cost_is_exact = std::ranges::all_of(costs, &TaskCost::exact);
    auto cost = costs.begin();
    for (std::size_t s = begin; s < end; ++s) {
      const Segment& segment = draft_.segments[s];
      if (!segment.live || (segment.kind != Segment::Kind::parallel && segment.kind != Segment::Kind::reduce))
        continue;
      const ir::Statement& loop = *segment.statements.front();
      const auto known = merged_.find(loop.bodies[0].arguments.front());
      const std::size_t first = planned.phases.size();
      if (known == merged_.end())
        planned.phases.push_back({loop.location, bounds.describe(loop.operands)});
      else
        for (const WrittenLoop& written : known->second)
          planned.phases.push_back({written.location, bounds.describe(written.bounds)});
      planned.phases[first].cost = cost++->operations;
    }
    planned.title = title(planned.task, planned.phases);
    planned.barriers = ir::ReplicatedPhases(planned.task).count_barriers();
  }

  std::string title(const ir::Task& task, const std::vector<PlannedLoop>& loops) const {
    std::string lines;
    for (const PlannedLoop& loop : loops) {
      if (!kernel_.knows(loop.location)) continue;
      lines += (lines.empty() ? "" : ", ") + kernel_.files[loop.location.file] + ":" +
               std::to_string(loop.location.line);
    }
    if (lines.empty()) lines = std::to_string(loops.size()) + " loops";
    return task.name + " (" + lines + ")";
  }

  std::size_t next_live(std::size_t i) const {
    while (i < draft_.segments.size() && !draft_.segments[i].live) ++i;
    return i;
  }

  // Serial statements after a reduction run in its last task, which saves a launch.
  std::optional<std::size_t> serial_after(std::size_t reduction) const {
    const std::size_t next = next_live(reduction + 1);
    if (next == draft_.segments.size()) return std::nullopt;
    const Segment &first = draft_.segments[reduction], &second = draft_.segments[next];
    const bool joins = second.kind == Segment::Kind::serial && second.region == first.region &&
                       second.block == first.block && second.group == first.group;
    return joins ? std::optional(next) : std::nullopt;
  }

  PlannedTask& add(ir::Task task, const Segment& segment) {
    task.name = stem_ + "_" + std::to_string(plan_.tasks.size()) + "_" + std::string(symbol_end(task.kind));
    lay_out_arguments(kernel_, address_bytes_, task);
    const TaskCost cost = estimate_cost(task);
    task.cost = cost.operations;
#ifndef NDEBUG
    if (const auto wrong = ir::verify_task(kernel_, task); !wrong.empty())
      ir::throw_diagnostics(kernel_, wrong);
#endif
    for (const ir::TaskArgument& argument : task.arguments) {
      if (argument.kind == ir::TaskArgument::Kind::error) plan_.uses_error_record = true;
      if (argument.kind == ir::TaskArgument::Kind::print) plan_.prints = true;
      if (argument.kind == ir::TaskArgument::Kind::launch_key) plan_.uses_launch_key = true;
    }
    PlannedTask planned{};
    planned.traffic = traffic_of(kernel_, task);
    planned.task = std::move(task);
    planned.cost_is_exact = cost.exact;
    planned.region = segment.region;
    planned.block = segment.block;
    planned.group = segment.group;
    planned.conflicts_are_meant = draft_.are_meant(segment.region);
    planned.found_independent = draft_.is_found(segment.region);
    if (segment.region >= 0) planned.divided = draft_.divided[static_cast<std::size_t>(segment.region)];
    plan_.tasks.push_back(std::move(planned));
    return plan_.tasks.back();
  }

  // Renumbers stream blocks, since some may have lost all their tasks. A region with one stream block left is
  // dissolved.
  void number_regions() {
    std::size_t begin = 0;
    while (begin < plan_.tasks.size()) {
      const std::int32_t region = plan_.tasks[begin].region;
      std::size_t end = begin;
      std::uint32_t blocks = 0;
      std::int32_t last = -1;
      for (; end < plan_.tasks.size() && plan_.tasks[end].region == region; ++end) {
        if (region < 0) continue;
        if (plan_.tasks[end].block != last) ++blocks;
        last = plan_.tasks[end].block;
        plan_.tasks[end].block = static_cast<std::int32_t>(blocks - 1);
      }
      if (region >= 0) {
        const auto number = blocks > 1 ? static_cast<std::int32_t>(plan_.region_blocks.size()) : -1;
        for (std::size_t i = begin; i < end; ++i) {
          plan_.tasks[i].region = number;
          if (number >= 0) continue;
          plan_.tasks[i].block = -1;
          plan_.tasks[i].group = 0;
          plan_.tasks[i].divided.clear();
          plan_.tasks[i].found_independent = false;
        }
        for (std::size_t i = begin; i < end; ++i)
          plan_.has_independent |= plan_.tasks[i].found_independent || plan_.tasks[i].group != 0;
        if (number >= 0) plan_.region_blocks.push_back(blocks);
      }
      begin = end;
    }
  }

  void finish_cooperative() {
    for (PlannedTask& planned : plan_.tasks) {
      if (!planned.task.cooperative) continue;
      plan_.has_cooperative = true;
      std::set<std::uint32_t> reads;
      for (const PlannedTask& other : plan_.tasks)
        if (&other != &planned) find_scratch_reads(other.task.body, reads);
      planned.task.read_by_others.assign(reads.begin(), reads.end());
      // Stream blocks of a region run at the same time.
      for (ir::TaskArgument& argument : planned.task.arguments)
        if (argument.kind == ir::TaskArgument::Kind::barrier)
          argument.index = static_cast<std::uint8_t>(std::max(planned.block, 0));
    }
  }

  const ir::Kernel& kernel_;
  std::uint32_t address_bytes_;
  const PlanOptions& options_;
  const MergedLoops& merged_;
  std::string stem_;
  Draft draft_;
  Plan plan_;
};

}  // namespace

Plan make_plan(const ir::Kernel& kernel, std::uint32_t address_bytes, const PlanOptions& options) {
  if (address_bytes != 8 && address_bytes != 16) {
    throw Error(ErrorCode::invalid,
                "an address takes 8 or 16 bytes in argument blocks, found " + std::to_string(address_bytes));
  }
  if (!kernel.algorithms.empty())
    throw Error(ErrorCode::invalid,
                "a plan is of a kernel without algorithms; make one of each part of split_at_algorithms()");
  ir::verify_or_throw(kernel);
  if (options.fusion == Fusion::none) return Planner(kernel, address_bytes, options, {}).run();
  FusedKernel fused = fuse(kernel, options.fusion, options.known);
  Plan plan = Planner(fused.kernel, address_bytes, options, fused.merged).run();
  plan.fusion = std::move(fused.decisions);
  return plan;
}

}  // namespace weir::passes
