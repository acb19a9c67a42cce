// SPDX-License-Identifier: Apache-2.0
// Graphs of a vendor's runtime. A node of ours becomes one of the vendor's, but a fill with a pattern of 8 or
// 16 bytes, which becomes one for each 4-byte column of its beginning and copies of that for the rest.
//
// Of the vendor's traits V this needs functions that add a node to a graph, and that change one in an
// executable graph:
//   static Code add_kernel(void** out, void* graph, Dependencies after, Kernel<V>&, const weir_launch&);
//   static Code add_copy(void** out, void* graph, Dependencies after, Device<V>&, const GraphCopy&);
//   static Code add_fill(void** out, void* graph, Dependencies after, Device<V>&, const GraphFill&);
//   static Code set_kernel(void* executable, void* node, Kernel<V>&, const weir_launch&);
//   static Code set_copy(void* executable, void* node, Device<V>&, const GraphCopy&);
//   static Code set_fill(void* executable, void* node, Device<V>&, const GraphFill&);
//   static void let_go(Graph<V>&) noexcept;
//       destroys graph.executable and graph.native, where they are not null; runs in flight go on, and it
//       does not wait for them
#pragma once

#include <span>

#include "../checks.hpp"
#include "launch.hpp"
#include "memory.hpp"

namespace weir::sdk::vendor {

using Dependencies = std::span<void* const>;

/// One side of a copy: host memory of the user's, or an allocation of ours.
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

  void* native = nullptr;  ///< kept: the vendor names nodes of the executable graph by those of this one
  void* executable = nullptr;
  std::vector<void*> nodes;          ///< the vendor's
  std::vector<std::uint32_t> first;  ///< node i has those from first[i] to first[i + 1] - 1

  void create(std::span<const Node> given) {
    Current<V> current(*device);
    native = executable = nullptr;
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
    } catch (...) {
      V::let_go(*this);
      throw;
    }
  }

  /// All vendors refuse some changes; what they refuse is answered as UNSUPPORTED.
  void update(std::uint32_t index, const Node& node) {
    Current<V> current(*device);
    void* const* own = nodes.data() + first[index];
    Code code = success;
    if (node.kind == WEIR_GRAPH_EMPTY) return;
    if (node.kind == WEIR_GRAPH_KERNEL) {
      node.kernel->allow_shared(node.launch.dynamic_shared_bytes);
      code = V::set_kernel(executable, own[0], *node.kernel, node.launch);
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
        set_steps(own, current_steps);  // those before the one that was refused
    } else {
      code = V::set_copy(executable, own[0], *device, copy_of(node));
    }
    if (code == success) return;
    if (V::verdict(code).lost) device->raise(code, "change a node of a graph");
    refuse(index, words("%s (%d)", V::error_name(code).c_str(), code).c_str());
  }

  /// With the device's context current.
  void launch(void* stream) { device->check(V::calls().graph_launch(executable, stream), "launch a graph"); }

  void destroy() noexcept {
    {
      Current<V> current(*device, std::nothrow);
      V::let_go(*this);
    }
    Pool<Graph>::of().give(*this);
  }

 private:
  /// What a fill becomes: columns, and copies of what is there, one after the other.
  struct FillSteps {
    std::vector<GraphFill> fills;
    std::vector<GraphCopy> copies;
  };

  std::vector<bool> was_empty;
  std::vector<FillSteps> fills;  // of node i, as they are; nothing for other kinds

  Code set_steps(void* const* own, const FillSteps& steps) {
    Code code = success;
    for (const GraphFill& fill : steps.fills)
      if (code == success) code = V::set_fill(executable, *own++, *device, fill);
    for (const GraphCopy& copy : steps.copies)
      if (code == success) code = V::set_copy(executable, *own++, *device, copy);
    return code;
  }

  [[noreturn]] void refuse(std::uint32_t index, const char* why) {
    fail(WEIR_ERROR_UNSUPPORTED, "%s cannot change node %u of the graph so: %s; make a new graph", V::title,
         index, why);
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
      node.kernel->allow_shared(node.launch.dynamic_shared_bytes);
      keep(V::add_kernel(&made, native, after, *node.kernel, node.launch),
           words("add kernel '%.128s' to a graph", node.kernel->name.c_str()).c_str());
    } else if (node.kind == WEIR_GRAPH_FILL) {
      FillSteps steps = steps_of(node);
      for (const GraphFill& fill : steps.fills)
        keep(V::add_fill(&made, native, after, *device, fill), "add a fill to a graph");
      std::vector<void*> before(nodes.begin() + first.back(), nodes.end());
      for (const GraphCopy& copy : steps.copies) {
        keep(V::add_copy(&made, native, before, *device, copy), "add a fill to a graph");
        before.assign(1, made);
      }
      fills[first.size() - 1] = std::move(steps);
    } else {
      keep(V::add_copy(&made, native, after, *device, copy_of(node)), "add a copy to a graph");
    }
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
    if (pattern.size <= 4) {
      const unsigned mask = pattern.size == 4 ? ~0u : (1u << (8 * pattern.size)) - 1;
      steps.fills.push_back(
          {begin.address, 0, pattern.word(0) & mask, pattern.size, node.size / pattern.size, 1});
      return steps;
    }
    std::uint64_t done = std::min(node.size, long_fill_seed_bytes);
    for (std::uint32_t column = 0; column < pattern.size / 4; ++column)
      steps.fills.push_back(
          {begin.address + 4 * column, pattern.size, pattern.word(column), 4, 1, done / pattern.size});
    while (done < node.size) {
      const std::uint64_t more = std::min(done, node.size - done);
      steps.copies.push_back({{begin.kind, begin.address + done}, begin, more});
      done += more;
    }
    return steps;
  }
};

}  // namespace weir::sdk::vendor
