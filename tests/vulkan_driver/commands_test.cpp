// SPDX-License-Identifier: Apache-2.0
// The commands and waits of the driver, observed by a Vulkan layer (recorded_commands.cpp).
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <regex>

#include "kernels.hpp"

namespace vulkan_test {
namespace {

/// A number, and a kernel that adds its blocks to it.
struct Tally {
  weir_device device;
  weir_module module = load_kernel(device, "tally");
  weir_kernel kernel = find(module, "tally", 8);
  weir_allocation number = allocate(device, 16);

  void clear(weir_stream stream) const {
    const std::uint8_t zero = 0;
    call(table().fill, stream, number, 0ull, 16ull, static_cast<const void*>(&zero), 1u);
  }
  void launch(weir_stream stream) const {
    const std::uint64_t arguments[] = {address(number)};
    const weir_launch launch = launch_of(kernel, arguments, 8, 1, 1);
    call(table().kernel_launch, stream, &launch);
  }
  void print(weir_stream stream) const {
    std::printf("blocks: %llu\n", static_cast<unsigned long long>(read<std::uint64_t>(stream, number, 2)[0]));
  }
  void end() const {
    call(table().memory_free, number);
    call(table().module_unload, module);
  }
};

/// Runs a graph of kernels and fills in this order, of which every other pair of nodes depends on the first
/// two.
TEST_F(Open, DISABLED_RunsAGraphOfKernelsAndFills) {
  const Tally tally{device};
  const weir_stream stream = new_stream(device);
  const weir_allocation filled = allocate(device, 256);
  const std::uint8_t zero = 0, one = 1;
  tally.clear(stream);
  call(table().fill, stream, filled, 0ull, 256ull, static_cast<const void*>(&zero), 1u);
  const std::uint64_t arguments[] = {address(tally.number)};
  const weir_launch launch = launch_of(tally.kernel, arguments, 8, 10, 1);
  const std::uint32_t first_two[] = {0, 1};
  weir_graph_node nodes[8] = {};
  const weir_graph_node* pointers[8];
  for (std::uint32_t i = 0; i < 8; ++i) {
    weir_graph_node& node = nodes[i];
    pointers[i] = &node;
    node.struct_size = sizeof node;
    node.kind = i % 2 == 0 ? WEIR_GRAPH_KERNEL : WEIR_GRAPH_FILL;
    node.launch = &launch;
    node.destination = filled;
    node.destination_offset = 32ull * i;
    node.size = 32;
    node.pattern = &one;
    node.pattern_size = 1;
    node.dependencies = first_two;
    node.dependency_count = i / 2 % 2 == 0 ? 0 : 2;
  }
  weir_graph graph = nullptr;
  call(table().graph_create, device, 8u, static_cast<const weir_graph_node* const*>(pointers), &graph);
  call(table().graph_launch, graph, stream);
  tally.print(stream);
  const std::vector<std::uint8_t> bytes = read<std::uint8_t>(stream, filled, 256);
  std::printf("filled: %d\n", static_cast<int>(std::ranges::count(bytes, 1)));
  call(table().graph_destroy, graph);
  call(table().memory_free, filled);
  call(table().stream_destroy, stream);
  tally.end();
}

TEST_F(Open, DISABLED_RunsKernelsAndFillsInBatchesOfOne) {
  const Tally tally{device};
  const weir_stream stream = new_stream(device), other = new_stream(device);
  const weir_event event = new_event(device);
  const auto in_a_batch = [&](weir_stream of, const auto& operation) {
    operation(of);
    call(table().stream_synchronize, of);
  };
  const auto clear = [&](weir_stream of) { tally.clear(of); };
  const auto launch = [&](weir_stream of) { tally.launch(of); };
  in_a_batch(stream, launch);
  in_a_batch(stream, clear);
  in_a_batch(stream, launch);
  in_a_batch(stream, launch);
  Gate gate;  // so that the event is not complete when `other` waits for it
  gate.hold(stream);
  clear(stream);
  call(table().event_record, event, stream);
  call(table().stream_wait_event, other, event);
  launch(other);
  gate.is_open.store(true);
  call(table().stream_synchronize, other);
  in_a_batch(stream, launch);
  in_a_batch(stream, launch);
  for (const weir_stream one : {stream, other}) call(table().stream_destroy, one);
  call(table().event_destroy, event);
  tally.end();
}

std::string commands_of(const char* test, std::string& output, const std::string& environment = "") {
  const std::string file = testing::TempDir() + "weir-vulkan-commands-" + std::to_string(getpid());
  output = run_apart("VK_LAYER_PATH=" WEIR_TEST_LAYERS
                     " VK_INSTANCE_LAYERS=VK_LAYER_WEIR_recorded_commands WEIR_TEST_COMMANDS=" +
                         file + " " + environment,
                     test);
  std::ifstream commands(file);
  const std::string text{std::istreambuf_iterator<char>(commands), {}};
  std::filesystem::remove(file);
  return text;
}

std::string without_waits(const std::string& text) {
  return std::regex_replace(text, std::regex("[wW]\n"), "");
}

// On an H200 a fill after a running kernel holds back all queues: tests/evidence/vulkan.md.
TEST(Graph, NoCopyOrFillFollowsAKernelWithoutABarrier) {
  std::string output;
  const std::string text = commands_of("Open.DISABLED_RunsAGraphOfKernelsAndFills", output);
  EXPECT_THAT(output, testing::HasSubstr("blocks: 40\n"));
  EXPECT_THAT(output, testing::HasSubstr("filled: 128\n"));
  EXPECT_TRUE(std::regex_search(text, std::regex("t+kk"))) << "the graph was not recorded:\n" << text;
  EXPECT_FALSE(std::regex_search(text, std::regex("k+t"))) << text;
  EXPECT_EQ(text.find('p'), std::string::npos) << "arguments of graphs change without a recording\n" << text;
}

TEST(Launch, PushesTheArgumentsOfAKernelThatTakesThem) {
  std::string output;
  const std::string text = commands_of("Open.DISABLED_RunsAKernel", output);
  EXPECT_THAT(output, testing::HasSubstr("blocks: 10\n"));
  EXPECT_TRUE(std::regex_search(text, std::regex("pk"))) << text;
}

// A barrier of kernels orders a kernel after kernels only: of its stream, and of the streams that it waits
// for.
TEST(Launch, FollowsKernelsAfterABarrierOfKernelsAndOthersAfterOneOfAllCommands) {
  std::string output;
  const std::string text = commands_of("Open.DISABLED_RunsKernelsAndFillsInBatchesOfOne", output);
  EXPECT_EQ(without_waits(text),
            "bpkh\n"    // kernel
            "Bth\n"     // fill
            "Bpkh\n"    // kernel after a fill
            "bpkh\n"    // kernel after a kernel
            "Bth\n"     // fill, and an event
            "Bpkh\n"    // kernel of another stream that waits for the event
            "Bpkh\n"    // kernel after the fill
            "bpkh\n");  // kernel after a kernel
}

TEST(Wait, OneThreadAtATimeWaitsForAQueue) {
  std::string output;
  const std::string text = commands_of("Open.ThreadsThatWaitForTheirStreamsLeaveOutNone", output);
  EXPECT_THAT(output, testing::HasSubstr("[       OK ]"));
  EXPECT_NE(text.find('w'), std::string::npos) << "no wait was observed";
  EXPECT_EQ(text.find('W'), std::string::npos) << "two threads waited for a semaphore at once";
}

// There vkWaitSemaphores may end 10 ms late: tests/evidence/vulkan.md.
TEST(Wait, ThreadsPollNvidiasQueues) {
  for (const char* test :
       {"Open.ThreadsThatWaitForTheirStreamsLeaveOutNone",
        "Open.OpenBatchesAreSubmittedWhenTheirStreamIsIdle",
        "Open.StreamsThatWaitForOneAnotherInTurnDoNotDeadlock", "Open.LargeCopiesOfPageableMemoryAreExact"}) {
    std::string output;
    const std::string text = commands_of(test, output, "WEIR_TEST_AS_NVIDIA=1");
    EXPECT_THAT(output, testing::HasSubstr("[       OK ]")) << test;
    EXPECT_NE(text.find('t'), std::string::npos) << "no command was observed in " << test;
    EXPECT_FALSE(std::regex_search(text, std::regex("[wW]"))) << test << " waited for a semaphore";
  }
}

}  // namespace
}  // namespace vulkan_test
