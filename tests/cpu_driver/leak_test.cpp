// SPDX-License-Identifier: Apache-2.0
// Every object is given back, however it ends. Lost references show as growth of the heap.
#include <malloc.h>

#include "graph_nodes.hpp"

namespace cpu_test {
namespace {

constexpr int rounds = 500, phases = 8;
constexpr std::size_t slack = 16 * rounds;  // less than any object in each round

/// Fails if the heap grows each time that `round` runs many times. Pools also grow when more objects than
/// ever are in use at a time, but not in each phase.
template <class Round>
void expect_no_growth(const char* what, Round round) {
  std::size_t before = 0, after = 0;
  for (int phase = 0; phase < phases; ++phase) {
    before = mallinfo2().uordblks;
    for (int i = 0; i < rounds; ++i) round();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // a worker gives back the last objects
    after = mallinfo2().uordblks;
    if (after <= before + slack) return;
  }
  ADD_FAILURE();
  // The parent process prints what this one writes here.
  std::fprintf(stderr, "%s keeps %zu bytes of memory in %d rounds\n", what, after - before, rounds);
}

TEST(LeakDeathTest, NoObjectKeepsMemory) {
  in_fresh_process("WEIR_CPU_THREADS", "2", [] {
    std::uint32_t value = 0;
    const AddArguments add{&value, 1};
    const weir_kernel adds = kernels().add;

    expect_no_growth("a stream that was never used", [] { Stream stream; });
    expect_no_growth("a stream destroyed after its work", [&] {
      Stream stream;
      stream.launch(adds, add);
      stream.synchronize();
    });
    expect_no_growth("a stream destroyed with its work", [&] {
      Event end;
      {
        Stream busy;
        for (int i = 0; i < 4; ++i) busy.launch(adds, add);
        end.record(busy);
      }
      end.synchronize();
    });
    expect_no_growth("a stream with many operations at a time", [&] {
      Stream stream;
      for (int i = 0; i < 100; ++i) stream.launch(adds, add);
      stream.synchronize();
    });
    Stream stream, other;
    expect_no_growth("an event that is waited for", [&] {
      Event event;
      stream.launch(adds, add);
      event.record(stream);
      other.wait(event);
      other.synchronize();  // runs the work of the other stream
      event.record(other);
      event.synchronize();
    });
    Event kept(WEIR_EVENT_TIMED);
    expect_no_growth("an event that is recorded again", [&] {
      Stream brief;
      kept.record(brief);
      kept.record(stream);
      stream.synchronize();
    });
    expect_no_growth("a graph on two streams", [&] {
      Nodes nodes;
      nodes.launch(adds, add);
      nodes.launch(adds, add);
      nodes.launch(adds, add, {0, 1});
      Graph graph(nodes);
      Stream brief;
      graph.launch(brief);
      graph.launch(stream);
      graph.launch(other);
      graph.destroy();
      other.synchronize();
    });
    expect_no_growth("a refused graph", [&] {
      Nodes nodes;
      nodes.launch(adds, add);
      nodes.launch(adds, add, {7});
      const auto all = nodes.pointers();
      weir_graph graph = nullptr;
      EXPECT_EQ(table().graph_create(first_device(), 2, all.data(), &graph, nullptr), WEIR_ERROR_INVALID);
    });
    expect_no_growth("memory", [&] {
      const Memory memory(4096);
      weir_allocation ordered = nullptr;
      const weir_memory_options options = memory_options(4096);
      call(table().memory_allocate_async, weir_stream(stream), &options, &ordered);
      call(table().memory_free_async, weir_stream(stream), ordered);
      stream.synchronize();
    });
  });
}

TEST(LeakDeathTest, NoModuleKeepsMemory) {
  in_fresh_process("WEIR_CPU_THREADS", "2", [] {
    const std::vector<char> bytes = kernel_bytes();
    const auto round = [&] {
      const weir_code_object object = code_object(bytes);
      weir_module module = nullptr;
      call(table().module_load, first_device(), &object, &module);
      plain_kernel(module, "nothing");
      call(table().module_unload, module);
    };
    for (int i = 0; i < 20; ++i) round();
    const std::size_t before = mallinfo2().uordblks;
    for (int i = 0; i < 200; ++i) round();
    EXPECT_LT(mallinfo2().uordblks, before + 200 * 16);
  });
}

}  // namespace
}  // namespace cpu_test
