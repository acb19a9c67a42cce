// SPDX-License-Identifier: Apache-2.0
// Graphs of a vendor's runtime. Each node maps to one node of the vendor's, except fills with a pattern of 8
// or 16 bytes. Such a fill becomes one node for each 4-byte column of its beginning, and copies of it for the
// rest.
//
// Requires of the vendor's traits V, mainly functions that add a node to a graph or change one in an
// executable graph:
//   static auto kernel_node(const Kernel<V>&, const weir_launch&, void** extra, void** addresses);
//       the vendor's struct. `extra` are the launch options with the argument block. For a cooperative launch
//       it is null, and `addresses` are those of the arguments, because CUDA refuses such nodes with a block
//   static Code make_cooperative(void* node);
//       marks a kernel node of a graph that is not executable yet as a cooperative launch; omitted if the
//       vendor's graphs cannot hold cooperative launches, which then throws UNSUPPORTED
//   static Code put_copy(const NodePlace&, Device<V>&, const GraphCopy&);
//   static Code put_fill(const NodePlace&, Device<V>&, const GraphFill&);
//   static constexpr bool orders_graph_runs;
//       whether runs of one graph never overlap, and a graph destroyed during a run completes it; otherwise
//       an event after each run ensures both
#pragma once

#include <span>

#include "../checks.hpp"
#include "launch.hpp"
#include "memory.hpp"

namespace weir::sdk::vendor {

using Dependencies = std::span<void* const>;

/// Destination of the vendor's node: added to a graph, or, if `executable` is set, replacing a node of an
/// executable graph.
struct NodePlace {
  void** out_node;
  void* graph;
  Dependencies after;
  void* executable = nullptr;
  void* node = nullptr;
};

/// One side of a copy: host memory of the user, or an allocation.
struct GraphPlace {
  enum Kind : std::uint8_t { user_memory, device_memory, pinned_memory } kind = device_memory;
  Address address = 0;
};

struct GraphCopy {
  GraphPlace to, from;
  std::size_t size = 0;
};

/// `height` elements of `element` bytes, `pitch` bytes apart; or `width` of them side by side when height
/// is 1.
struct GraphFill {
  Address to = 0;
  std::size_t pitch = 0;
  unsigned value = 0;
  unsigned element = 1;
  std::size_t width = 1;
  std::size_t height = 1;
};

template <class V>
struct Graph : GraphObject<Device<V>, Kernel<V>> {
  using GraphObject<Device<V>, Kernel<V>>::device;
  using Node = GraphNode<Allocation<V>, Kernel<V>>;

  void* native = nullptr;  ///< kept: its nodes identify those of the executable graph
  void* executable = nullptr;
  void* last_run = nullptr;          ///< an event after it; null if the vendor orders runs
  std::vector<void*> nodes;          ///< the vendor's
  std::vector<std::uint32_t> first;  ///< node i owns nodes first[i] to first[i + 1] - 1

  void create(std::span<const Node> given) {
    Current<V> current(*device);
    device->deferred.sweep(*device);  // graphs that were destroyed while they ran
    native = executable = last_run = nullptr;
    nodes.clear();
    first.assign(1, 0);
    was_empty.clear();
    fills.assign(given.size(), {});
    device->check(V::calls().graph_create(&native, 0), "create a graph");
    try {
      for (const Node& node : given) {
        add(node);
        first.push_back(static_cast<std::uint32_t>(nodes.size()));
      }
      device->check(V::calls().graph_instantiate(&executable, native, 0), "make a graph executable");
      if constexpr (!V::orders_graph_runs)
        device->check(V::calls().event_create(&last_run, event_disable_timing), "make an event");
    } catch (...) {
      let_go();
      throw;
    }
  }

  /// Every vendor refuses some changes; a refusal returns UNSUPPORTED.
  void update(std::uint32_t index, const Node& node) {
    Current<V> current(*device);
    void* const* own = nodes.data() + first[index];
    Code code = success;
    if (node.kind == WEIR_GRAPH_EMPTY) return;
    if (node.kind == WEIR_GRAPH_KERNEL) {
      code = put_kernel(
          node, [&](const auto& values) { return V::calls().graph_set_kernel(executable, own[0], &values); });
    } else if ((node.size == 0) != was_empty[index]) {
      refuse(index, "its size becomes 0 or is 0 no more");
    } else if (node.size == 0) {
      return;
    } else if (node.kind == WEIR_GRAPH_FILL) {
      FillSteps steps = steps_of(node), &current_steps = fills[index];
      if (steps.fills.size() != current_steps.fills.size() ||
          steps.copies.size() != current_steps.copies.size())
        refuse(index, "its pattern or its size takes another number of steps");
      code = set_steps(own, steps);
      if (code == success)
        current_steps = std::move(steps);
      else
        set_steps(own, current_steps);  // the steps before the refused one
    } else {
      code = V::put_copy(in_place_of(own[0]), *device, copy_of(node));
    }
    if (code == success) return;
    if (verdict_of<V>(code).lost) device->raise(code, "change a node of a graph");
    refuse(index, format_text("%s (%d)", V::error_name(code).c_str(), code).c_str());
  }

  /// With the device's context current.
  void launch(void* stream) {
    if (last_run)
      device->check(V::calls().stream_wait_event(stream, last_run, 0), "let a stream wait for a graph");
    device->check(V::calls().graph_launch(executable, stream), "launch a graph");
    if (!last_run) return;
    // If the next run cannot be ordered after this one, wait for this run.
    if (const Code code = V::calls().event_record(last_run, stream); code != success)
      if (verdict_of<V>(code).lost || V::calls().stream_synchronize(stream) != success)
        device->raise(code, "record an event");
  }

  void destroy() noexcept {
    {
      Current<V> current(*device, std::nothrow);
      let_go();
    }
    Pool<Graph>::of().give(*this);
  }

 private:
  /// The nodes of a fill: columns, then copies of the filled part, one after the other.
  struct FillSteps {
    std::vector<GraphFill> fills;
    std::vector<GraphCopy> copies;
  };

  /// The vendor's two halves of a graph.
  struct Halves {
    void *native, *executable;

    void destroy() const noexcept {
      if (executable) V::calls().graph_executable_destroy(executable);
      if (native) V::calls().graph_destroy(native);
    }
  };

  /// Releases the graph without waiting; runs in flight complete.
  void let_go() noexcept {
    const Halves halves{native, executable};
    if (last_run && V::calls().event_query(last_run) == not_ready && let_go_later(halves)) return;
    if (last_run) V::calls().event_destroy(last_run);
    halves.destroy();
  }

  bool let_go_later(const Halves& halves) noexcept {
    try {
      auto kept = std::make_unique<Halves>(halves);
      device->deferred.add_behind(
          last_run,
          [](Device<V>&, void* what) noexcept {
            const std::unique_ptr<Halves> due(static_cast<Halves*>(what));
            due->destroy();
          },
          kept.get());
      kept.release();
      return true;
    } catch (...) {
      return false;
    }
  }

  std::vector<bool> was_empty;
  std::vector<FillSteps> fills;  // current steps of node i; empty for other kinds

  NodePlace in_place_of(void* node) const noexcept { return {nullptr, nullptr, {}, executable, node}; }

  Code set_steps(void* const* own, const FillSteps& steps) {
    Code code = success;
    for (const GraphFill& fill : steps.fills)
      if (code == success) code = V::put_fill(in_place_of(*own++), *device, fill);
    for (const GraphCopy& copy : steps.copies)
      if (code == success) code = V::put_copy(in_place_of(*own++), *device, copy);
    return code;
  }

  [[noreturn]] void refuse(std::uint32_t index, const char* why) {
    fail(WEIR_ERROR_UNSUPPORTED, "%s cannot change node %u of the graph so: %s; make a new graph",
         V::names.runtime, index, why);
  }

  void add(const Node& node) {
    std::vector<void*> after;
    for (const std::uint32_t other : node.dependencies)
      after.insert(after.end(), nodes.begin() + first[other], nodes.begin() + first[other + 1]);
    const bool empty = node.kind != WEIR_GRAPH_KERNEL && node.size == 0;
    was_empty.push_back(empty);
    void* made = nullptr;
    const auto keep = [&](Code code, const char* doing) {
      device->check(code, doing);
      nodes.push_back(made);
    };
    if (node.kind == WEIR_GRAPH_EMPTY || empty) {
      keep(V::calls().graph_add_empty(&made, native, after.data(), after.size()),
           "add an empty node to a graph");
    } else if (node.kind == WEIR_GRAPH_KERNEL) {
      const auto add_kernel = [&](const auto& values) {
        return V::calls().graph_add_kernel(&made, native, after.data(), after.size(), &values);
      };
      keep(put_kernel(node, add_kernel),
           format_text("add kernel '%.128s' to a graph", node.kernel->name.c_str()).c_str());
      if constexpr (holds_cooperative)
        if (node.launch.flags & WEIR_LAUNCH_COOPERATIVE)
          device->check(V::make_cooperative(made), "make a node of a graph a cooperative launch");
    } else if (node.kind == WEIR_GRAPH_FILL) {
      FillSteps steps = steps_of(node);
      for (const GraphFill& fill : steps.fills)
        keep(V::put_fill({&made, native, after}, *device, fill), "add a fill to a graph");
      std::vector<void*> before(nodes.begin() + first.back(), nodes.end());
      for (const GraphCopy& copy : steps.copies) {
        keep(V::put_copy({&made, native, before}, *device, copy), "add a fill to a graph");
        before.assign(1, made);
      }
      fills[first.size() - 1] = std::move(steps);
    } else {
      keep(V::put_copy({&made, native, after}, *device, copy_of(node)), "add a copy to a graph");
    }
  }

  static constexpr bool holds_cooperative = requires(void* node) { V::make_cooperative(node); };

  /// Calls `put` with the vendor's struct for a kernel node, which points to the arguments.
  static Code put_kernel(const Node& node, const auto& put) {
    node.kernel->allow_shared(node.launch.dynamic_shared_bytes);
    if (node.launch.flags & WEIR_LAUNCH_COOPERATIVE) {
      if constexpr (!holds_cooperative)
        fail(WEIR_ERROR_UNSUPPORTED,
             "graphs of %s hold no cooperative launches; launch the kernel on a stream", V::names.runtime);
      ArgumentAddresses<V> arguments(*node.kernel, node.launch);
      return put(V::kernel_node(*node.kernel, node.launch, nullptr, arguments.data()));
    }
    ArgumentBlock<V> arguments(*node.kernel, node.launch);
    return put(V::kernel_node(*node.kernel, node.launch, arguments.extra(), nullptr));
  }

  static GraphPlace place(const Allocation<V>& allocation, std::uint64_t offset) {
    return {
        allocation.memory_kind == WEIR_MEMORY_PINNED ? GraphPlace::pinned_memory : GraphPlace::device_memory,
        allocation.address + offset};
  }

  static GraphPlace user(const void* memory) {
    return {GraphPlace::user_memory, reinterpret_cast<std::uintptr_t>(memory)};
  }

  static GraphCopy copy_of(const Node& node) {
    return {
        node.destination ? place(*node.destination, node.destination_offset) : user(node.host_destination),
        node.source ? place(*node.source, node.source_offset) : user(node.host_source), node.size};
  }

  static FillSteps steps_of(const Node& node) {
    const Pattern pattern = node.pattern.shortest();
    const GraphPlace begin = place(*node.destination, node.destination_offset);
    FillSteps steps;
    std::uint64_t done = 0;
    if (!takes_wide_fills(begin.address, pattern)) {
      done = std::min<std::uint64_t>(node.size, pattern.size);
      for (std::uint64_t i = 0; i < done; ++i)
        steps.fills.push_back({begin.address + i, 0, pattern.bytes[i], 1, 1, 1});
    } else if (pattern.size <= 4) {
      const unsigned mask = pattern.size == 4 ? ~0u : (1u << (8 * pattern.size)) - 1;
      steps.fills.push_back(
          {begin.address, 0, pattern.word(0) & mask, pattern.size, node.size / pattern.size, 1});
      return steps;
    } else {
      done = std::min(node.size, V::long_fill_seed * pattern.size);
      for (std::uint32_t column = 0; column < pattern.size / 4; ++column)
        steps.fills.push_back(
            {begin.address + 4 * column, pattern.size, pattern.word(column), 4, 1, done / pattern.size});
    }
    while (done < node.size) {
      const std::uint64_t more = std::min(done, node.size - done);
      steps.copies.push_back({{begin.kind, begin.address + done}, begin, more});
      done += more;
    }
    return steps;
  }
};

}  // namespace weir::sdk::vendor
