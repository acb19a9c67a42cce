// SPDX-License-Identifier: Apache-2.0
// What stands behind a Program, and the steps of its launch: check (arguments.cpp), compile once per device
// (compile.cpp), choose grids (grid.cpp), pack arguments (pack.cpp), run (executor.hpp).
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>
#include <weir/program.hpp>

#include "codegen/codegen.hpp"
#include "ir/evaluate.hpp"
#include "ir/ir.hpp"
#include "passes/plan.hpp"
#include "runtime/device_state.hpp"
#include "runtime/launch/executor.hpp"
#include "runtime/module_state.hpp"

namespace weir::detail {

/// One task, ready to be launched on one device.
struct CompiledTask {
  weir_kernel kernel = nullptr;
  Dim3 block;
  std::uint32_t shared_bytes = 0;
  std::uint32_t site_base = 0;
};

/// A program on one device; immutable once made.
struct CompiledProgram {
  std::shared_ptr<const passes::Plan> plan;
  std::shared_ptr<ModuleState> module;
  std::vector<CompiledTask> tasks;
  std::vector<PlacedTask> placed;
  std::uint32_t argument_bytes = 0;  ///< the most that a task takes
  std::uint32_t first_site = 0;      ///< 0 when nothing can fail
  ~CompiledProgram();
};

struct ProgramState {
  std::shared_ptr<const ir::Kernel> kernel;
  std::shared_ptr<const passes::Plan> plan;  ///< with 8-byte addresses
  const std::string* name = nullptr;         ///< interned
  std::vector<ParameterInfo> parameters;
  std::atomic<std::uint64_t> launches{0};

  // By device number. A launch reads one pointer; the mutex guards the start and end of compiling, not
  // compiling itself.
  std::array<std::atomic<const CompiledProgram*>, max_devices> compiled{};
  std::array<bool, max_devices> compiling{};
  std::mutex mutex;
  std::condition_variable done;
  ~ProgramState();
};

/// The program on `device`, compiled by the first who asks.
const CompiledProgram& compiled_for(ProgramState& program, DeviceState& device);

/// libweir-codegen, opened on first use. Throws Error{compile} that says where it was looked for.
codegen::Compiler& compiler();

/// Throws Error{invalid} unless `arguments` fit the parameters, are alive and on `device`, and keep the
/// blocks of each region apart.
void check_arguments(const ProgramState& program, const DeviceState& device,
                     std::span<const LaunchArgument> arguments);

/// What tasks' arguments are made of, besides those of the launch.
struct LaunchValues final : ir::HostValues {
  LaunchValues(std::span<const LaunchArgument> arguments_) : arguments(arguments_) {}
  std::int64_t extent(std::uint32_t parameter, std::uint32_t dimension) const noexcept override;
  std::uint64_t scalar(std::uint32_t parameter, std::uint32_t lane) const noexcept override;

  std::span<const LaunchArgument> arguments;
  const Block* temporaries = nullptr;
  const StreamRecord* record = nullptr;
  std::uint64_t key = 0;
};

/// Writes the argument block of one task.
void pack_task(const DeviceState& device, const ir::Task& task, const CompiledTask& compiled,
               const LaunchValues& values, std::byte* block) noexcept;

/// Blocks to launch a task with; 0 when the host knows that there is nothing to do.
std::uint32_t choose_grid(const DeviceState& device, const passes::Plan& plan,
                          const passes::PlannedTask& task, const CompiledTask& compiled,
                          const LaunchValues& values) noexcept;

/// The key of a launch's random numbers: the same on every device.
std::uint64_t launch_key(std::uint64_t seed, std::uint64_t launch_number) noexcept;

/// Tells what a failed site of the program was.
std::shared_ptr<const class FailureSource> make_failure_source(std::shared_ptr<const ir::Kernel> kernel,
                                                               std::shared_ptr<const passes::Plan> plan);
std::uint32_t failure_sites(const passes::Plan& plan) noexcept;

}  // namespace weir::detail
