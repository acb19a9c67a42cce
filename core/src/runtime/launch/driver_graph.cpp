// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch/driver_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/streams/submission.hpp"

namespace weir::detail {
namespace {

std::string describe_work(const KernelOrigin* kernel) {
  return kernel ? fmt::format("kernel '{}'", kernel->name) : std::string("a copy or fill");
}

// The kernel, the flags and the arguments are compared separately.
bool same_shape(const weir_launch& a, const weir_launch& b) noexcept {
  return std::memcmp(a.grid, b.grid, sizeof a.grid) == 0 &&
         std::memcmp(a.block, b.block, sizeof a.block) == 0 &&
         a.dynamic_shared_bytes == b.dynamic_shared_bytes;
}

bool same_work(const weir_graph_node& a, const weir_graph_node& b) noexcept {
  return a.kind == b.kind && a.destination == b.destination && a.destination_offset == b.destination_offset &&
         a.source == b.source && a.source_offset == b.source_offset && a.size == b.size &&
         a.host_source == b.host_source && a.host_destination == b.host_destination &&
         a.pattern_size == b.pattern_size;
}

}  // namespace

DriverGraph::~DriverGraph() {
  if (!graph_) return;
  if (process_is_exiting())
    keep_reachable(graph_);
  else
    destroy(graph_);
}

void DriverGraph::destroy(weir_graph graph) noexcept {
  device_.call_no_throw([&](weir_status* status) { return device_.table().graph_destroy(graph, status); });
  device_.graphs.fetch_sub(1, std::memory_order_relaxed);
}

std::uint32_t DriverGraph::add(std::uint32_t kind, std::span<const std::uint32_t> dependencies,
                               const KernelOrigin* kernel) {
  Node& node = nodes_.emplace_back();
  node.dependencies.assign(dependencies.begin(), dependencies.end());
  node.kernel = kernel;
  node.work.struct_size = sizeof node.work;
  node.work.kind = kind;
  node.work.dependency_count = static_cast<std::uint32_t>(dependencies.size());
  node.work.dependencies = node.dependencies.data();
  if (kind == WEIR_GRAPH_KERNEL) node.work.launch = &node.launch;
  return static_cast<std::uint32_t>(nodes_.size() - 1);
}

void DriverGraph::set(std::uint32_t index, const weir_launch& launch) {
  Node& node = nodes_[index];
  weir_launch& held = node.launch;
  const bool same_kernel = held.kernel == launch.kernel && held.flags == launch.flags &&
                           held.argument_bytes == launch.argument_bytes;
  if (same_kernel && same_shape(held, launch) &&
      (launch.argument_bytes == 0 ||
       std::memcmp(node.arguments.get(), launch.arguments, launch.argument_bytes) == 0))
    return;
  if (held.argument_bytes != launch.argument_bytes || !node.arguments)
    node.arguments = std::make_unique<std::byte[]>(std::max(launch.argument_bytes, 1u));
  held = launch;
  if (launch.argument_bytes) std::memcpy(node.arguments.get(), launch.arguments, launch.argument_bytes);
  held.arguments = node.arguments.get();
  if (!same_kernel) stale_ = true;  // a node cannot change its kernel or flags: a new graph is needed
  changed(index);
}

void DriverGraph::set(std::uint32_t index, const weir_graph_node& work) {
  Node& node = nodes_[index];
  weir_graph_node& held = node.work;
  if (same_work(held, work) &&
      (work.pattern_size == 0 || std::memcmp(node.pattern, work.pattern, work.pattern_size) == 0))
    return;
  if (held.kind != work.kind) stale_ = true;  // a node cannot change its kind: a new graph is needed
  const auto kept = std::pair(held.dependencies, held.dependency_count);
  held = work;
  held.struct_size = sizeof held;
  held.dependencies = kept.first;
  held.dependency_count = kept.second;
  if (work.pattern_size) std::memcpy(node.pattern, work.pattern, work.pattern_size);
  held.pattern = node.pattern;
  changed(index);
}

void DriverGraph::changed(std::uint32_t index) {
  if (!graph_ || stale_) return;
  const Node& node = nodes_[index];
  Status status;
  stale_ = true;  // unless the driver accepts the update
  ++updates_;
  const weir_result result = device_.attempt(
      status, [&](weir_status* s) { return device_.table().graph_update(graph_, index, &node.work, s); });
  if (result == WEIR_OK) [[likely]]
    stale_ = false;
  else if (result != WEIR_ERROR_UNSUPPORTED)
    device_.fail(fmt::format("update {} in a graph", describe_work(node.kernel)), result, status,
                 node.kernel);
}

void DriverGraph::build() {
  std::vector<const weir_graph_node*> nodes;
  nodes.reserve(nodes_.size());
  for (const Node& node : nodes_) nodes.push_back(&node.work);
  const std::uint64_t given_back = device_.memory.times_given_back();
  const weir_device handle = device_.handle();
  weir_graph graph = nullptr;
  device_.call([&] { return fmt::format("make a graph of {} nodes", nodes.size()); },
               [&](weir_status* status) {
                 return device_.table().graph_create(handle, static_cast<std::uint32_t>(nodes.size()),
                                                     nodes.data(), &graph, status);
               });
  ++builds_;
  device_.graphs.fetch_add(1, std::memory_order_relaxed);
  if (weir_graph before = std::exchange(graph_, graph)) destroy(before);
  stale_ = false;
  given_back_ = given_back;
}

void DriverGraph::launch(StreamState& stream, const KernelOrigin* kernel) {
  // A node may name a freed allocation whose handle a later allocation reuses.
  if (!graph_ || stale_ || given_back_ != device_.memory.times_given_back()) [[unlikely]]
    build();
  Status status;
  const Submission submission(stream);
  const weir_result result = device_.attempt(
      status, [&](weir_status* s) { return device_.table().graph_launch(graph_, stream.stream, s); });
  if (result != WEIR_OK) [[unlikely]]
    device_.fail(
        kernel ? fmt::format("launch kernel '{}' as a graph", kernel->name) : std::string("launch a graph"),
        result, status, kernel);
  if (kernel) stream.last_kernel.store(kernel, std::memory_order_relaxed);
  stream.note_submission();
  stream.last_launch.set({WhyNoGraph::is_graph, static_cast<std::uint32_t>(nodes_.size()),
                          updates_ - std::exchange(reported_updates_, updates_),
                          builds_ != std::exchange(reported_builds_, builds_)});
}

void GraphOrder::fork(std::uint32_t branch_count) {
  Ends entry = here();
  // If several ends meet several branches, one empty node between them saves edges.
  if (entry.size() > 1 && branch_count > 1 && entry.size() * branch_count > entry.size() + branch_count)
    entry = {graph_.add(WEIR_GRAPH_EMPTY, entry, nullptr)};
  forks_.push_back({entry, std::vector<Ends>(branch_count, entry), 0});
}

void GraphOrder::branch(std::uint32_t branch) {
  if (!forks_.empty()) forks_.back().branch = branch;
}

void GraphOrder::join() {
  const Fork fork = std::move(forks_.back());
  forks_.pop_back();
  Ends ends;
  for (const Ends& branch : fork.branches)
    if (branch != fork.entry) ends.insert(ends.end(), branch.begin(), branch.end());
  here() = ends.empty() ? fork.entry : std::move(ends);
}

std::uint32_t GraphOrder::add(std::uint32_t kind, const KernelOrigin* kernel) {
  const std::uint32_t node = graph_.add(kind, here(), kernel);
  here() = {node};
  return node;
}

}  // namespace weir::detail
