// SPDX-License-Identifier: Apache-2.0
// State of a Graph: the recorded calls, their order, and one driver graph per stream.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>
#include <weir/graph.hpp>

#include "runtime/launch/driver_graph.hpp"
#include "runtime/launch/launch_steps.hpp"
#include "runtime/launch/stream_slots.hpp"

namespace weir::detail {

/// A launch of an IR kernel, with copies of its arguments.
struct ProgramCall {
  Program program;
  LaunchOptions options;
  std::vector<std::byte> scalars;
  std::vector<AnyArrayView> views;
  std::vector<LaunchArgument> arguments;  ///< point into `scalars` and `views`
  const DeviceProgram* compiled = nullptr;
  std::uint64_t scratch_offset = 0;
  std::uint32_t first_barrier = 0;  ///< of those that it may use; calls of a graph may run at the same time
  RepeatCounts repeats{};           ///< with these arguments

  const passes::Plan& plan() const noexcept { return *compiled->plan; }
};

/// A launch of a kernel from a module, with its arguments packed.
struct KernelCall {
  std::shared_ptr<const KernelState> kernel;
  LaunchShape shape;
  std::vector<std::byte> arguments;
  std::int32_t region = -1, block = -1;  ///< for profiles
};

/// One copy or fill of the driver.
struct Transfer {
  weir_graph_node work{};
  std::byte pattern[16] = {};
};

/// A copy or a fill: transfers that run one after the other. Only fills with elements that are not a repeated
/// pattern have several, see fill_pattern.hpp.
struct TransferCall {
  /// Of the operation, as in enum weir_graph_node_kind. A fill may continue with copies, and a transfer of no
  /// bytes is an empty node.
  std::uint32_t kind;
  std::vector<Transfer> transfers;
};

struct GraphCall {
  std::variant<ProgramCall, KernelCall, TransferCall> what;
  std::vector<AnyArrayView> arrays;
  std::uint64_t version = 1;  ///< of its arguments; one counter for all calls of a graph
  std::uint64_t number = 0;   ///< no other recorded call of the process has it; kept by replace()

  const KernelOrigin* kernel() const noexcept;
  std::size_t node_count() const noexcept;
  /// node_count() of a call with repeats, else 0.
  std::size_t repeated_tasks() const noexcept;
};

struct GraphStep {
  enum class Kind : std::uint8_t { call, fork, branch, join };
  Kind kind;
  std::uint32_t value = 0;  ///< call: its index; fork: number of branches; branch: its index
};

/// The driver graph for launches on one stream, and the state last written to its nodes.
struct GraphInstance {
  std::optional<DriverGraph> graph;
  std::vector<std::uint32_t> nodes;        ///< of all calls, in order
  std::vector<std::uint32_t> first_nodes;  ///< by call, in `nodes`
  std::uint64_t version = 0;
  std::uint64_t shape = 0;   ///< GraphState::shape of the nodes
  std::uint64_t memory = 0;  ///< GraphState::memory for which `order` was found to suffice
  /// By call, all earlier ones of its row that it follows; see call_order.hpp.
  std::vector<std::uint64_t> order;
  bool in_order = false;  ///< rows stay in order, since updates required another order once
  std::pair<weir_allocation, std::uint64_t> scratch{};
  const StreamRecord* record = nullptr;
  const GridBarriers* barriers = nullptr;
  std::vector<std::uint64_t> keys;  ///< by call, of the current launch
};

struct GraphState {
  explicit GraphState(DeviceState& device_) : device(device_) {}
  GraphState(const GraphState&) = delete;
  GraphState& operator=(const GraphState&) = delete;

  /// Appends a call that is checked and complete, and numbers it.
  CallNumbers record(GraphCall call);
  /// Replaces a call; the order and the scratch memory of the others stay unchanged.
  void replace(std::uint32_t index, GraphCall call);
  /// Removes steps and calls from these positions on.
  void truncate(std::size_t steps, std::size_t calls) noexcept;

  DeviceState& device;
  std::vector<GraphStep> steps;
  std::deque<GraphCall> calls;
  std::vector<std::shared_ptr<const void>> kept;  ///< GraphBuilder::keep
  std::uint32_t open_branches = 0;  ///< open branches of the builder

  /// Blocks of memory in use, each once, with the generation that identifies the owning array.
  using Owned = std::pair<MemoryBlock*, std::uint64_t>;
  std::vector<Owned> blocks;

  std::uint64_t version = 1;
  std::uint64_t shape = 1;   ///< changes with the number and the order of the tasks of a call
  std::uint64_t memory = 1;  ///< changes with the memory that a call takes
  std::uint64_t scratch_bytes = 0;
  std::uint32_t barriers = 0;      ///< of all calls that may use some
  std::size_t repeated_tasks = 0;  ///< of calls with repeats, with all repetitions
  bool uses_record = false, uses_keys = false;
  std::vector<std::uint32_t> keyed;         ///< calls with a launch key, so with new arguments in each launch
  std::vector<std::uint32_t> printing;      ///< calls that print, likewise with a number of each launch
  std::vector<std::uint32_t> stream_bound;  ///< calls that use scratch memory or the stream's error record

  mutable std::atomic<bool> refused{false};  ///< the driver cannot make this graph
  mutable StreamSlots<GraphInstance> instances;

 private:
  void count(const GraphCall& call);
  void discount(const GraphCall& call) noexcept;
  void drop_use(const Owned& block) noexcept;

  struct Uses {
    std::size_t place;  // in `blocks`
    std::uint32_t count = 0;
  };
  std::map<Owned, Uses> uses_;
};

// Make a checked call of each kind; each throws like the direct call.
GraphCall program_call(DeviceState& device, const Program& program, std::span<const LaunchArgument> arguments,
                       const LaunchOptions& options);
GraphCall kernel_call(DeviceState& device, const std::shared_ptr<const KernelState>& kernel,
                      const LaunchShape& shape, std::span<const KernelArgument> arguments);
GraphCall copy_call(DeviceState& device, const AnyArrayView& to, const AnyArrayView& from);
GraphCall upload_call(DeviceState& device, const AnyArrayView& to, std::span<const std::byte> from);
GraphCall download_call(DeviceState& device, const AnyArrayView& from, std::span<std::byte> to);
GraphCall fill_call(DeviceState& device, const AnyArrayView& to, const void* element);

/// One launch of a graph, on `stream`.
struct GraphRun {
  const GraphState& graph;
  StreamState& stream;
  const MemoryBlock* scratch = nullptr;
  const StreamRecord* record = nullptr;
  const GridBarriers* barriers = nullptr;
  const std::uint64_t* keys = nullptr;  ///< by call; null if none has a key
  const PrintBuffer* prints = nullptr;
  std::uint32_t first_launch = 0;  ///< number of the launch of the first call, for prints
};

/// Replays over streams, like the direct calls.
void replay(GraphRun run);
/// The calls one after the other on the stream, debugged kernels in the interpreter, as by direct launches.
void replay_debugged(const GraphRun& run, const StreamRef& on);
/// Launches as one driver graph. Throws Error{unsupported}, with nothing submitted, when the driver cannot
/// make it.
void launch_instance(const GraphRun& run, GraphInstance& own);

/// Draws the launch numbers of one run, by call. Parts of one kernel share theirs.
void draw_numbers(const GraphState& graph, std::span<std::uint64_t> numbers) noexcept;
/// The same as keys.
void draw_keys(const GraphState& graph, std::span<std::uint64_t> keys) noexcept;
/// The values of call number `index` in this run.
LaunchValues values_of(const GraphRun& run, std::uint32_t index, const ProgramCall& call,
                       std::uint64_t key) noexcept;

}  // namespace weir::detail
