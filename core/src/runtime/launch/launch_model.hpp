// SPDX-License-Identifier: Apache-2.0
// Model of launch costs: whether the stream blocks of a region run concurrently, and whether a graph costs
// the host less than streams. Its constants are fixed per kind of device and nothing is timed, so equal
// launches make equal choices on a busy machine and on an idle one. The choices affect speed only.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/launch/executor.hpp"
#include "runtime/launch/launch_steps.hpp"

namespace weir::detail {

/// Larger regions always run concurrently.
inline constexpr std::size_t max_modelled_tasks = 64;

/// Work of one task of a region, as far as the host can compute it before the launch.
struct TaskLoad {
  static constexpr std::uint64_t unknown = ~std::uint64_t{0};
  std::uint64_t operations;  ///< or unknown
  std::uint64_t width;       ///< blocks that its work can be divided into
  std::uint64_t capacity;    ///< blocks of this task that the device runs at once
  std::uint32_t branch;      ///< of the region, below max_modelled_tasks
};

/// How the tasks of a launch are submitted.
enum class SubmittedAs : std::uint8_t { streams, graph };

/// True if the stream blocks of a region run one after the other, because concurrency gains nothing:
///
/// - Each stream block contains a task that fills the device at least twice, and every other task is short.
///   Such stream blocks compete for the same cores and memory.
/// - On CPUs, over streams: concurrency saves at most the time of two wake-ups of a thread.
///
/// A task of unknown work that does not fill the device runs concurrently.
///
/// A `found` region, which the kernel does not write, forks only where a gain is expected. All work must then
/// be known, unless its stream blocks are branches of a graph of a GPU, which cost nothing.
bool runs_in_order(DeviceKind kind, SubmittedAs how, std::span<const TaskLoad> tasks,
                   bool found = false) noexcept;

/// The regions of a launch, as bits by PlacedTask::region, whose stream blocks run one after the other in the
/// caller's stream. Regions from 64 on are never among them.
std::uint64_t regions_in_order(const DeviceInfo& device, const DeviceProgram& program,
                               const LaunchValues& values, SubmittedAs how) noexcept;

/// The loads of a launch's tasks, all in branch 0.
std::vector<TaskLoad> loads_of(const DeviceInfo& device, const DeviceProgram& program,
                               const LaunchValues& values);

/// Whether two launches or copies with these loads gain from being branches of a graph, which the program
/// does not ask for; see runs_in_order.
bool gain_as_branches(DeviceKind kind, std::span<const TaskLoad> a, std::span<const TaskLoad> b) noexcept;

/// The smallest number of changed nodes for which a launch of `tasks` as one graph costs the host as much as
/// separate launches, or more. These have `events` records of and waits for events. 0 if a graph always costs
/// more.
std::uint32_t updates_too_many(DeviceKind kind, std::size_t tasks, std::size_t events) noexcept;

/// The records and waits of a launch over streams, without the regions that run in order.
std::size_t events_of(std::span<const PlacedTask> tasks, std::uint64_t in_order) noexcept;

}  // namespace weir::detail
