// SPDX-License-Identifier: Apache-2.0
// The commands that graphs are recorded as, observed by a Vulkan layer (recorded_commands.cpp).
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <regex>

#include "kernels.hpp"

namespace vulkan_test {
namespace {

/// Runs a graph of kernels and fills in this order, of which every other pair of nodes depends on the first
/// two.
TEST_F(Open, DISABLED_RunsAGraphOfKernelsAndFills) {
  const weir_module module = load_kernel(device, "tally");
  const weir_kernel kernel = find(module, "tally", 8);
  const weir_stream stream = new_stream(device);
  const weir_allocation counted = allocate(device, 16), filled = allocate(device, 256);
  const std::uint8_t zero = 0, one = 1;
  call(table().fill, stream, counted, 0ull, 16ull, static_cast<const void*>(&zero), 1u);
  call(table().fill, stream, filled, 0ull, 256ull, static_cast<const void*>(&zero), 1u);
  const std::uint64_t arguments[] = {address(counted)};
  const weir_launch launch = launch_of(kernel, arguments, 8, 10, 1);
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
  std::printf("blocks: %llu\n", static_cast<unsigned long long>(read<std::uint64_t>(stream, counted, 2)[0]));
  const std::vector<std::uint8_t> bytes = read<std::uint8_t>(stream, filled, 256);
  std::printf("filled: %d\n", static_cast<int>(std::ranges::count(bytes, 1)));
  call(table().graph_destroy, graph);
  call(table().memory_free, filled);
  call(table().memory_free, counted);
  call(table().stream_destroy, stream);
  call(table().module_unload, module);
}

std::string commands_of(const char* test, std::string& output) {
  const std::string file = testing::TempDir() + "weir-vulkan-commands-" + std::to_string(getpid());
  output = run_apart("VK_LAYER_PATH=" WEIR_TEST_LAYERS
                     " VK_INSTANCE_LAYERS=VK_LAYER_WEIR_recorded_commands WEIR_TEST_COMMANDS=" +
                         file,
                     test);
  std::ifstream commands(file);
  const std::string text{std::istreambuf_iterator<char>(commands), {}};
  std::filesystem::remove(file);
  return text;
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

}  // namespace
}  // namespace vulkan_test
