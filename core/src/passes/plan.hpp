// SPDX-License-Identifier: Apache-2.0
// The plan of a kernel: its tasks in program order, the tasks that may run concurrently, and the requirements
// on a launch. Made once per kernel and argument style. Immutable and shared by all launches.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/ir.hpp"
#include "ir/task.hpp"
#include "passes/fuse.hpp"
#include "passes/traffic.hpp"

namespace weir::passes {

/// One bound of a loop, in a form that the host evaluates before the launch to choose a grid.
struct HostBound {
  enum class Kind : std::uint8_t { constant, extent, scalar, expression, device };
  Kind kind = Kind::device;  ///< device: computed there only; the grid is then the default
  std::int64_t constant = 0;
  std::uint16_t parameter = 0;   ///< extent, scalar
  std::uint8_t index = 0;        ///< extent: dimension; scalar: component
  std::uint32_t expression = 0;  ///< index into Plan::expressions; evaluated by ir::evaluate
  bool varies = false;           ///< uses the number of a repetition, so it may differ between repetitions
};

/// Pure statements over constants, arguments and extents; `result` is i64.
struct HostExpression {
  std::vector<ir::Statement> statements;
  ir::ValueId result = ir::no_value;
};

/// The space of a loop.
struct LoopBounds {
  std::uint8_t rank = 0;  ///< 0 for serial tasks
  std::array<HostBound, max_rank> low, high;

  bool vary() const noexcept {
    for (std::uint8_t d = 0; d < rank; ++d)
      if (low[d].varies || high[d].varies) return true;
    return false;
  }
};

/// A loop of the kernel as written, in the task that runs it.
struct PlannedLoop {
  ir::Location location;
  LoopBounds bounds;
  std::uint32_t cost = 0;  ///< operations per iteration of a phase; 0 for one merged with the loop before it
};

/// Tasks that each launch submits several times, because the host can compute how often.
struct PlannedRepeat {
  std::uint32_t begin = 0, end = 0;  ///< tasks
  std::uint32_t depth = 0;           ///< number of those around it; see ir::Op::repetition
  HostBound count;                   ///< evaluated when it begins; may use the numbers of those around it
  ir::Location location;
};

/// Position of a task in the plan.
struct PlannedTask : LoopBounds {
  ir::Task task;
  std::int32_t region = -1;          ///< index of the region in program order, -1 outside
  std::int32_t block = -1;           ///< stream block of the region; 0 stays on the caller's stream
  std::int32_t group = 0;            ///< of the stream block; its groups do not depend on each other
  bool conflicts_are_meant = false;  ///< allowed with other stream blocks of the region
  bool found_independent = false;    ///< the kernel does not write the region; see passes/concurrency.hpp
  /// No inner loop of unknown length is in `task.cost`; or in the costs of `phases`, each of which runs once.
  bool cost_is_exact = false;
  std::vector<std::uint16_t>
      divided;  ///< array parameters of which the stream blocks of the region use different parts
  std::vector<ArrayTraffic> traffic;  ///< of the arrays that it accesses
  std::vector<PlannedLoop> merged;    ///< the loops of a merged task, else empty
  bool keeps_loops = false;           ///< iterations of a merged task contain loops of several iterations
  std::vector<PlannedLoop> phases;    ///< the loops of a task of phases, else empty
  std::uint32_t barriers = 0;         ///< of the grid, in a cooperative task that runs each statement once
  std::string title;                  ///< of a merged task or one of phases: its name and its loops' lines

  /// The name for profiles.
  const std::string& label() const noexcept { return title.empty() ? task.name : title; }
};

/// Blocks of a region that must not share memory through different parameters; checked at each launch.
struct AliasCheck {
  std::uint16_t written;  ///< array parameter written in one stream block
  std::uint16_t touched;  ///< array parameter used in a sibling stream block
  ir::Location written_at, touched_at;
};

/// Accesses of the kernel to a parameter, for users' checks and for validation layers.
struct ParameterUse {
  bool read = false;
  bool written = false;
};

struct Plan {
  std::vector<PlannedTask> tasks;            ///< in program order; tasks of one region are consecutive
  std::vector<std::uint32_t> region_blocks;  ///< number of non-empty stream blocks of each region
  std::vector<PlannedRepeat> repeats;        ///< in the order of their first tasks; outer before inner ones
  std::vector<HostExpression> expressions;
  std::vector<AliasCheck> alias_checks;
  std::vector<ParameterUse> parameters;
  std::vector<FusionDecision> fusion;  ///< of neighbouring loops; empty unless asked for
  std::vector<FusionDecision> order;   ///< neighbouring loops that run in order, likewise
  std::uint32_t scratch_bytes = 0;     ///< per launch; 0 when nothing passes between tasks
  bool uses_error_record = false;      ///< asserts or bounds checks
  bool uses_launch_key = false;        ///< random numbers
  bool prints = false;                 ///< some task needs the stream's print buffer
  bool is_separate = false;      ///< the tasks are those that any plan without merging and reordering has
  bool has_merged = false;       ///< some task was merged from several loops
  bool has_independent = false;  ///< some region or group is not in the kernel
  bool has_cooperative = false;  ///< some task needs the launch's grid barriers
};

/// The memory traffic of an iteration; nothing if an inner loop accesses an array, as its share is unknown.
std::optional<std::uint64_t> bytes_per_iteration(const PlannedTask& task) noexcept;

/// The task that runs the loop at `location`, in a plan in which each loop is a task; null if there is none.
const PlannedTask* find_loop(const Plan& separate, const ir::Location& location) noexcept;

/// How a plan may differ from the kernel as written.
struct PlanOptions {
  Fusion fusion = Fusion::none;
  FusionAssumptions known{};  ///< properties of launches that merging may rely on
  /// Makes several consecutive tasks the phases of one. A `repeat` whose count or condition is computed on
  /// the device is always one task.
  bool phases = false;
  /// Makes the tasks of such a `repeat` cooperative. Not with `phases`.
  bool cooperative = false;
  /// Makes regions of loops that do not depend on each other; with `phases`, only of all loops together.
  bool concurrency = false;
  /// With `phases`, a `repeat` with a single task is one task of phases, too, so that each task runs once.
  bool each_once = false;
};

/// Makes the plan. `address_bytes` is the size of an address in argument blocks: 8, or 16 for devices that
/// bind buffers.
Plan make_plan(const ir::Kernel& kernel, std::uint32_t address_bytes, const PlanOptions& options = {});

}  // namespace weir::passes
