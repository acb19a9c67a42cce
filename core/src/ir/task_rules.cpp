// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ir/rules.hpp"

namespace weir::ir {

namespace {

void add(std::vector<std::uint8_t>& sorted, std::uint8_t value) {
  const auto at = std::lower_bound(sorted.begin(), sorted.end(), value);
  if (at == sorted.end() || *at != value) sorted.insert(at, value);
}

void gather(const Kernel& kernel, const Block& block, bool task_of_phases, ArgumentNeeds& needs) {
  for (const Statement& s : block.statements) {
    switch (s.op) {
      case Op::argument:
        if (s.index < needs.components.size()) add(needs.components[s.index], s.component);
        break;
      case Op::extent:
        if (s.index < needs.extents.size()) add(needs.extents[s.index], s.component);
        break;
      case Op::load:
      case Op::store:
      case Op::atomic:
        if (s.index >= kernel.parameters.size()) break;
        needs.arrays[s.index] = true;
        // Row-major addresses need every extent except the first. Bounds checks need the first as well, and
        // so do counters, which a block keeps in its own memory when there are few.
        for (std::uint8_t d = kernel.options.check_bounds || s.op == Op::atomic ? 0 : 1;
             d < kernel.parameters[s.index].rank; ++d) {
          add(needs.extents[s.index], d);
        }
        if (kernel.options.check_bounds) needs.error = true;
        break;
      case Op::assert_:
        needs.error = true;
        break;
      case Op::print:
        needs.print = true;
        break;
      case Op::launch_key:
        needs.launch_key = true;
        break;
      case Op::repetition:
        if (s.index < max_repeats) add(needs.repetitions, static_cast<std::uint8_t>(s.index));
        break;
      case Op::failed:
        needs.error = true;
        break;
      case Op::reduce:
        if (task_of_phases) needs.scratch = true;
        break;
      case Op::scratch_load:
      case Op::scratch_store:
        needs.scratch = true;
        break;
      case Op::get:
      case Op::set:
      case Op::shared_atomic:
        if (kernel.options.check_bounds && s.operands.size() > (s.op == Op::get ? 0u : 1u))
          needs.error = true;
        break;
      default:
        break;
    }
    for (const Block& body : s.bodies) gather(kernel, body, task_of_phases, needs);
  }
}

class TaskRules {
 public:
  TaskRules(const Kernel& kernel, const Task& task, std::vector<Diagnostic>& diagnostics)
      : kernel_(kernel), task_(task), diagnostics_(diagnostics) {}

  void check() {
    check_loop();
    check_arguments();
    if (task_.cooperative && (task_.kind != TaskKind::phases || region_blocks(task_) > 1))
      report("a cooperative task is one of phases without a region");
  }

 private:
  void report(std::string message) {
    diagnostics_.push_back({task_.location, "task " + task_.name + ": " + std::move(message)});
  }

  void check_loop() {
    const auto loop = [](const Statement& s) { return s.op == Op::parallel || s.op == Op::reduce; };
    const auto& statements = task_.body.statements;
    const auto loops = std::count_if(statements.begin(), statements.end(), loop);
    switch (task_.kind) {
      case TaskKind::serial:
      case TaskKind::reduce_final:
        if (loops != 0)
          report("a task that runs its body once has no parallel loop, found " + std::to_string(loops));
        break;
      case TaskKind::phases:
        if (loops != 0)
          report("parallel loops of a task of phases are in its phases, found " + std::to_string(loops) +
                 " outside");
        if (region_blocks(task_) == 1)
          check_phases(task_.body);
        else if (statements.size() != 1)
          report("the body of a task with a region is that region, found " +
                 std::to_string(statements.size()) + " statements");
        else
          for (const Block& block : statements.front().bodies) check_phases(block);
        break;
      case TaskKind::parallel:
        expect_last(Op::parallel, loops);
        break;
      case TaskKind::reduce_partial:
        expect_last(Op::reduce, loops);
        break;
    }
  }

  void check_phases(const Block& block) {
    for (const Statement& s : block.statements) {
      if (s.op == Op::repeat) {
        for (const Block& body : s.bodies) check_phases(body);
      } else if (s.op == Op::phase) {
        const auto& inner = s.bodies.front().statements;
        for (const Statement& other : inner)
          if ((other.op == Op::parallel || other.op == Op::reduce) && &other != &inner.back())
            report("a phase ends in its loop, found one before its end");
      } else if (s.op != Op::yield && s.op != Op::scratch_load && s.op > Op::philox) {
        report("between phases, only values are computed, found " + quoted_name(s.op));
      }
    }
  }

  void expect_last(Op op, std::ptrdiff_t loops) {
    const auto& statements = task_.body.statements;
    if (loops != 1 || statements.back().op != op) {
      report("the body ends in its only loop, a " + quoted_name(op) + ", found " + std::to_string(loops) +
             " loops");
    }
  }

  void check_arguments() {
    std::uint32_t end = 0;
    for (const TaskArgument& a : task_.arguments) {
      if (a.size == 0 || a.offset % a.size != 0)
        report("argument fields must be at offsets that are multiples of their size");
      if (a.offset < end) report("argument fields overlap or are not in order of offset");
      end = a.offset + a.size;
    }
    if (task_.argument_bytes % 16 != 0 || task_.argument_bytes < end) {
      report("the argument block is a multiple of 16 bytes that holds all fields, found " +
             std::to_string(task_.argument_bytes));
    }
    const ArgumentNeeds needs = argument_needs(kernel_, task_);
    for (std::size_t p = 0; p < kernel_.parameters.size(); ++p) {
      if (needs.arrays[p]) expect(TaskArgument::Kind::array, p, 0, "the address of ");
      for (const auto d : needs.extents[p]) expect(TaskArgument::Kind::extent, p, d, "an extent of ");
      for (const auto l : needs.components[p]) expect(TaskArgument::Kind::scalar, p, l, "the value of ");
    }
    if (needs.scratch) expect(TaskArgument::Kind::scratch, 0, 0, "scratch");
    if (needs.error) expect(TaskArgument::Kind::error, 0, 0, "the error record");
    if (needs.print) {
      expect(TaskArgument::Kind::print, 0, 0, "the print buffer");
      expect(TaskArgument::Kind::launch, 0, 0, "the number of the launch");
    }
    if (needs.error || needs.print) expect(TaskArgument::Kind::site_base, 0, 0, "the base of site numbers");
    for (const auto d : needs.repetitions)
      expect(TaskArgument::Kind::repetition, 0, d, "the number of a repetition");
    if (needs.launch_key) expect(TaskArgument::Kind::launch_key, 0, 0, "the launch key");
    if (needs.barrier) expect(TaskArgument::Kind::barrier, 0, 0, "a barrier of the grid");
  }

  void expect(TaskArgument::Kind kind, std::size_t parameter, std::uint8_t index, const std::string& what) {
    const bool named = kind == TaskArgument::Kind::array || kind == TaskArgument::Kind::extent ||
                       kind == TaskArgument::Kind::scalar;
    for (const TaskArgument& a : task_.arguments) {
      if (a.kind == kind && a.index == index && (!named || a.parameter == parameter)) return;
    }
    report("uses " + what + (named ? "@" + kernel_.parameters[parameter].name : "") +
           " that its argument block does not hold");
  }

  const Kernel& kernel_;
  const Task& task_;
  std::vector<Diagnostic>& diagnostics_;
};

}  // namespace

ArgumentNeeds argument_needs(const Kernel& kernel, const Task& task) {
  ArgumentNeeds needs;
  needs.extents.resize(kernel.parameters.size());
  needs.components.resize(kernel.parameters.size());
  needs.arrays.resize(kernel.parameters.size());
  gather(kernel, task.body, task.kind == TaskKind::phases, needs);
  if (task.kind == TaskKind::reduce_partial || task.kind == TaskKind::reduce_final) needs.scratch = true;
  needs.barrier = task.cooperative;
  return needs;
}

void check_task_shape(const Kernel& kernel, const Task& task, std::vector<Diagnostic>& diagnostics) {
  TaskRules(kernel, task, diagnostics).check();
}

}  // namespace weir::ir
