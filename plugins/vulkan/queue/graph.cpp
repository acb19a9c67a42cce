// SPDX-License-Identifier: Apache-2.0
// A graph is recorded into secondary command buffers when it is created. Changes other than of arguments
// record it again, at the next launch. Argument blocks are in memory whose address is recorded. New arguments
// are copied there in the order of the stream, so that runs already submitted keep theirs. Copies of pageable
// memory run between command buffers.
#include <cstring>

#include "driver.hpp"

namespace weir::vulkan {

struct Recording {
  explicit Recording(Device& owner) : device(owner) {}
  Recording(const Recording&) = delete;
  ~Recording() {
    device.vk.vkDestroyCommandPool(device.handle, pool, nullptr);
    device.heap.free(arguments);
    for (const Range& range : scratch) device.heap.free(range);
  }

  /// Commands, or else the index of a node that copies pageable memory.
  struct Segment {
    VkCommandBuffer commands = VK_NULL_HANDLE;
    std::size_t node = 0;
    Ordered first = Ordered::all, last = Ordered::all;  ///< what `commands` begin and end with
  };

  Device& device;
  VkCommandPool pool = VK_NULL_HANDLE;
  Range arguments;
  std::vector<Range> scratch;  ///< patterns of fills
  std::vector<Segment> segments;
};

namespace {

constexpr std::uint64_t argument_alignment = 64;

/// Whether the node copies memory that the device cannot access.
bool is_host_copy(Device& device, const Graph::Node& node) {
  if (node.size == 0) return false;
  if (node.kind == WEIR_GRAPH_COPY_TO_DEVICE) return !device.heap.find(node.host_source, node.size);
  if (node.kind == WEIR_GRAPH_COPY_TO_HOST) return !device.heap.find(node.host_destination, node.size);
  return false;
}

class Recorder {
 public:
  Recorder(Device& device, Recording& out) : device_(device), out_(out) {}

  void record(std::size_t index, const Graph::Kept& kept) {
    if (is_host_copy(device_, kept.node)) {
      end();
      out_.segments.push_back({VK_NULL_HANDLE, index});
      return;
    }
    if (!commands_) begin(index);
    // Nodes that do not depend on one another need no barrier between them.
    for (const std::uint32_t other : kept.dependencies)
      if (other >= after_barrier_) {
        record_collected();
        after_barrier_ = static_cast<std::uint32_t>(index);
        break;
      }
    collected_.push_back(&kept);
  }

  void end() {
    if (!commands_) return;
    record_collected();
    check(device_.vk.vkEndCommandBuffer(commands_), "record a graph");
    commands_ = VK_NULL_HANDLE;
  }

 private:
  void begin(std::size_t index) {
    auto allocate = make<VkCommandBufferAllocateInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO);
    allocate.commandPool = out_.pool;
    allocate.level = VK_COMMAND_BUFFER_LEVEL_SECONDARY;
    allocate.commandBufferCount = 1;
    VkCommandBuffer made = VK_NULL_HANDLE;
    check(device_.vk.vkAllocateCommandBuffers(device_.handle, &allocate, &made),
          "allocate a graph's commands");
    const auto inheritance =
        make<VkCommandBufferInheritanceInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO);
    auto begin = make<VkCommandBufferBeginInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO);
    begin.flags = VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT;
    begin.pInheritanceInfo = &inheritance;
    check(device_.vk.vkBeginCommandBuffer(made, &begin), "record a graph");
    out_.segments.push_back({made, 0});
    commands_ = made;
    after_barrier_ = static_cast<std::uint32_t>(index);
    last_.reset();  // the stream's own barrier comes first
  }

  /// Records the nodes since the last barrier, copies and fills first. On an H200, a small copy or fill that
  /// follows a running kernel without a barrier delays all queues until the kernel ends
  /// (tests/evidence/vulkan.md).
  void record_collected() {
    const bool kernels = std::ranges::all_of(
        collected_, [](const Graph::Kept* kept) { return kept->node.kind == WEIR_GRAPH_KERNEL; });
    if (last_)
      record_barrier(device_.vk, commands_,
                     kernels && *last_ == Ordered::kernels ? Ordered::kernels : Ordered::all);
    Recording::Segment& segment = out_.segments.back();
    segment.last = kernels ? Ordered::kernels : Ordered::all;
    if (!last_) segment.first = segment.last;
    last_ = segment.last;
    for (const bool kernels : {false, true})
      for (const Graph::Kept* kept : collected_)
        if ((kept->node.kind == WEIR_GRAPH_KERNEL) == kernels) record_node(*kept);
    collected_.clear();
  }

  void record_node(const Graph::Kept& kept) {
    const Graph::Node& node = kept.node;
    const VolkDeviceTable& vk = device_.vk;
    if (node.kind == WEIR_GRAPH_KERNEL) {
      Dispatch dispatch;
      dispatch.pipeline = node.kernel->pipeline(node.launch, Arguments::stored);
      dispatch.layout = device_.pipeline_layout;
      std::copy_n(node.launch.grid, 3, dispatch.grid);
      if (!kept.arguments.empty()) dispatch.push.block = out_.arguments.address() + kept.arguments_at;
      return record_dispatch(vk, commands_, dispatch);
    }
    if (node.size == 0) return;
    if (node.kind == WEIR_GRAPH_COPY_TO_DEVICE)
      record_copy(vk, commands_, node.destination->at(node.destination_offset, node.size),
                  device_.heap.find(node.host_source, node.size));
    if (node.kind == WEIR_GRAPH_COPY_TO_HOST)
      record_copy(vk, commands_, device_.heap.find(node.host_destination, node.size),
                  node.source->at(node.source_offset, node.size));
    if (node.kind == WEIR_GRAPH_COPY_ON_DEVICE)
      record_copy(vk, commands_, node.destination->at(node.destination_offset, node.size),
                  node.source->at(node.source_offset, node.size));
    if (node.kind == WEIR_GRAPH_FILL) {
      const Range to = node.destination->at(node.destination_offset, node.size);
      const sdk::Pattern pattern = node.pattern.shortest();
      Range scratch;
      if (const std::uint64_t bytes = fill_scratch_bytes(to, pattern)) {
        out_.scratch.reserve(out_.scratch.size() + 1);
        scratch = device_.heap.allocate(Heap::host_memory, bytes);
        out_.scratch.push_back(scratch);
      }
      record_fill(vk, commands_, to, pattern, scratch);
    }
  }

  Device& device_;
  Recording& out_;
  VkCommandBuffer commands_ = VK_NULL_HANDLE;
  std::uint32_t after_barrier_ = 0;            ///< the first node after the last barrier
  std::vector<const Graph::Kept*> collected_;  ///< since the last barrier; none depends on another
  std::optional<Ordered> last_;                ///< the nodes before them, if any
};

}  // namespace

void Graph::keep(Kept& kept, const Node& node) {
  kept.node = node;
  kept.node.dependencies = {};
  if (node.kind != WEIR_GRAPH_KERNEL) return;
  const auto* bytes = static_cast<const std::byte*>(node.launch.arguments);
  kept.arguments.assign(bytes, bytes + node.launch.argument_bytes);
  kept.node.launch.arguments = nullptr;
}

void Graph::create(std::span<const Node> given) {
  device->check_present();
  nodes.clear();
  nodes.resize(given.size());
  argument_bytes = 0;
  for (std::size_t i = 0; i < given.size(); ++i) {
    Kept& kept = nodes[i];
    keep(kept, given[i]);
    kept.dependencies.assign(given[i].dependencies.begin(), given[i].dependencies.end());
    kept.arguments_at = argument_bytes;
    argument_bytes +=
        (kept.arguments.size() + argument_alignment - 1) / argument_alignment * argument_alignment;
  }
  last_run = {};
  recording.reset();
  recording = record();
}

void Graph::update(std::uint32_t index, const Node& node) {
  std::lock_guard lock(mutex);
  Kept& kept = nodes[index];
  const weir_launch before = kept.node.launch;
  keep(kept, node);
  if (node.kind == WEIR_GRAPH_KERNEL && std::equal(before.grid, before.grid + 3, node.launch.grid) &&
      std::equal(before.block, before.block + 3, node.launch.block) &&
      before.dynamic_shared_bytes == node.launch.dynamic_shared_bytes)
    arguments_changed = true;
  else if (node.kind != WEIR_GRAPH_EMPTY)
    recording.reset();
}

std::shared_ptr<Recording> Graph::record() {
  if (recording) return recording;
  auto out = std::make_shared<Recording>(*device);
  auto create = make<VkCommandPoolCreateInfo>(VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO);
  create.queueFamilyIndex = device->physical->family;
  check(device->vk.vkCreateCommandPool(device->handle, &create, nullptr, &out->pool),
        "create a command pool");
  if (argument_bytes) out->arguments = device->heap.allocate(Heap::device_memory, argument_bytes);
  Recorder recorder(*device, *out);
  for (std::size_t i = 0; i < nodes.size(); ++i) recorder.record(i, nodes[i]);
  recorder.end();
  arguments_changed = true;
  recording = out;
  return out;
}

void Graph::destroy() noexcept {
  recording.reset();
  last_run = {};
  nodes.clear();
  sdk::Pool<Graph>::of().give(*this);
}

void Stream::launch(Graph& graph) {
  std::lock_guard graph_lock(graph.mutex);
  const std::shared_ptr<Recording> recording = graph.record();
  std::lock_guard lock(line->recording);
  device->check_present();
  line->wait(graph.last_run);
  if (graph.arguments_changed && graph.argument_bytes) {
    const Range scratch = line->scratch(graph.argument_bytes);
    for (const Graph::Kept& kept : graph.nodes)
      if (!kept.arguments.empty())
        std::memcpy(scratch.host() + kept.arguments_at, kept.arguments.data(), kept.arguments.size());
    record_copy(device->vk, line->commands(), part(recording->arguments, 0, graph.argument_bytes), scratch);
    line->open().kept.push_back(recording);
    line->end_operation();
  }
  graph.arguments_changed = false;
  for (const Recording::Segment& segment : recording->segments) {
    if (segment.commands) {
      device->vk.vkCmdExecuteCommands(line->commands(segment.first, segment.last), 1, &segment.commands);
      line->open().kept.push_back(recording);
      line->end_operation();
      continue;
    }
    const Graph::Node& node = graph.nodes[segment.node].node;
    if (node.kind == WEIR_GRAPH_COPY_TO_DEVICE)
      put_copy_to_device(node.destination->at(node.destination_offset, node.size), node.host_source);
    else
      put_copy_to_host(node.host_destination, node.source->at(node.source_offset, node.size));
  }
  graph.last_run = line->mark();
}

}  // namespace weir::vulkan
