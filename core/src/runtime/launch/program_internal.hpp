// SPDX-License-Identifier: Apache-2.0
// State of a Program, and the steps of a launch: check (check_arguments.cpp, assumptions.cpp), compile once
// per device (compile.cpp), choose grids (grid.cpp), pack arguments (pack.cpp), run (run_tasks.cpp,
// executor.hpp).
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>
#include <weir/lowering.hpp>
#include <weir/program.hpp>

#include "codegen/codegen.hpp"
#include "ir/evaluate.hpp"
#include "ir/ir.hpp"
#include "passes/plan.hpp"
#include "runtime/devices/device_state.hpp"
#include "runtime/launch/executor.hpp"
#include "runtime/launch/loop_space.hpp"
#include "runtime/launch/program_graph.hpp"
#include "runtime/modules/module_state.hpp"

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
  /// Array parameters whose sizes end the argument block, for layers that request sizes; see annotate.hpp.
  std::vector<std::uint16_t> sized;
};

/// A program on one device. Immutable once made, except for its graphs.
struct DeviceProgram {
  std::shared_ptr<const passes::Plan> plan;
  std::shared_ptr<ModuleState> module;
  std::vector<CompiledTask> tasks;
  std::vector<PlacedTask> placed;
  std::uint32_t argument_bytes = 0;  ///< largest argument block of a task
  std::uint32_t first_site = 0;      ///< 0 when no statement can fail
  mutable ProgramGraphs graphs;      ///< destroyed before the module whose kernels they use
  ~DeviceProgram();
};

/// Which of a program's codes a launch takes.
struct LaunchVariant {
  codegen::LaunchAssumptions assumptions;  ///< that the launch meets
  bool shared_index = false;               ///< loops are merged by one shared index; see passes::Fusion

  static constexpr std::uint32_t count = 2 * codegen::LaunchAssumptions::sets;
  constexpr std::uint32_t number() const noexcept {
    return assumptions.number() + (shared_index ? codegen::LaunchAssumptions::sets : 0);
  }
};

/// The code of a program on one device, by LaunchVariant; compiled on first use.
struct CompiledVariants {
  std::array<std::atomic<const DeviceProgram*>, LaunchVariant::count> by_variant{};
};

struct ProgramState {
  std::shared_ptr<const ir::Kernel> kernel;
  std::shared_ptr<const passes::Plan> plan;  ///< with 8-byte addresses; no loops are merged
  bool merges = false;                       ///< launches without aliases take merged loops
  /// The plan with loops merged by a shared index, if any are in launches that meet all assumptions.
  std::shared_ptr<const passes::Plan> shared_plan;
  const KernelOrigin* origin = nullptr;  ///< of its first task
  std::vector<ParameterInfo> parameters;
  std::atomic<std::uint64_t> launches{0};

  // By device number. A launch reads two pointers; the mutex guards the start and end of compiling, not
  // compiling itself.
  std::array<std::atomic<CompiledVariants*>, max_devices> compiled{};
  std::array<bool, max_devices> compiling{};
  std::mutex mutex;
  std::condition_variable done;
  ~ProgramState();

  const std::string& name() const noexcept { return origin->name; }
};

/// The program on `device` for launches with these assumptions; compiled by the first caller.
const DeviceProgram& compiled_for(ProgramState& program, DeviceState& device, const LaunchVariant& variant);

/// "no_alias,index32"; "" for no assumption. Takes LaunchAssumptions::number().
std::string words_of(std::uint32_t assumptions);

/// Determines which loops of the program can be merged, unless WEIR_FUSION=off. Throws Error{invalid} when
/// WEIR_FUSION is neither on, same_space nor off.
void prepare_fusion(ProgramState& program);
/// The plan in which every loop is a task.
std::shared_ptr<const passes::Plan> separate_plan(const ProgramState& program, std::uint32_t address_bytes);
/// The plan for launches of that variant; the separate one where nothing can be merged.
std::shared_ptr<const passes::Plan> plan_for(const ProgramState& program, std::uint32_t address_bytes,
                                             const LaunchVariant& variant);
/// Whether one thread for each value of the shared indices is expected to be faster for these arguments.
bool prefers_shared_index(const ProgramState& program, const DeviceState& device,
                          const LaunchValues& values) noexcept;

/// Throws Error{invalid} unless `arguments` fit the parameters, are alive and on `device`, and do not let
/// blocks of a region share memory that one of them writes.
void check_arguments(const ProgramState& program, const DeviceState& device,
                     std::span<const LaunchArgument> arguments);

/// Sources of the tasks' argument values, besides the launch's own arguments.
struct LaunchValues final : ir::HostValues {
  LaunchValues(std::span<const LaunchArgument> arguments_) : arguments(arguments_) {}
  std::int64_t extent(std::uint32_t parameter, std::uint32_t dimension) const noexcept override;
  std::uint64_t scalar(std::uint32_t parameter, std::uint32_t lane) const noexcept override;

  std::span<const LaunchArgument> arguments;
  const Block* temporaries = nullptr;
  std::uint64_t temporaries_offset = 0;  ///< of this launch's part of the scratch memory
  const StreamRecord* record = nullptr;
  std::uint64_t key = 0;

  /// Keeps the loop space of a task for reuse by later steps. Only the first tasks are kept, and they must
  /// come in order.
  void remember(std::size_t task, const LoopSpace& space) noexcept {
    if (task < spaces_.size()) spaces_[known_spaces_++] = space;
  }
  /// For plans with other tasks.
  void forget() noexcept { known_spaces_ = 0; }
  const LoopSpace* remembered(std::size_t task) const noexcept {
    return task < known_spaces_ ? &spaces_[task] : nullptr;
  }

 private:
  std::array<LoopSpace, 8> spaces_;
  std::size_t known_spaces_ = 0;
};

/// True if an array whose elements have `lanes` scalars meets codegen::LaunchAssumptions::index32.
bool has_index32(std::span<const std::int64_t> extents, std::uint64_t lanes) noexcept;
/// The assumptions that most launches meet; used for compilation ahead of a first launch.
codegen::LaunchAssumptions usual_assumptions(const ProgramState& program, const DeviceState& device) noexcept;
/// The code that this launch takes; its arguments must be checked. Throws Error{invalid} for a loop
/// with more iterations than can be counted.
LaunchVariant check_launch(const ProgramState& program, const DeviceState& device, LaunchValues& values);

/// Writes the argument block of one task.
void pack_task(const DeviceState& device, const ir::Task& task, const CompiledTask& compiled,
               const LaunchValues& values, std::byte* block) noexcept;

/// Number of a kernel's blocks that a device with many threads runs at once.
std::uint32_t resident_blocks(const DeviceInfo& device, const weir_kernel_info& kernel,
                              std::uint32_t block_threads, std::uint32_t shared_bytes) noexcept;

/// Number of blocks for a task; 0 if the host computes that the loop is empty.
std::uint32_t choose_grid(const DeviceInfo& device, const passes::Plan& plan, const passes::PlannedTask& task,
                          const CompiledTask& compiled, const LaunchValues& values) noexcept;

/// Submits all tasks of a launch. Its arguments must be checked, and their earlier uses ordered before it.
void run_tasks(const ProgramState& program, const DeviceProgram& compiled, StreamState& stream,
               const LaunchValues& values, LaunchMode mode);

/// The key of a launch's random numbers: the same on every device.
std::uint64_t launch_key(std::uint64_t seed, std::uint64_t launch_number) noexcept;

/// Source location of `task`; only the kernel's name if the location is unknown.
const KernelOrigin* origin_of(const ir::Kernel& kernel, const ir::Task& task);

/// Returns the source that describes failed sites of the program.
std::shared_ptr<const class FailureSource> make_failure_source(std::shared_ptr<const ir::Kernel> kernel,
                                                               std::shared_ptr<const passes::Plan> plan);
std::uint32_t failure_sites(const passes::Plan& plan) noexcept;

}  // namespace weir::detail
