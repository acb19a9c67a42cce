// SPDX-License-Identifier: Apache-2.0
// A stream whose kernel got no memory for its shared bytes: it stays failed, and nothing else does.
#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <new>

#include "allocations.hpp"
#include "graph_nodes.hpp"

namespace {

constexpr std::uint32_t refused_bytes = 200'000;
std::atomic<bool> refuses{false};

}  // namespace

// The driver finds the program's functions first. While `refuses`, allocations for the shared bytes fail.
extern "C" __attribute__((visibility("default"))) void* aligned_alloc(std::size_t alignment,
                                                                      std::size_t size) {
  using Function = void* (*)(std::size_t, std::size_t);
  static const auto real = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "aligned_alloc"));
  if (refuses.load() && size > refused_bytes && size < refused_bytes + 8192) return nullptr;
  return real(alignment, size);
}

std::atomic<std::size_t> cpu_test::allocations{0};
std::atomic<bool> cpu_test::only_the_first_thread_allocates{false};
std::atomic<std::size_t> cpu_test::refused_size{std::numeric_limits<std::size_t>::max()};

// Replaces the operator in the driver too.
void* operator new(std::size_t size) {
  ++cpu_test::allocations;
  if (size > cpu_test::refused_size || (cpu_test::only_the_first_thread_allocates && gettid() != getpid()))
    throw std::bad_alloc();
  if (void* const made = std::malloc(size ? size : 1)) return made;
  throw std::bad_alloc();
}
void operator delete(void* given_back) noexcept {
  std::free(given_back);
}
void operator delete(void* given_back, std::size_t) noexcept {
  std::free(given_back);
}

namespace cpu_test {
namespace {

weir_launch shared_launch(const RunArguments& arguments, std::uint32_t blocks = 1) {
  weir_launch launch = launch_of(kernels().see_run, blocks);
  launch.dynamic_shared_bytes = refused_bytes;
  launch.arguments = &arguments;
  launch.argument_bytes = sizeof arguments;
  return launch;
}

/// In a process of its own, whose threads have no memory for shared bytes yet.
template <class Body>
void run(Body body) {
  in_fresh_process("WEIR_CPU_DEVICES", "1", body);
}

// proves R35
TEST(FailedStreamDeathTest, ReturnsItsErrorFromEveryLaterCall) {
  run([] {
    std::uint32_t seen[6] = {}, failures = 0;
    const RunArguments arguments{seen, &failures};
    const weir_launch launch = shared_launch(arguments);
    const Memory memory(64), other(64);
    Event event, elsewhere;
    const weir_memory_options options = memory_options(64);
    weir_allocation ordered = nullptr;
    Nodes nodes;
    nodes.add(WEIR_GRAPH_EMPTY);
    const Graph graph(nodes);
    Stream stream, healthy;
    call(table().memory_allocate_async, weir_stream(stream), &options, &ordered);
    refuses = true;
    call(table().kernel_launch, weir_stream(stream), &launch);
    constexpr weir_result error = WEIR_ERROR_OUT_OF_MEMORY;
    const std::string message = refusal(error, table().stream_synchronize, weir_stream(stream));
    EXPECT_NE(message.find("the stream failed earlier"), std::string::npos) << message;
    refusal(error, table().stream_synchronize, weir_stream(stream));
    refusal(error, table().stream_query, weir_stream(stream));
    refusal(error, table().kernel_launch, weir_stream(stream), &launch);
    refusal(error, table().event_record, weir_event(event), weir_stream(stream));
    refusal(error, table().stream_wait_event, weir_stream(stream), weir_event(elsewhere));
    Event timed(WEIR_EVENT_TIMED);
    refusal(error, table().event_record, weir_event(timed), weir_stream(stream));
    std::uint64_t bytes = 0;
    for (const std::uint64_t size : {std::uint64_t{8}, std::uint64_t{0}}) {
      refusal(error, table().copy_to_device, weir_stream(stream), weir_allocation(memory), std::uint64_t{0},
              static_cast<const void*>(&bytes), size);
      refusal(error, table().copy_to_host, weir_stream(stream), static_cast<void*>(&bytes),
              weir_allocation(memory), std::uint64_t{0}, size);
      refusal(error, table().copy_on_device, weir_stream(stream), weir_allocation(memory), std::uint64_t{0},
              weir_allocation(other), std::uint64_t{0}, size);
      refusal(error, table().fill, weir_stream(stream), weir_allocation(memory), std::uint64_t{0}, size,
              static_cast<const void*>(&bytes), 1u);
    }
    refusal(error, table().stream_host_callback, weir_stream(stream), weir_host_callback{[](void*) {}},
            static_cast<void*>(nullptr));
    refusal(error, table().graph_launch, weir_graph(graph), weir_stream(stream));
    weir_allocation refused = nullptr;
    refusal(error, table().memory_allocate_async, weir_stream(stream), &options, &refused);
    EXPECT_EQ(refused, nullptr);
    // A refused deallocation leaves the memory as it was.
    refusal(error, table().memory_free_async, weir_stream(stream), ordered);
    const weir_external_memory external{sizeof external, WEIR_EXTERNAL_DEVICE,
                                        reinterpret_cast<std::uint64_t>(&bytes), 8};
    weir_allocation wrapped = nullptr;
    call(table().memory_wrap, first_device(), &external, &wrapped);
    refusal(error, table().memory_free_async, weir_stream(stream), wrapped);
    call(table().memory_free, wrapped);
    healthy.wait(event);
    call(table().memory_free_async, weir_stream(healthy), ordered);
    healthy.synchronize();
    EXPECT_TRUE(event.done()) << "a refused recording changed the event";
    EXPECT_EQ(seen[0], 0u) << "the kernel ran without its shared bytes";
  });
}

TEST(FailedStreamDeathTest, LeavesOtherStreamsAndLaterOnesAlone) {
  run([] {
    std::uint32_t seen[6] = {}, failures = 0, value = 0;
    const RunArguments arguments{seen, &failures};
    const weir_launch launch = shared_launch(arguments);
    Stream healthy;
    for (int round = 0; round < 4; ++round) {
      Stream stream;
      refuses = true;
      call(table().kernel_launch, weir_stream(stream), &launch);
      const AddArguments add{&value, 1};
      weir_launch next = launch_of(kernels().add, 1);
      next.arguments = &add;
      next.argument_bytes = sizeof add;
      table().kernel_launch(stream, &next, nullptr);  // submitted before the failure is known, or refused
      refusal(WEIR_ERROR_OUT_OF_MEMORY, table().stream_synchronize, weir_stream(stream));
      refuses = false;
      healthy.launch(kernels().add, AddArguments{&value, 1});
      healthy.synchronize();
    }
    Stream later;  // may be one that failed, in another life
    call(table().kernel_launch, weir_stream(later), &launch);
    later.synchronize();
    EXPECT_EQ(seen[0], 1u);
    EXPECT_EQ(failures, 0u);
  });
}

// Of one block, of two, and of many, whose time is known or not.
TEST(FailedStreamDeathTest, IsThatOfAnyLaunchWithoutMemory) {
  for (const bool known : {false, true})
    run([known] {
      for (const std::uint32_t blocks : {1u, 2u, 3u, 1000u}) {
        std::uint32_t seen[6] = {}, failures = 0;
        const RunArguments arguments{seen, &failures};
        weir_launch launch = shared_launch(arguments, blocks);
        for (int i = 0; known && i < 40; ++i) {
          launch.dynamic_shared_bytes = 64;
          Stream stream;
          call(table().kernel_launch, weir_stream(stream), &launch);
          stream.synchronize();
        }
        launch.dynamic_shared_bytes = refused_bytes;
        refuses = true;
        for (int i = 0; i < 2 * 16; ++i) {  // with and without a measurement
          Stream stream;
          call(table().kernel_launch, weir_stream(stream), &launch);
          refusal(WEIR_ERROR_OUT_OF_MEMORY, table().stream_synchronize, weir_stream(stream));
        }
        refuses = false;
        EXPECT_EQ(failures, 0u);
      }
    });
}

// The memory that a thread has stays valid if it gets no more.
TEST(FailedStreamDeathTest, LeavesTheThreadsMemoryForSmallerBlocks) {
  run([] {
    std::uint32_t seen[6] = {}, failures = 0;
    const RunArguments arguments{seen, &failures};
    weir_launch launch = shared_launch(arguments);
    const auto result_with = [&](std::uint32_t bytes) {
      launch.dynamic_shared_bytes = bytes;
      Stream stream;
      call(table().kernel_launch, weir_stream(stream), &launch);
      return table().stream_synchronize(stream, nullptr);
    };
    for (int i = 0; i < 20; ++i) {
      refuses = false;
      EXPECT_EQ(result_with(8192), WEIR_OK);
      refuses = true;
      EXPECT_EQ(result_with(refused_bytes), WEIR_ERROR_OUT_OF_MEMORY);
      const std::vector<char> other(8192 + 64, 'x');  // would get memory that was freed
      EXPECT_EQ(result_with(4096), WEIR_OK);
      EXPECT_EQ(other, std::vector<char>(8192 + 64, 'x'));
    }
    EXPECT_EQ(failures, 0u);
  });
}

// A worker could not report that it has no memory.
TEST(FailedStreamDeathTest, IsNotThatOfACallbackForWhichAWorkerHasNoMemory) {
  run([] {
    std::uint32_t called = 0;
    std::function<void()> body = [&] { raise(called); };
    Stream stream;
    stream.launch(kernels().nothing);
    stream.synchronize();
    only_the_first_thread_allocates = true;
    for (std::uint32_t i = 0; i < 3; ++i) {
      submit_callback(stream, body);
      while (!stream.done()) std::this_thread::yield();
    }
    only_the_first_thread_allocates = false;
    EXPECT_EQ(read(called), 1u);
  });
}

// The object of an earlier graph is used again.
TEST(GraphDeathTest, ThatGetsNoMemoryIsRefused) {
  run([] {
    constexpr std::uint32_t count = 20'000;
    Nodes nodes, many;
    nodes.add(WEIR_GRAPH_EMPTY);
    nodes.add(WEIR_GRAPH_EMPTY);
    for (std::uint32_t i = 0; i < count; ++i) many.add(WEIR_GRAPH_EMPTY);
    const auto all = many.pointers();
    for (int i = 0; i < 3; ++i) {
      Graph(nodes).destroy();
      refused_size = 200'000;
      weir_graph graph = nullptr;
      refusal(WEIR_ERROR_OUT_OF_MEMORY, table().graph_create, first_device(), count, all.data(), &graph);
      refused_size = std::numeric_limits<std::size_t>::max();
      Stream stream;
      Graph(many).launch(stream);
      stream.synchronize();
    }
  });
}

// In a process each: once a run has succeeded, its thread has memory for the next one.
TEST(FailedStreamDeathTest, IsAlsoThatOfAGraphWhoseKernelFailed) {
  for (const bool branches : {false, true})
    run([branches] {
      std::uint32_t seen[6] = {}, failures = 0;
      const RunArguments arguments{seen, &failures};
      Nodes nodes;
      nodes.launch(kernels().see_run, arguments);
      weir_launch launch = shared_launch(arguments);
      nodes[0].launch = &launch;
      nodes.add(WEIR_GRAPH_EMPTY, branches ? std::vector<std::uint32_t>{} : std::vector<std::uint32_t>{0});
      Graph graph(nodes);
      Stream stream, other;
      refuses = true;
      graph.launch(stream);
      const std::string message =
          refusal(WEIR_ERROR_OUT_OF_MEMORY, table().stream_synchronize, weir_stream(stream));
      EXPECT_NE(message.find("the stream failed earlier"), std::string::npos) << message;
      refuses = false;
      graph.launch(other);  // the failure was of one run
      other.synchronize();
      EXPECT_EQ(seen[0], 1u);
    });
}

}  // namespace
}  // namespace cpu_test
