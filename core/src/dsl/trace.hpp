// SPDX-License-Identifier: Apache-2.0
// The kernel that this thread is tracing: its statements so far, the open statement blocks, and the
// diagnostics.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>
#include <weir/dsl/trace.hpp>

#include "ir/ir.hpp"

namespace weir::detail {

/// Returns "file:line", for the second location in a message.
std::string at(const Where& where);

/// Traces `source` on this thread and verifies the result. Throws Error{kernel} with all diagnostics.
ir::Kernel trace_kernel(const KernelSource& source);

inline ir::Statement statement_of(ir::Op op, ScalarType type = ScalarType::boolean) {
  ir::Statement statement{};
  statement.op = op;
  statement.type = type;
  return statement;
}

class Trace {
 public:
  enum class BlockKind : std::uint8_t {
    body,
    stream_block,
    repeat_condition,
    repeat_body,
    parallel,
    reduce,
    for_body,
    while_condition,
    while_body,
    then,
    otherwise
  };

  explicit Trace(const KernelSource& source);
  ~Trace();
  Trace(const Trace&) = delete;
  void operator=(const Trace&) = delete;

  /// The trace of this thread. Throws Error{kernel} outside any kernel; `what` names the caller.
  static Trace& current(std::string_view what, const Where& where);
  /// The trace of this thread if it is number `id`, otherwise null.
  static Trace* find(std::uint32_t id) noexcept;

  std::uint32_t id() const noexcept { return id_; }
  /// Calls the lambda, checks the result and returns the kernel.
  ir::Kernel run(const KernelSource& source);

  void report(std::string message, const Where& where);

  // Statements
  Handle append(ir::Statement statement, const Where& where);  ///< sets a result if its operation has one
  Handle constant(ScalarType type, std::uint64_t bits, const Where& where);
  Handle operation(ir::Op op, ScalarType type, std::initializer_list<Handle> operands, const Where& where);
  ir::ValueId use(const Handle& handle,
                  const Where& where);  ///< reports and returns no_value if it cannot be used here
  bool owns_array(std::uint32_t trace, const Where& where);
  std::uint32_t add_string(std::string_view text);
  std::uint32_t add_format(std::string_view text);  ///< of a print; each print has a string of its own

  // Locals
  Place make_local(ScalarType type, std::size_t components, std::uint64_t count, const Where& where,
                   ir::Op op = ir::Op::local);  ///< op: local or shared
  bool is_shared(const Place& place) const { return place.trace == id_ && locals_[place.id].shared; }
  Handle get_local(const Place& place, std::size_t component, ScalarType type, const Where& where);
  void set_local(const Place& place, std::size_t component, ScalarType type, const Handle& value,
                 const Where& where);

  // Components chosen at run time
  /// If the kernel checks bounds, asserts that an index is below `count`. `what` begins the
  /// message: "the row is outside the Vec or Mat".
  void check_index(const Handle& index, std::uint64_t count, const std::string& what, const Where& where);
  /// The chosen one of the values component(0), component(1), ...; the first if the index is outside.
  template <class F>
  Handle choose(const Choice& choice, ScalarType type, F&& component, const Where& where) {
    Handle result = component(std::size_t{0});
    for (std::size_t i = 1; i < choice.count; ++i) {
      const Handle next = component(i);
      result = operation(ir::Op::select, type, {is_component(choice, i, where), next, result}, where);
    }
    return result;
  }
  void set_chosen(const Place& place, ScalarType type, const Handle& value, const Where& where);  ///< of variables
  /// Calls `access` for the place of each component, in branches of which the chosen component's one runs.
  void branch_to_component(const Place& place, std::size_t low, std::size_t high, const Where& where,
                           const std::function<void(const Place&)>& access);

  // Blocks
  void open(BlockKind kind, ir::Statement owner, std::size_t arguments, const Where& where);
  Handle argument(std::size_t index) const;  ///< of the innermost statement block
  void close();
  void close_scope(const Scope& scope) noexcept;
  bool at_task_level() const noexcept;  ///< true where loops run in parallel
  void open_group(Scope& scope, const Bounds* bounds, std::size_t groups, const std::uint64_t* extents,
                  std::size_t threads, Handle* indices, const Where& where);
  Handle thread_number(std::string_view caller, const Where& where);  ///< i64, in the group
  void open_range(Scope& scope, const Bounds* bounds, std::size_t rank, Handle* indices, const Where& where);
  void open_for(Scope& scope, const Handle& low, const Handle& high, const Handle& step, const Where& where);
  Handle open_repeat(Scope& scope, BlockKind kind, const Handle& count, const Where& where);
  void open_repeat_body(const Handle& condition, const Where& where);  ///< closes the condition
  /// Reports `what` in a loop that one thread runs.
  void expect_parallel(std::string_view what, const Where& where);
  void open_condition(Scope& scope, const Where& where);
  void open_while(Scope& scope, const Handle& condition, const Where& where);
  BranchPoint open_if(Scope& scope, const Handle& condition, const Where& where);
  void open_else(Scope& scope, const BranchPoint& branch, const Where& where);
  void open_else_if(Scope& scope, BranchPoint& branch, const Handle& condition, const Where& where);
  void open_stream_block(Scope& scope, bool conflicts_are_meant, const Where& where);
  void open_stream_region(Scope& scope, const Where& where);
  void open_function(Scope& scope, std::string_view name, const Where& where);
  void open_reduce(Scope& scope, std::string_view kind, ScalarType type, const Bounds* bounds,
                   std::size_t rank, Handle* indices, const Where& where);
  Handle close_reduce(Scope& scope, const Handle& value, const Where& where);
  /// Reports statements of the innermost statement block that write outside of it or draw random numbers.
  void expect_no_effects(std::string_view caller, const Where& where);
  void leave_loop(ir::Op op, const Where& where);  ///< break_ or continue_
  /// Refuses break_ directly in the sequential loop that was opened last. `what` names the loop in messages.
  void forbid_break(const char* what) { stack_.back().unbreakable = what; }

  void algorithm(ir::Algorithm algorithm, const Where& where);
  void random(Handle* words, std::size_t count, const Handle* element, const Where& where);

 private:
  struct OpenBlock {
    BlockKind kind;
    std::uint32_t id;
    ir::Block block;
    ir::Statement owner;  ///< receives the statement block as a body when it closes
    Where opened;
    std::vector<Handle> low, high;   ///< of parallel and reduce
    BranchPoint branch;              ///< of an else block: the branch that it belongs to
    BranchPoint last_branch;         ///< the last if_ directly in this one, to which the next else_ belongs
    bool last_branch_closed = true;  ///< true once that if_ has its else_
    /// What this sequential loop is, if break_ cannot leave it.
    const char* unbreakable = nullptr;
    bool dropped = false;            ///< opened where it is not allowed; already reported
    bool region_ended = false;       ///< no stream block joins the region that is the last statement
  };
  struct ValueInfo {
    std::uint32_t block;
    Where made;
  };
  struct LocalInfo {
    std::uint32_t block;
    Where made;
    bool shared = false;  ///< by the threads of a group
  };
  struct Diagnostic {
    Where where;
    std::string message;
    std::string place;  ///< location name for the message
  };
  /// The stream_region that is open.
  struct ActiveRegion {
    Where opened;
    bool refused = false;  ///< a statement outside of its stream blocks was reported
  };
  struct ActiveFunction {
    std::string name;
    Where made;
  };

  /// Refuses the kernel if the thread's stack is nearly full.
  void check_stack(const Where& where);
  ir::Location locate(const Where& where);
  const Where& known(const Where& where) const noexcept { return where.line() != 0 ? where : last_; }
  Handle add_value(std::uint32_t block, const Where& where);
  std::string place_refusal(const std::string& what) const;
  void close_stream_region() noexcept;
  void check_between_blocks(const ir::Statement& statement, const Where& where);
  bool is_open(std::uint32_t block) const noexcept;
  /// Index in stack_ of the innermost statement block that becomes tasks.
  std::size_t task_depth() const noexcept;
  std::string_view describe(BlockKind kind) const noexcept;
  bool may_continue(const BranchPoint& branch, std::string_view word, bool directly, const Where& where);
  Handle is_component(const Choice& choice, std::size_t i, const Where& where);
  Handle element_number(const Where& where);
  Handle draw_number(const Where& where);
  Handle repetition_number(const Where& where);  ///< u32; no value outside of any `repeat`
  std::vector<ir::ValueId> bound_operands(const Bounds* bounds, std::size_t rank, const Where& where);
  bool has_effects(const ir::Block& block, std::uint32_t outermost) const;
  void check();
  [[noreturn]] void refuse() const;

  std::uint32_t id_;
  std::uintptr_t stack_reserve_begin_ = 0, stack_reserve_end_ = 0;  ///< addresses of the thread's stack
  ir::Kernel kernel_;
  Where where_;
  Where last_;
  std::vector<OpenBlock> stack_;
  std::vector<bool> open_;           ///< by id of the statement block
  std::optional<Where> unfinished_;  ///< a condition or reduction that an exception left without its value
  bool out_of_memory_ = false;       ///< a statement block could not be closed
  std::vector<ValueInfo> values_;
  std::vector<LocalInfo> locals_;
  std::vector<ActiveFunction> functions_;
  std::optional<ActiveRegion> region_;
  std::vector<Diagnostic> diagnostics_;
  std::uint32_t random_sites_ = 0;
  const char* last_file_ = nullptr;
  std::uint32_t last_file_index_ = 0;
};

}  // namespace weir::detail
