// SPDX-License-Identifier: Apache-2.0
// Levels 3 and 5: code objects, names, layouts and nodes whose next byte is not readable.
#include <cstring>

#include "end_of_memory.hpp"
#include "kernels/graph_nodes.hpp"

namespace weir::conformance {
namespace {

/// Copies of an input, in front of a page that is not accessible.
template <class T>
class AtTheEnd {
 public:
  AtTheEnd(const T* from, std::size_t count) : memory_(count * sizeof(T)), size_(count * sizeof(T)) {
    std::memcpy(memory_.last(size_), from, size_);
  }
  const T* begin() const { return reinterpret_cast<const T*>(memory_.last(size_)); }

 private:
  const EndOfMemory memory_;
  const std::size_t size_;
};

WEIR_REQUIREMENT(3, 99, Modules, ReadNothingPastTheirInputs,
                 "module_load reads no byte past the code object's size, and module_get_kernel none past the "
                 "zero of the name or the last parameter of the layout.") {
  const ReadyKernel& ready = ready_kernel("iota");
  const std::vector<weir_parameter> parameters = parameters_of(kernel_text("iota"));
  const AtTheEnd<std::uint8_t> code(ready.bytes.data(), ready.bytes.size());
  const AtTheEnd<char> name(ready.symbol.c_str(), ready.symbol.size() + 1);
  const AtTheEnd<weir_parameter> fields(parameters.data(), parameters.size());
  weir_code_object object = ready.code_object();
  object.data = code.begin();
  Module loaded;
  call(table().module_load, device(), static_cast<const weir_code_object*>(&object), loaded.out());
  weir_kernel_layout layout = Kernel("iota").layout();
  layout.parameters = fields.begin();
  layout.parameter_count = static_cast<std::uint32_t>(parameters.size());
  weir_kernel kernel = nullptr;
  call(table().module_get_kernel, weir_module(loaded), name.begin(),
       static_cast<const weir_kernel_layout*>(&layout), &kernel);
  // A kernel that the driver knows already is looked up in another way.
  weir_kernel again = nullptr;
  call(table().module_get_kernel, weir_module(loaded), name.begin(),
       static_cast<const weir_kernel_layout*>(&layout), &again);
  EXPECT_EQ(kernel, again);
}

WEIR_REQUIREMENT(5, 94, Graphs, ReadNothingPastTheirInputs,
                 "graph_create reads nothing past its node pointers, a node's size or its dependencies, also "
                 "if they are 1 to 9 or 100.") {
  needs(WEIR_CAP_GRAPHS);
  const Stream stream;
  for (const std::uint32_t count : {1u, 2u, 3u, 4u, 5u, 8u, 9u, 100u}) {
    const Memory memory(std::uint64_t{16} * (count + 1));
    memory.write(Bytes(memory.size(), 1));
    std::deque<AtTheEnd<weir_graph_node>> ends;
    std::vector<const weir_graph_node*> pointers;
    GraphNodes nodes;
    std::vector<std::uint32_t> before;
    for (std::uint32_t i = 0; i < count; ++i) {
      before.push_back(nodes.fill<std::uint8_t>(memory, std::uint64_t{16} * i, 16, 2));
      pointers.push_back(ends.emplace_back(&nodes[i], 1).begin());
    }
    const AtTheEnd<std::uint32_t> dependencies(before.data(), before.size());
    const auto last = nodes.fill<std::uint8_t>(memory, std::uint64_t{16} * count, 16, 2);
    nodes[last].dependencies = dependencies.begin();
    nodes[last].dependency_count = count;
    pointers.push_back(ends.emplace_back(&nodes[last], 1).begin());
    const AtTheEnd<const weir_graph_node*> given(pointers.data(), pointers.size());
    Graph graph;
    call(table().graph_create, device(), count + 1, given.begin(), graph.out());
    launch(graph, stream);
    stream.synchronize();
    ASSERT_TRUE(same_bytes(memory.read(), Bytes(memory.size(), 2)))
        << "a graph of " << count << " fills and one that depends on them";
  }
}

}  // namespace
}  // namespace weir::conformance
