// SPDX-License-Identifier: Apache-2.0
// State of a Program: its kernel and plan, and its compiled code on each device. launch_steps.hpp has the
// steps of a launch.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>
#include <weir/lowering.hpp>
#include <weir/program.hpp>

#include "codegen/codegen.hpp"
#include "ir/ir.hpp"
#include "ir/struct_parameter.hpp"
#include "passes/plan.hpp"
#include "passes/split_algorithms.hpp"
#include "runtime/devices/device_state.hpp"
#include "runtime/launch/executor.hpp"
#include "runtime/launch/program_graph.hpp"
#include "runtime/modules/module_state.hpp"
#include "runtime/programs/annotate.hpp"

namespace weir::detail {

/// One task, ready to be launched on one device.
struct CompiledTask {
  weir_kernel kernel = nullptr;
  const KernelOrigin* origin = nullptr;
  Dim3 block;
  std::uint32_t shared_bytes = 0;
  std::uint32_t site_base = 0;
  std::uint32_t block_share = 1;      ///< see codegen::CodeObject::Entry
  std::uint32_t waves = 0;            ///< see codegen::CodeObject::Entry
  Lowering lowering;                  ///< the forms that its code uses
  std::uint32_t resident_blocks = 0;  ///< number that run at once; for devices with many threads
  std::uint32_t registers = 0;        ///< of a thread, likewise
  std::uint32_t stack_bytes = 0;      ///< of a thread: local variables and spilled registers
  /// The arrays whose accessed parts end the argument block, for layers that request them.
  std::vector<StatedArray> stated;
};

/// A program on one device. Immutable once made, except for its graphs.
struct DeviceProgram {
  std::shared_ptr<const passes::Plan> plan;
  codegen::LaunchAssumptions assumptions;  ///< of its code: those of its variant, or fewer
  std::vector<std::shared_ptr<ModuleState>> modules;
  std::vector<CompiledTask> tasks;
  std::vector<PlacedTask> placed;            ///< over streams
  std::vector<PlacedTask> placed_in_graphs;  ///< the groups of stream blocks are branches, too
  std::vector<RepeatedTasks> repeats;  ///< by entry of the plan's repeats
  bool forks = false;                  ///< a region has several stream blocks
  std::uint32_t argument_bytes = 0;    ///< largest argument block of a task
  std::uint32_t first_site = 0;        ///< 0 when no statement can fail or prints
  mutable ProgramGraphs graphs;        ///< destroyed before the modules whose kernels they use
  ~DeviceProgram();
};

/// The variant of a program's code that a launch takes.
struct LaunchVariant {
  codegen::LaunchAssumptions assumptions;  ///< that the launch meets
  bool shared_index = false;               ///< loops are merged by one shared index; see passes::Fusion
  bool phases = false;       ///< consecutive tasks are the phases of one; see passes::PlanOptions
  bool cooperative = false;  ///< repeats that end on the device run on the whole grid

  static constexpr std::uint32_t count = 8 * codegen::LaunchAssumptions::sets;
  constexpr std::uint32_t number() const noexcept {
    return assumptions.number() + (shared_index ? codegen::LaunchAssumptions::sets : 0) +
           (phases ? 2 * codegen::LaunchAssumptions::sets : 0) +
           (cooperative ? 4 * codegen::LaunchAssumptions::sets : 0);
  }
  static constexpr LaunchVariant of(std::uint32_t number) noexcept {
    constexpr std::uint32_t sets = codegen::LaunchAssumptions::sets;
    return {{(number & 1) != 0, (number & 2) != 0, (number & 4) != 0, (number & 8) != 0},
            (number & sets) != 0,
            (number & 2 * sets) != 0,
            (number & 4 * sets) != 0};
  }
};

/// A compilation that one thread runs, and others may wait for.
struct RunningCompilation {
  bool ended = false;
  std::exception_ptr error;
};

/// The code of a program on one device, by LaunchVariant; compiled on first use.
struct CompiledVariants {
  std::array<std::atomic<const DeviceProgram*>, LaunchVariant::count> by_variant{};
  /// By LaunchVariant::number(). The mutex guards the start and end of compiling, not compiling itself.
  std::map<std::uint32_t, std::shared_ptr<RunningCompilation>> running;
  std::mutex mutex;
  std::condition_variable ended;
};

/// An array parameter that takes strided arrays.
struct StridedParameter {
  std::uint32_t parameter = 0;
  ElementType element;  ///< of the arrays
  std::uint8_t rank = 0;
  friend bool operator==(const StridedParameter&, const StridedParameter&) = default;
};

/// A program for other layouts of its struct arrays, or for strided arrays, in a list that only grows.
struct PlacedProgram {
  std::shared_ptr<ProgramState> program;
  bool debugged;
  const PlacedProgram* next;
};

/// A step of a kernel with algorithms.
struct ProgramStep {
  std::shared_ptr<ProgramState> part;  ///< null for an algorithm
  passes::AlgorithmStep algorithm;
};

struct ProgramState {
  std::shared_ptr<const ir::Kernel> kernel;
  /// Of a kernel with algorithms, which has no tasks of its own; else empty. See launch/launch_parts.hpp.
  std::vector<ProgramStep> steps;
  std::vector<passes::CarriedArray> carried;  ///< arguments of its parts, after the kernel's own
  std::shared_ptr<const passes::Plan> plan;   ///< with 8-byte addresses; no loops are merged
  bool merges = false;                       ///< launches without aliases take merged loops
  bool concurrent = false;                   ///< launches without aliases run some loops at the same time
  bool counts = false;  ///< loops without aliases may count or add in private memory, or print late
  /// For launches that meet all assumptions, with 8-byte addresses: the plan with loops merged over one space
  /// or by a shared index, if any are. Those of other launches are made when they are compiled.
  std::shared_ptr<const passes::Plan> same_plan, shared_plan;
  bool shares_on_cpus = false;           ///< launches on CPUs may take `shared_plan`, too
  bool shares_conflicting_rows = false;  ///< also where the rows of all arrays conflict in caches
  bool has_known_spaces = false;         ///< a launch's arguments determine the spaces of all loops
  bool may_have_phases = false;          ///< has_phases() finds out
  mutable std::atomic<signed char> phases_found{
      -1};                               ///< the result of has_phases(), -1 before its first call
  bool cooperates = false;               ///< launches over many iterations may take cooperative tasks
  const KernelOrigin* origin = nullptr;  ///< of its first task
  std::vector<ParameterInfo> parameters;
  std::vector<ir::StructParameter> structs;
  std::vector<Layout> layouts;  ///< of `structs`
  /// Of the arguments that for_layouts() was given; see dense_arguments.hpp.
  std::vector<StridedParameter> strided;
  /// Programs for other layouts and for strided arrays; see layouts.hpp. The mutex guards additions.
  std::atomic<const PlacedProgram*> placed{nullptr};
  std::mutex placing;
  /// Number of launches, for random numbers; shared with the programs for other layouts and with the parts.
  std::shared_ptr<std::atomic<std::uint64_t>> launches = std::make_shared<std::atomic<std::uint64_t>>(0);
  std::atomic<bool> debugged{false};  ///< launches run in the interpreter; see debug_launch.hpp

  std::array<std::atomic<CompiledVariants*>, max_devices> compiled{};  ///< by device number
  ~ProgramState();

  const std::string& name() const noexcept { return origin->name; }
  /// Whether two parameters are members of one struct array, which share no bytes in any layout.
  bool members_of_one(std::size_t a, std::size_t b) const noexcept {
    for (const ir::StructParameter& array : structs)
      if (array.has_member(a) && array.has_member(b)) return a != b;
    return false;
  }
};

/// Calls visit(part) for each part of a kernel with algorithms, else visit(program).
template <class Program, class Visit>
void for_each_part(Program& program, const Visit& visit) {
  if (program.steps.empty()) return visit(program);
  for (const ProgramStep& step : program.steps)
    if (step.part) visit(*step.part);
}

/// The program on `device` for launches of the variant; compiled by the first caller. Others wait for it, and
/// throw a copy of its failure. Calls after a failure compile again.
const DeviceProgram& compiled_for(ProgramState& program, DeviceState& device, const LaunchVariant& variant);
/// Compiles the variants that launches with ordinary arguments take.
void compile_usual_variants(ProgramState& program, DeviceState& device);

/// "no_alias,index32"; "" for no assumption. Takes LaunchAssumptions::number().
std::string format_assumptions(std::uint32_t assumptions);

/// Determines which loops of the program can be merged, unless WEIR_FUSION=off. Throws Error{invalid} when
/// WEIR_FUSION is none of on, same_space, off and always.
void prepare_fusion(ProgramState& program);
/// Whether loops are merged also where that does not pay on CPUs: with WEIR_FUSION=always, for tests.
bool merges_always();
/// Whether launches over few iterations take a plan with phases. The first call makes such a plan, so a
/// program whose loops are all long never pays for it.
bool has_phases(const ProgramState& program);
/// The plan in which every loop is a task.
std::shared_ptr<const passes::Plan> separate_plan(const ProgramState& program, std::uint32_t address_bytes);
/// The plan for launches of that variant; the separate one where nothing can be merged.
std::shared_ptr<const passes::Plan> plan_for(const ProgramState& program, std::uint32_t address_bytes,
                                             const LaunchVariant& variant);
/// The plan in which every loop is a task. It says why the loops that `merged` merges are not merged.
std::shared_ptr<const passes::Plan> plan_apart(const ProgramState& program, std::uint32_t address_bytes,
                                               const passes::Plan& merged, const std::string& reason);
/// Whether an error of code with merged loops may be that they exceed a limit together.
inline bool may_exceed_limit(const Error& error) noexcept {
  return error.code() == ErrorCode::unsupported || error.code() == ErrorCode::invalid;
}
/// Returns compile(plan). Loops that share a task add up their local arrays and their arguments. If that may
/// exceed a limit of the device, the result is that of the plan in which every loop is a task.
template <class Compile>
auto compile_within_limits(const ProgramState& program, std::uint32_t address_bytes,
                           const std::shared_ptr<const passes::Plan>& plan, const Compile& compile) {
  try {
    return compile(plan);
  } catch (const Error& error) {
    if (plan == program.plan || !may_exceed_limit(error)) throw;
    return compile(plan_apart(program, address_bytes, *plan, std::string("in one task, ") + error.what()));
  }
}
/// The variants that launches with these assumptions may take on a device that loads the format.
std::vector<LaunchVariant> variants_with(const ProgramState& program,
                                         const codegen::LaunchAssumptions& assumptions,
                                         std::string_view format);
/// Whether launches on the device may take cooperative tasks.
bool may_cooperate(const ProgramState& program, const DeviceState& device) noexcept;
/// Whether launches on such a device may take the plan with loops merged by a shared index.
bool may_share_index(const ProgramState& program, bool cpu) noexcept;

/// Source location of `task`; only the kernel's name if the location is unknown.
const KernelOrigin* origin_of(const ir::Kernel& kernel, const ir::Task& task);

/// Returns the source that describes failed sites of the program.
std::shared_ptr<const class FailureSource> make_failure_source(const ProgramState& program,
                                                               std::shared_ptr<const passes::Plan> plan);
std::uint32_t failure_sites(const passes::Plan& plan) noexcept;

}  // namespace weir::detail
