// SPDX-License-Identifier: Apache-2.0
// Structs of older and newer hosts: a reader treats missing fields as zero, reads nothing past struct_size,
// and accepts a size larger than its own.
#include <cstring>

#include "end_of_memory.hpp"
#include "kernels/graph_nodes.hpp"

namespace weir::conformance {
namespace {

/// Bytes that later versions may have appended: more than a driver may have set aside for them.
constexpr std::size_t newer = 70'000;

/// A copy of the first `size` bytes of a struct; bytes past the struct's own end are 0xff. The next byte is
/// not readable.
template <class Struct>
class Sized {
 public:
  Sized(const Struct& value, std::size_t size) : memory_(size), place_(memory_.last(size)) {
    std::memset(place_, 0xff, size);
    std::memcpy(place_, &value, std::min(size, sizeof value));
    const auto given = static_cast<std::uint32_t>(size);
    std::memcpy(place_, &given, sizeof given);
  }

  Struct* get() const { return reinterpret_cast<Struct*>(place_); }

 private:
  const EndOfMemory memory_;
  std::uint8_t* const place_;
};

template <class Struct>
class Larger : public Sized<Struct> {
 public:
  explicit Larger(const Struct& value) : Sized<Struct>(value, sizeof value + newer) {}
};

constexpr const char* advice =
    ". driver.h: a reader treats fields past struct_size as zero and accepts a larger size. Look first at "
    "how the "
    "driver reads structs of the host";

WEIR_REQUIREMENT(0, 54, Structs, ALargerHostIsAccepted,
                 "The entry point accepts a weir_host with a struct_size larger than today's.") {
  const Larger<weir_host> host({0, WEIR_ABI_VERSION(1, 0), WEIR_ABI_CURRENT});
  const weir_driver_table* out = nullptr;
  weir_status status = new_status();
  EXPECT_EQ(call_entry(entry(), host.get(), &out, &status), WEIR_OK) << status.message << advice;
  EXPECT_EQ(out, &raw_table());
}

WEIR_REQUIREMENT(0, 55, Structs, ALargerDescriptionIsFilled,
                 "device_get_info fills a weir_device_info with a struct_size larger than today's.") {
  needs_device();
  const Larger<weir_device_info> filled({});
  call(table().device_get_info, judged().device, filled.get());
  EXPECT_STREQ(filled.get()->name, info().name) << advice;
}

WEIR_REQUIREMENT(4, 59, Structs, LargerDescriptionsOfMemoryAreAccepted,
                 "memory_wrap accepts a weir_external_memory with a struct_size larger than today's.") {
  needs(WEIR_CAP_EXTERNAL_MEMORY);
  const Memory owner(1000);
  const Larger<weir_external_memory> described({0, WEIR_EXTERNAL_DEVICE, owner.info().device_address, 1000});
  Memory external(weir_allocation{});
  call(table().memory_wrap, device(), static_cast<const weir_external_memory*>(described.get()),
       external.out());
  EXPECT_EQ(external.info().size, 1000u) << advice;
}

WEIR_REQUIREMENT(
    4, 17, Structs, LargerOptionsOfStreamOrderedMemoryAreAccepted,
    "memory_allocate_async accepts options with a struct_size larger than today's, and reads no alignment "
    "past a smaller one.") {
  needs(WEIR_CAP_STREAM_ORDERED_ALLOCATION);
  const Stream stream;
  const auto expect_taken = [&](const weir_memory_options* options, const char* what) {
    weir_allocation out = nullptr;
    weir_status status = new_status();
    ASSERT_EQ(table().memory_allocate_async(stream, options, &out, &status), WEIR_OK)
        << "memory_allocate_async with " << what << ": " << status.message << advice;
    call(table().memory_free_async, weir_stream(stream), out);
  };
  expect_taken(Larger<weir_memory_options>(memory_options(1000)).get(), "a struct_size larger than today's");
  if (WEIR_ABI_MINOR(raw_table().abi_version) < 1) return;
  expect_taken(
      Sized<weir_memory_options>(memory_options(1000), offsetof(weir_memory_options, alignment)).get(),
      "a struct_size that ends before the alignment");
  stream.synchronize();
}

WEIR_REQUIREMENT(
    5, 39, Structs, LargerLaunchesOfNodesAreAccepted,
    "A kernel node whose launch has a struct_size larger than today's is accepted, when the graph is made "
    "and when the node is updated.") {
  needs(WEIR_CAP_GRAPHS);
  const Kernel iota("iota");
  const Memory out(8 * 64);
  GraphNodes nodes;
  nodes.kernel(iota, arguments(out, std::int64_t{64}, std::int64_t{5}));
  const Larger<weir_launch> larger(*nodes[0].launch);
  nodes[0].launch = larger.get();
  const Larger<weir_graph_node> node(nodes[0]);
  const weir_graph_node* const given[] = {node.get()};
  Graph graph;
  weir_status status = new_status();
  ASSERT_EQ(table().graph_create(device(), 1, given, graph.out(), &status), WEIR_OK)
      << "graph_create with a kernel node whose launch is larger: " << status.message << advice;
  const weir_result updated = table().graph_update(graph, 0, node.get(), &status);
  ASSERT_TRUE(updated == WEIR_OK || updated == WEIR_ERROR_UNSUPPORTED)
      << "graph_update with a kernel node whose launch is larger returned " << result_name(updated) << ": "
      << status.message << advice;
  const Stream stream;
  launch(graph, stream);
  stream.synchronize();
  EXPECT_EQ(out.values<std::int64_t>()[63], 68) << advice;
}

WEIR_REQUIREMENT(
    1, 15, Structs, LargerMemoryOptionsAreAccepted,
    "memory_allocate and memory_get_info accept structs with a struct_size larger than today's.") {
  const Larger<weir_memory_options> options(memory_options(1000));
  const Larger<weir_memory_info> filled({});
  Memory memory(weir_allocation{});
  call(table().memory_allocate, device(), static_cast<const weir_memory_options*>(options.get()),
       memory.out());
  call(table().memory_get_info, weir_allocation(memory), filled.get());
  EXPECT_EQ(filled.get()->size, 1000u) << advice;
}

WEIR_REQUIREMENT(1, 16, Structs, MissingMemoryOptionsAreZero,
                 "memory_allocate reads no alignment past struct_size: it then is memory_alignment.") {
  needs_version(1);
  constexpr std::size_t size = offsetof(weir_memory_options, alignment);
  const Sized<weir_memory_options> options(memory_options(1000), size);
  Memory memory(weir_allocation{});
  call(table().memory_allocate, device(), static_cast<const weir_memory_options*>(options.get()),
       memory.out());
  struct {
    weir_memory_options options;
  } spoilt{memory_options(1000, WEIR_MEMORY_DEVICE, 3)};
  spoilt.options.struct_size = size;
  Memory other(weir_allocation{});
  EXPECT_EQ(result_of(table().memory_allocate, device(),
                      static_cast<const weir_memory_options*>(&spoilt.options), other.out()),
            WEIR_OK)
      << "struct_size was " << size << ", and the bytes of the alignment, which follow, were 3" << advice;
}

WEIR_REQUIREMENT(2, 18, Structs, LargerStreamOptionsAreAccepted,
                 "stream_create accepts options with a struct_size larger than today's.") {
  const Larger<weir_stream_options> options({});
  weir_stream out = nullptr;
  call(table().stream_create, device(), static_cast<const weir_stream_options*>(options.get()), &out);
  call(table().stream_destroy, out);
}

WEIR_REQUIREMENT(
    3, 18, Structs, LargerLaunchesAreAccepted,
    "Code objects, layouts, launches and kernel information with a struct_size larger than today's are "
    "accepted.") {
  const Kernel iota("iota");
  const Larger<weir_code_object> object(iota.ready().code_object());
  const Larger<weir_kernel_layout> layout(iota.layout());
  const Larger<weir_kernel_info> filled({});
  Module module;
  weir_kernel kernel = nullptr;
  call(table().module_load, device(), static_cast<const weir_code_object*>(object.get()), module.out());
  call(table().module_get_kernel, weir_module(module), iota.ready().symbol.c_str(),
       static_cast<const weir_kernel_layout*>(layout.get()), &kernel);
  call(table().kernel_get_info, kernel, filled.get());
  const Memory out(8 * 64);
  const Stream stream;
  Arguments values = arguments(out, std::int64_t{64}, std::int64_t{5});
  values.pad_to(iota.ready().argument_bytes);
  weir_launch given = iota.launch_of(values);
  given.kernel = kernel;
  const Larger<weir_launch> launch(given);
  call(table().kernel_launch, weir_stream(stream), static_cast<const weir_launch*>(launch.get()));
  stream.synchronize();
  EXPECT_EQ(out.values<std::int64_t>()[63], 68) << advice;
}

WEIR_REQUIREMENT(3, 27, Structs, MissingArgumentsOfLaunchesAreNull,
                 "kernel_launch of a kernel without parameters reads no arguments past struct_size.") {
  needs_version(1);
  const Kernel nothing("nothing");
  const weir_launch given = nothing.launch_of(Arguments());
  if (given.argument_bytes) throw Unsupported("the kernel 'nothing' has an argument block");
  const Sized<weir_launch> launch(given, offsetof(weir_launch, arguments));
  const Stream stream;
  weir_status status = new_status();
  EXPECT_EQ(result_name(table().kernel_launch(stream, launch.get(), &status)), "WEIR_OK")
      << "kernel_launch of a kernel without parameters, with a struct_size that ends before the arguments: "
      << status.message << advice;
  stream.synchronize();
}

WEIR_REQUIREMENT(3, 19, Structs, MissingNamesOfCodeObjectsAreNull,
                 "module_load reads no name past struct_size.") {
  const Kernel iota("iota");
  const Sized<weir_code_object> object(iota.ready().code_object(), offsetof(weir_code_object, name));
  Module module;
  call(table().module_load, device(), static_cast<const weir_code_object*>(object.get()), module.out());
}

WEIR_REQUIREMENT(5, 30, Structs, LargerNodesAreAccepted,
                 "Nodes and their launches with a struct_size larger than today's are accepted.") {
  needs(WEIR_CAP_GRAPHS);
  const Memory memory(64);
  GraphNodes nodes;
  nodes.fill<std::uint8_t>(memory, 0, 64, 1);
  const Larger<weir_graph_node> node(nodes[0]);
  const weir_graph_node* const given[] = {node.get()};
  Graph graph;
  call(table().graph_create, device(), 1u, static_cast<const weir_graph_node* const*>(given), graph.out());
  (void)result_of(table().graph_update, weir_graph(graph), 0u,
                  static_cast<const weir_graph_node*>(node.get()));
  const Stream stream;
  launch(graph, stream);
  stream.synchronize();
  EXPECT_TRUE(same_bytes(memory.read(), Bytes(64, 1))) << advice;
}

}  // namespace
}  // namespace weir::conformance
