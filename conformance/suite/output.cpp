// SPDX-License-Identifier: Apache-2.0
// A driver prints nothing: at each level, in calls that succeed and in calls that are refused.
#include <optional>

#include "kernels/gate.hpp"
#include "kernels/graph_nodes.hpp"
#include "kernels/kernels.hpp"
#include "process/diverted.hpp"

namespace weir::conformance {
namespace {

/// Runs `work` and fails if anything was printed.
template <class Work>
void expect_silence(const Work& work) {
  if (!judged().layer.library.empty()) throw Skipped("a layer may print reports");
  Diverted output;
  work();
  const std::string printed = output.end();
  EXPECT_EQ(printed, "") << "this was printed to standard output or standard error; driver.h: no function "
                            "prints";
}

WEIR_REQUIREMENT(1, 51, Output, NothingIsPrinted,
                 "Nothing is printed while memory is allocated, written, filled, copied, read and freed.") {
  expect_silence([] {
    const Memory from(4096), to(4096);
    from.write(pattern(4096));
    const Stream stream;
    fill<std::uint32_t>(stream, to, 0, 4096, 7);
    call(table().copy_on_device, weir_stream(stream), weir_allocation(to), std::uint64_t{0},
         weir_allocation(from), std::uint64_t{0}, std::uint64_t{4096});
    stream.synchronize();
    (void)to.read();
    const Event event;
    event.record(stream);
    event.synchronize();
    std::uint8_t host = 0;
    refusal(WEIR_ERROR_INVALID, table().copy_to_host, weir_stream(stream), static_cast<void*>(&host),
            weir_allocation(to), std::uint64_t{4096}, std::uint64_t{1});
  });
}

WEIR_REQUIREMENT(
    2, 48, Output, NothingIsPrintedByStreamsAndEvents,
    "Nothing is printed while streams wait for events and both are destroyed while they are busy.") {
  expect_silence([] {
    const Memory memory(4u << 20);
    const Stream other;
    std::optional<Gate> gate;  // without it, the work may have ended before they are destroyed
    if (Gate::possible()) gate.emplace();
    {
      const Stream stream;
      const Event event;
      if (gate) gate->hold(stream);
      fill<std::uint8_t>(stream, memory, 0, memory.size(), 1);
      event.record(stream);
      (void)event.done();
      other.wait(event);
    }
    other.flush();
    (void)other.done();
    if (gate) gate->open();
    other.synchronize();
    weir_event out = nullptr;
    (void)result_of(table().event_create, device(), 0x100u, &out);
  });
}

WEIR_REQUIREMENT(3, 58, Output, NothingIsPrintedByLaunches,
                 "Nothing is printed while code is loaded, refused, launched and unloaded.") {
  expect_silence([] {
    const Kernel iota("iota");
    const Memory out(8 * 64);
    const Stream stream;
    for (std::int64_t i = 0; i < 100; ++i) iota.launch(stream, arguments(out, std::int64_t{64}, i));
    stream.synchronize();
    Arguments values = arguments(out, std::int64_t{64}, std::int64_t{0});
    values.pad_to(iota.ready().argument_bytes);
    weir_launch launch = iota.launch_of(values);
    launch.grid[0] = 0;
    refusal(WEIR_ERROR_INVALID, table().kernel_launch, weir_stream(stream),
            static_cast<const weir_launch*>(&launch));
    weir_kernel missing = nullptr;
    refusal(WEIR_ERROR_NOT_FOUND, table().module_get_kernel, iota.module(),
            static_cast<const char*>("no_such_kernel"), &iota.layout(), &missing);
    weir_code_object object = iota.ready().code_object();
    object.format = "no-such-format";
    weir_module module = nullptr;
    refusal(WEIR_ERROR_CODE_OBJECT, table().module_load, device(),
            static_cast<const weir_code_object*>(&object), &module);
  });
}

WEIR_REQUIREMENT(5, 27, Output, NothingIsPrintedByGraphs,
                 "Nothing is printed while graphs are made, launched, updated, refused and destroyed.") {
  needs(WEIR_CAP_GRAPHS);
  expect_silence([] {
    const Memory memory(4096);
    GraphNodes nodes;
    const auto first = nodes.fill<std::uint8_t>(memory, 0, 2048, 1);
    nodes.fill<std::uint8_t>(memory, 2048, 2048, 2, {first});
    const Graph graph = nodes.make();
    const Stream stream;
    for (int i = 0; i < 20; ++i) launch(graph, stream);
    (void)result_of(table().graph_update, weir_graph(graph), 0u,
                    static_cast<const weir_graph_node*>(&nodes[0]));
    nodes[1].size = 4096;
    weir_graph refused = nullptr;
    const auto pointers = nodes.pointers();
    refusal(WEIR_ERROR_INVALID, table().graph_create, device(), nodes.size(), pointers.data(), &refused);
    stream.synchronize();
  });
}

}  // namespace
}  // namespace weir::conformance
