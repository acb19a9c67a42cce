// SPDX-License-Identifier: Apache-2.0
// The steps of a launch, in their order. Each is in the file of its name: check_arguments.cpp,
// assumptions.cpp, programs/compile.cpp (compiled_for, in program_state.hpp), run_tasks.cpp. Executors call
// grid.cpp and pack.cpp for each task.
#pragma once

#include <array>
#include <span>

#include "codegen/codegen.hpp"
#include "ir/evaluate.hpp"
#include "ir/verifier.hpp"
#include "runtime/launch/loop_space.hpp"
#include "runtime/programs/program_state.hpp"

namespace weir::detail {

class ReturnTarget;
struct GridBarriers;

/// Sources of the tasks' argument values, besides the launch's own arguments.
struct LaunchValues final : ir::HostValues {
  LaunchValues(std::span<const LaunchArgument> arguments_) : arguments(arguments_) {}
  std::int64_t extent(std::uint32_t parameter, std::uint32_t dimension) const noexcept override;
  std::uint64_t scalar(std::uint32_t parameter, std::uint32_t component) const noexcept override;
  std::int64_t repetition(std::uint32_t depth) const noexcept override { return repetitions[depth]; }

  std::span<const LaunchArgument> arguments;
  const MemoryBlock* scratch = nullptr;
  std::uint64_t scratch_offset = 0;  ///< of this launch's part of the scratch memory
  const StreamRecord* record = nullptr;
  const PrintBuffer* prints = nullptr;
  std::uint32_t launch_number = 0;  ///< of the stream, for prints
  const GridBarriers* barriers = nullptr;
  std::uint32_t first_barrier = 0;  ///< of this launch
  std::uint64_t key = 0;
  std::array<std::int64_t, ir::max_repeats> repetitions{};  ///< the current ones, by depth
  /// Of all loops of a launch that takes phases; the largest number if unknown.
  std::uint64_t phase_operations = ~std::uint64_t{0};

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

/// The repeats of a program whose repetitions the host submits, for walk().
struct HostRepeats {
  const DeviceProgram* compiled;
  LaunchValues* values;

  std::span<const RepeatedTasks> tasks() const noexcept { return compiled->repeats; }
  std::int64_t repetitions(std::size_t number) const noexcept {
    return repetition_count(*compiled->plan, compiled->plan->repeats[number], *values);
  }
  void repetition(std::size_t number, std::int64_t k) const noexcept {
    values->repetitions[compiled->plan->repeats[number].depth] = k;
  }
};

/// Calls `visit(task)` for each task of the program in their order, repeated ones each time.
template <class Visit>
void for_each_task(HostRepeats repeats, Visit&& visit) {
  if (repeats.tasks().empty()) {
    for (std::size_t i = 0; i < repeats.compiled->tasks.size(); ++i) visit(i);
    return;
  }
  struct Visitor : HostRepeats {
    Visit& visit;
    void fork(std::uint32_t) const noexcept {}
    void task(std::size_t index, std::uint32_t) { visit(index); }
    void join() const noexcept {}
  } visitor{repeats, visit};
  walk(std::span<const PlacedTask>(repeats.compiled->placed), 0, visitor, repeats.tasks());
}

/// The counts of a launch's repeats, in the order in which it begins them, and the number of its tasks with
/// all repetitions. Launches with equal counts are equal lists of tasks. Of more than max_repeated_nodes
/// tasks or repeats, of which no graph is made: no counts, and one task more than that.
struct RepeatCounts {
  std::vector<std::int64_t> counts;
  std::size_t tasks = 0;
};
RepeatCounts count_repetitions(const DeviceProgram& compiled, LaunchValues& values);

/// Submits a launch; see Program::launch. `returns` receives its values; null if it returns none.
void launch(const std::shared_ptr<ProgramState>& program, const StreamRef& on,
            std::span<const LaunchArgument> arguments, const LaunchOptions& options, ReturnTarget* returns);

/// Throws Error{invalid} unless `arguments` fit the parameters, and are alive and on `device`. Also throws if
/// stream blocks of a region would share memory that one of them writes.
void check_arguments(const ProgramState& program, const DeviceState& device,
                     std::span<const LaunchArgument> arguments);

/// For the arguments of a recorded call, whose program is for certain layouts and strided arrays: throws
/// Error{invalid} if `arguments` are not in that form.
void check_form(const ProgramState& program, std::span<const LaunchArgument> arguments);

/// True if an array whose elements have `components` scalars meets codegen::LaunchAssumptions::index32.
bool has_index32(std::span<const std::int64_t> extents, std::uint64_t components) noexcept;
/// The assumptions that most launches meet; used for compilation ahead of a first launch.
codegen::LaunchAssumptions usual_assumptions(const ProgramState& program, bool cpu) noexcept;
/// The code that this launch takes; its arguments must be checked. Throws Error{invalid} for a loop
/// with more iterations than can be counted.
LaunchVariant choose_variant(const ProgramState& program, const DeviceState& device, LaunchValues& values);
/// Whether a loop of so many iterations takes at most as long in one block as in a separate launch. If it
/// does, adds its operations to `operations`, which becomes the largest number if they are unknown.
bool fits_a_phase(const DeviceState& device, const passes::PlannedTask& planned, const LoopSpace& space,
                  std::uint64_t& operations) noexcept;
/// Whether a task whose repetitions only the device can end is expected to be faster on the whole grid.
bool prefers_the_grid(const ProgramState& program, const passes::PlannedTask& planned,
                      const LaunchValues& values) noexcept;
/// Whether one thread for each value of the shared indices is expected to be faster for these arguments.
bool prefers_shared_index(const ProgramState& program, const DeviceState& device,
                          const LaunchValues& values) noexcept;

/// Writes the argument block of one task.
void pack_task(const DeviceState& device, const passes::Plan& plan, const passes::PlannedTask& planned,
               const CompiledTask& compiled, const LaunchValues& values, std::byte* block) noexcept;

inline std::uint32_t launch_flags(const ir::Task& task) noexcept {
  return task.cooperative ? std::uint32_t{WEIR_LAUNCH_COOPERATIVE} : 0;
}

/// Number of a kernel's blocks that a device with many threads runs at once.
std::uint32_t resident_blocks(const DeviceInfo& device, const weir_kernel_info& kernel,
                              std::uint32_t block_threads, std::uint32_t shared_bytes) noexcept;

/// About 5 microseconds on one core of a CPU; less work is not worth a second core.
inline constexpr std::uint64_t operations_per_cpu_block = 10'000;

/// Number of blocks for a task; 0 if the host computes that the loop is empty.
std::uint32_t choose_grid(const DeviceInfo& device, const passes::Plan& plan, const passes::PlannedTask& task,
                          const CompiledTask& compiled, const LaunchValues& values) noexcept;

/// Estimate of the bytes that a task moves between the device's memory and its processors. It counts the
/// loaded and the stored elements of each array, each at most the whole array.
std::uint64_t memory_traffic(const passes::Plan& plan, const passes::PlannedTask& task,
                             const LaunchValues& values) noexcept;

/// Submits all tasks of a launch. Its arguments must be checked, and their earlier uses ordered before it.
void run_tasks(const ProgramState& program, const DeviceProgram& compiled, StreamState& stream,
               LaunchValues& values, LaunchMode mode);

/// The key of a launch's random numbers: the same on every device.
std::uint64_t launch_key(std::uint64_t seed, std::uint64_t launch_number) noexcept;
/// The number of the program's next launch, which takes one unless `options` has one.
std::uint64_t next_launch_number(const ProgramState& program, const LaunchOptions& options) noexcept;
/// The key of that launch.
std::uint64_t next_launch_key(const ProgramState& program, const LaunchOptions& options) noexcept;

}  // namespace weir::detail
