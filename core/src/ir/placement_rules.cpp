// SPDX-License-Identifier: Apache-2.0
#include "ir/groups.hpp"
#include "ir/rules.hpp"
#include "ir/verifier.hpp"

namespace weir::ir {
namespace {

class PlacementRules {
 public:
  PlacementRules(const Kernel& kernel, const Placement& placement, bool task)
      : kernel_(kernel), placement_(placement), task_(task) {}

  std::string check(const Statement& s, const std::vector<ScalarType>& operands) const {
    switch (s.op) {
      case Op::break_:
        return check_break();
      case Op::continue_:
        if (placement_.condition) return "'continue' belongs in the body of a loop, found it in a condition";
        if (!placement_.sequential_loop && placement_.task_loop == nullptr)
          return "'continue' goes on with the next iteration of a loop, found none around it";
        return "";
      case Op::yield:
        return check_yield(operands);
      case Op::parallel:
      case Op::reduce:
        return check_parallel(s);
      case Op::repeat:
        return check_repeat();
      case Op::region:
        return check_region();
      case Op::print:
        if (s.immediate == 0 || task_) return "";
        return "'print' of a kernel takes the values of its format only; tasks add numbers of repetitions";
      case Op::algorithm:
        return check_algorithm_place();
      case Op::phase:
        if (task_ && !placement_.in_phase) return "";
        return "'phase' is allowed only in tasks, outside of other phases; a kernel uses parallel loops";
      case Op::repetition:
      case Op::failed:
        return task_ ? "" : quoted_name(s.op) + " is allowed only in tasks";
      case Op::threads:
        return task_ ? "" : "'threads' is allowed only in tasks; a kernel uses group loops";
      case Op::scratch_load:
      case Op::scratch_store:
        return task_ ? ""
                     : quoted_name(s.op) + " is allowed only in tasks; a kernel uses local variables instead";
      case Op::shared:
        if (placement_.enclosing != nullptr && is_group_loop(*placement_.enclosing)) return "";
        return "shared memory is declared directly in the body of a group loop, found it " +
               std::string(placement_.enclosing == nullptr ? "outside" : "in a loop or branch inside") +
               "; move the declaration";
      case Op::barrier:
      case Op::shuffle:
      case Op::ballot:
      case Op::shared_atomic:
        return check_collective(s);
      default:
        return "";
    }
  }

 private:
  std::string at(const Statement& s) const { return describe(kernel_, s.location); }

  /// Whether parallel loops are allowed in the statement block.
  bool at_task_level() const {
    if (placement_.enclosing == nullptr) return true;
    const Op op = placement_.enclosing->op;
    return op == Op::region || op == Op::repeat || op == Op::phase;
  }

  std::string check_break() const {
    if (placement_.condition) return "'break' belongs in the body of a loop, found it in a condition";
    if (placement_.sequential_loop) return "";
    if (placement_.task_loop != nullptr)
      return "'break' leaves a 'while' or 'for' inside the parallel loop, found none around it; iterations "
             "of a parallel loop cannot stop one another, 'continue' ends one";
    if (placement_.repeat != nullptr)
      return "'break' leaves a 'while' or 'for', found none inside the 'repeat' at " +
             at(*placement_.repeat) + "; a 'repeat' with a condition ends when the condition is false";
    return "'break' leaves a 'while' or 'for', found none around it";
  }

  std::string check_yield(const std::vector<ScalarType>& operands) const {
    if (placement_.ends == Placement::Ends::open)
      return "'yield' ends the condition of a 'while' or 'repeat' or the body of a 'reduce', found it "
             "elsewhere";
    if (operands.size() != 1 || operands[0] == placement_.yields) return "";
    return (placement_.ends == Placement::Ends::condition
                ? "the condition of " + quoted_name(placement_.enclosing->op) + " yields "
                : "the body of this 'reduce' yields ") +
           std::string(to_string(placement_.yields)) + ", found " + std::string(to_string(operands[0]));
  }

  std::string check_parallel(const Statement& s) const {
    if (at_task_level()) return "";
    const Statement& outer = *placement_.enclosing;
    return quoted_name(s.op) + " is inside " + quoted_name(outer.op) + " at " + at(outer) +
           "; parallel loops belong directly in the kernel, in a 'repeat' or in a stream_parallel block. " +
           (outer.op == Op::for_ || outer.op == Op::while_
                ? "Make the outer loop a 'repeat'"
                : "Use a sequential 'for' here, or move the outer statement into the parallel loop");
  }

  std::string check_repeat() const {
    if (!at_task_level())
      return "'repeat' is inside " + quoted_name(placement_.enclosing->op) + " at " +
             at(*placement_.enclosing) +
             "; it belongs directly in the kernel, in another 'repeat' or in a stream_parallel block. Use a "
             "sequential 'for' or 'while' here";
    if (placement_.repeats != max_repeats) return "";
    return "'repeat' is inside " + std::to_string(max_repeats) + " others, the innermost at " +
           at(*placement_.repeat) + "; at most " + std::to_string(max_repeats) +
           " are possible inside one another";
  }

  std::string check_region() const {
    if (placement_.enclosing == nullptr) return "";
    const Statement& outer = *placement_.enclosing;
    if (task_) return "the 'region' of a task is directly in its body, found one in " + quoted_name(outer.op);
    if (outer.op == Op::region)
      return "a stream_parallel block is inside the stream_parallel block at " + at(outer) +
             "; blocks do not nest. Put them side by side in the kernel, or leave out the inner one";
    if (outer.op == Op::repeat)
      return "a stream_parallel block is inside the 'repeat' at " + at(outer) +
             "; blocks are not repeated together. Put a 'repeat' into each block, or launch a kernel without "
             "'repeat' as often, in a Graph";
    return "a stream_parallel block is inside " + quoted_name(outer.op) + " at " + at(outer) +
           "; blocks belong directly in the kernel. Move the outer statement into the block, or launch one "
           "kernel per iteration";
  }

  std::string check_algorithm_place() const {
    const Statement* const outer = placement_.enclosing;
    if (!task_ && (outer == nullptr || (outer->op == Op::region && outer->immediate == 0))) return "";
    if (!task_ && outer->op == Op::region)
      return "'algorithm' is inside the 'region' at " + at(*outer) +
             ", whose blocks may wait for each other, and blocks with algorithms run one after the other; "
             "use a "
             "'region' without 'allow_conflicts'";
    return "'algorithm' is " +
           (placement_.enclosing == nullptr
                ? std::string("in a task")
                : "inside " + quoted_name(placement_.enclosing->op) + " at " + at(*placement_.enclosing)) +
           "; it belongs directly in the kernel or in a stream_parallel block. Move it out, or call the "
           "algorithm between launches, in a Graph";
  }

  std::string check_collective(const Statement& s) const {
    const Statement* const loop = placement_.task_loop;
    if (loop == nullptr || !is_group_loop(*loop))
      return quoted_name(s.op) + " belongs in a group loop, found it elsewhere; use group_for";
    const std::uint64_t threads = group_threads(*loop);
    const bool has_width = is_exchange(s.op) || s.op == Op::barrier;
    if (!has_width || s.immediate == 0 || threads % s.immediate == 0) return "";
    return "the width of a sub-group divides the number of threads of a group, found width " +
           std::to_string(s.immediate) + " and " + std::to_string(threads) + " threads";
  }

  const Kernel& kernel_;
  const Placement& placement_;
  const bool task_;
};

}  // namespace

std::string check_placement(const Kernel& kernel, const Statement& statement,
                            const std::vector<ScalarType>& operands, const Placement& placement, bool task) {
  return PlacementRules(kernel, placement, task).check(statement, operands);
}

}  // namespace weir::ir
