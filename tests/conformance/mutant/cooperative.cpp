// SPDX-License-Identifier: Apache-2.0
// Faults of cooperative launches. The CPU driver has none, so WEIR_MUTANT_OF must name a driver that has
// them.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "mutant.hpp"

namespace mutant {
namespace {

using Launch = weir_launch;
using Node = weir_graph_node;

/// The real limit, changed.
template <auto change>
weir_result changed_limit(weir_kernel kernel, std::uint32_t threads, std::uint32_t shared, std::uint32_t* out,
                          Status* e) {
  const weir_result result = real().kernel_max_cooperative_blocks(kernel, threads, shared, out, e);
  if (result == WEIR_OK) *out = change(*out);
  return result;
}

weir_result launch_as_ordinary(weir_stream s, const Launch* l, Status* e) {
  Launch ordinary = *l;
  ordinary.flags = 0;
  return real().kernel_launch(s, &ordinary, e);
}

weir_result create_ordinary(weir_device d, std::uint32_t count, const Node* const* nodes, weir_graph* out,
                            Status* e) {
  std::vector<Node> copies(count);
  std::vector<Launch> launches(count);
  std::vector<const Node*> pointers(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    copies[i] = *nodes[i];
    if (copies[i].launch) {
      launches[i] = *copies[i].launch;
      launches[i].flags = 0;
      copies[i].launch = &launches[i];
    }
    pointers[i] = &copies[i];
  }
  return real().graph_create(d, count, pointers.data(), out, e);
}

}  // namespace

std::span<const Mutant> cooperative_mutants() {
  static const Mutant mutants[] = {
      {"cooperative-correct", "none", [](Table&) {}},
      {"cooperative-blocks-one-after-another", "all blocks of a cooperative launch are resident at once",
       [](Table& t) { t.kernel_launch = launch_as_ordinary; }},
      {"cooperative-takes-any-grid", "a grid that the device does not hold is refused",
       [](Table& t) {
         t.kernel_launch = [](weir_stream s, const Launch* l, Status* e) {
           const weir_result result = real().kernel_launch(s, l, nullptr);
           return result == WEIR_ERROR_INVALID ? launch_as_ordinary(s, l, e) : result;
         };
       }},
      {"cooperative-refuses-without-numbers", "the refusal of a large grid names both numbers",
       [](Table& t) {
         t.kernel_launch = [](weir_stream s, const Launch* l, Status* e) {
           const weir_result result = real().kernel_launch(s, l, e);
           return result == WEIR_ERROR_INVALID ? refuse(e, result, "too many blocks") : result;
         };
       }},
      {"cooperative-limit-of-a-multiprocessor", "the limit is that of the whole device",
       [](Table& t) {
         t.kernel_max_cooperative_blocks =
             changed_limit<[](std::uint32_t blocks) { return std::min(blocks, 1u); }>;
       }},
      {"cooperative-limit-changes", "the limit is the same at every call",
       [](Table& t) {
         t.kernel_max_cooperative_blocks = changed_limit<[](std::uint32_t blocks) {
           static std::atomic<std::uint32_t> calls{0};
           return blocks - calls++ % 2;
         }>;
       }},
      {"cooperative-limit-too-high", "the device holds as many blocks as the limit",
       [](Table& t) {
         t.kernel_max_cooperative_blocks = changed_limit<[](std::uint32_t blocks) { return 2 * blocks; }>;
       }},
      {"cooperative-limit-of-no-block", "the limit of a block without threads is refused",
       [](Table& t) {
         t.kernel_max_cooperative_blocks = [](weir_kernel kernel, std::uint32_t threads, std::uint32_t shared,
                                              std::uint32_t* out, Status* e) {
           return real().kernel_max_cooperative_blocks(kernel, std::max(threads, 1u), shared, out, e);
         };
       }},
      {"cooperative-nodes-are-ordinary", "nodes of graphs keep their launch flags",
       [](Table& t) { t.graph_create = create_ordinary; }},
      {"cooperative-flag-of-updates-ignored", "an update with other launch flags is refused",
       [](Table& t) {
         // Graphs of HIP take no cooperative launches.
         t.graph_create = create_ordinary;
         t.graph_update = [](weir_graph graph, std::uint32_t index, const Node* node, Status* e) {
           Node copy = *node;
           Launch launch{};
           if (copy.launch) {
             launch = *copy.launch;
             launch.flags = 0;
             copy.launch = &launch;
           }
           return real().graph_update(graph, index, &copy, e);
         };
       }},
  };
  return mutants;
}

}  // namespace mutant
