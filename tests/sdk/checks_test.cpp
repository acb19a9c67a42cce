// SPDX-License-Identifier: Apache-2.0
// The checks as C functions: what each accepts, what it refuses, and its message.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weir/sdk/checks.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

namespace {

using ::testing::HasSubstr;

class Checks : public testing::Test {
 protected:
  Checks() {
    status.struct_size = sizeof status;
    device.max_grid[0] = 1000;
    device.max_grid[1] = device.max_grid[2] = 10;
    device.max_block[0] = device.max_block[1] = 64;
    device.max_block[2] = 4;
    device.max_block_threads = 128;
    device.max_shared_bytes = 1024;
    device.max_argument_bytes = 256;
  }

  /// An accepting call must leave the status alone.
  void accepted(weir_result result) {
    EXPECT_EQ(result, WEIR_OK) << status.message;
    EXPECT_EQ(status.code, 0u);
    EXPECT_EQ(status.message[0], '\0');
  }
  void refused(weir_result result, weir_result code, const std::string& message) {
    EXPECT_EQ(result, code);
    EXPECT_EQ(status.code, code);
    EXPECT_THAT(status.message, HasSubstr(message));
    status = {};
    status.struct_size = sizeof status;
  }
  void invalid(weir_result result, const std::string& message) {
    refused(result, WEIR_ERROR_INVALID, message);
  }

  weir_status status{};
  weir_device_info device{};
};

TEST_F(Checks, FailFillsTheStatusAndCutsItBeforeACharacter) {
  refused(weir_fail(&status, WEIR_ERROR_LAUNCH, "the message"), WEIR_ERROR_LAUNCH, "the message");
  EXPECT_EQ(weir_fail(nullptr, WEIR_ERROR_LAUNCH, "the message"), WEIR_ERROR_LAUNCH);
  const std::size_t room = 7;
  status.struct_size = static_cast<std::uint32_t>(offsetof(weir_status, message) + room);
  std::memset(status.message, 'x', sizeof status.message);
  weir_fail(&status, WEIR_ERROR_LAUNCH, "12345\u00fc");  // two bytes, of which one would fit
  EXPECT_STREQ(status.message, "12345");
  EXPECT_EQ(status.message[room], 'x');
}

TEST_F(Checks, StructsOfOlderHostsAreFilledWithZeros) {
  weir_memory_options options, older{};
  older.size = 5;
  older.alignment = 64;
  older.struct_size = offsetof(weir_memory_options, alignment);
  std::memset(&options, 0xff, sizeof options);
  accepted(weir_read_struct(&options, &older, sizeof options, "options", &status));
  EXPECT_EQ(options.size, 5u);
  EXPECT_EQ(options.alignment, 0u);
  invalid(weir_read_struct(&options, nullptr, sizeof options, "options", &status), "options is null");
  older.struct_size = 4;
  invalid(weir_read_struct(&options, &older, sizeof options, "options", &status),
          "options has struct_size 4");
}

TEST_F(Checks, StructsOfTheHostAreFilledUpToTheirSize) {
  weir_memory_info mine{}, out;
  mine.size = 77;
  std::memset(&out, 0xff, sizeof out);
  out.struct_size = offsetof(weir_memory_info, size);
  accepted(weir_write_struct(&out, &mine, sizeof mine, "info", &status));
  EXPECT_EQ(out.struct_size, offsetof(weir_memory_info, size));
  EXPECT_NE(out.size, 77u);
  out.struct_size = sizeof out + 8;
  accepted(weir_write_struct(&out, &mine, sizeof mine, "info", &status));
  EXPECT_EQ(out.struct_size, sizeof out + 8);
  EXPECT_EQ(out.size, 77u);
  invalid(weir_write_struct(nullptr, &mine, sizeof mine, "info", &status), "info is null");
  out.struct_size = 0;
  invalid(weir_write_struct(&out, &mine, sizeof mine, "info", &status), "info has struct_size 0");
}

TEST_F(Checks, Ranges) {
  accepted(weir_check_range(100, 0, 100, "destination", &status));
  accepted(weir_check_range(100, 100, 0, "destination", &status));
  invalid(weir_check_range(100, 1, 100, "destination", &status),
          "destination: 100 bytes at offset 1 do not lie inside the allocation of 100 bytes");
  invalid(weir_check_range(100, 8, ~std::uint64_t{7}, "source", &status), "source: ");
  accepted(weir_check_apart(0, 10, 10, &status));
  accepted(weir_check_apart(10, 0, 10, &status));
  accepted(weir_check_apart(5, 5, 0, &status));
  invalid(weir_check_apart(9, 0, 10, &status),
          "the ranges of 10 bytes at offsets 0 and 9 of one allocation overlap");
  invalid(weir_check_apart(0, 9, 10, &status), "overlap");
}

TEST_F(Checks, Patterns) {
  const char bytes[16] = {};
  accepted(weir_check_pattern(32, 64, bytes, 16, &status));
  invalid(weir_check_pattern(32, 64, nullptr, 16, &status), "pattern is null");
  invalid(weir_check_pattern(32, 64, bytes, 3, &status), "pattern_size is 3; expected 1, 2, 4, 8 or 16");
  invalid(weir_check_pattern(32, 60, bytes, 8, &status),
          "offset 32 and size 60 are not multiples of pattern_size 8");
}

TEST_F(Checks, Memory) {
  weir_memory_options asked{}, options{};
  asked.struct_size = sizeof asked;
  asked.size = 100;
  asked.alignment = 4096;
  accepted(weir_check_memory_options(&asked, 0, &options, &status));
  EXPECT_EQ(options.size, 100u);
  EXPECT_EQ(options.alignment, 4096u);
  invalid(weir_check_memory_options(nullptr, 0, &options, &status), "options is null");
  asked.kind = WEIR_MEMORY_PINNED;
  accepted(weir_check_memory_options(&asked, WEIR_CAP_PINNED_MEMORY, &options, &status));
  refused(weir_check_memory_options(&asked, 0, &options, &status), WEIR_ERROR_UNSUPPORTED,
          "this device has no pinned memory");
  asked = {.struct_size = sizeof asked, .kind = WEIR_MEMORY_DEVICE, .size = 100, .alignment = 3};
  invalid(weir_check_memory_options(&asked, 0, &options, &status), "options.alignment is 3");
  asked.alignment = std::uint64_t{1} << 30;
  accepted(weir_check_memory_options(&asked, 0, &options, &status));
  for (const int bit : {31, 63}) {
    asked.alignment = std::uint64_t{1} << bit;
    refused(weir_check_memory_options(&asked, 0, &options, &status), WEIR_ERROR_UNSUPPORTED,
            "keeps alignments up to 1073741824");
  }
  asked.alignment = 0;
  asked.size = 0;
  invalid(weir_check_memory_options(&asked, 0, &options, &status), "options.size is 0");
  asked.size = (std::uint64_t{1} << 48) + 1;
  refused(weir_check_memory_options(&asked, 0, &options, &status), WEIR_ERROR_OUT_OF_MEMORY,
          "no device has so much memory");

  weir_external_memory given{}, memory{};
  given.struct_size = sizeof given;
  given.address = 4096;
  given.size = 1;
  accepted(weir_check_external_memory(&given, &memory, &status));
  EXPECT_EQ(memory.address, 4096u);
  given.address = ~std::uint64_t{0} - 15;
  given.size = 15;
  accepted(weir_check_external_memory(&given, &memory, &status));
  for (const std::uint64_t size : {std::uint64_t{16}, std::uint64_t{17}, ~std::uint64_t{0}}) {
    given.size = size;
    invalid(weir_check_external_memory(&given, &memory, &status), "ends at or above 2^64");
  }
}

TEST_F(Checks, CodeAndLayouts) {
  weir_code_object asked{}, object{};
  asked.struct_size = sizeof asked;
  asked.data = "code";
  asked.size = 4;
  accepted(weir_check_code_object(&asked, &object, &status));
  EXPECT_STREQ(object.format, "");
  asked.size = 0;
  invalid(weir_check_code_object(&asked, &object, &status), "object.data is null or object.size is 0");

  asked.size = 4;
  refused(weir_check_whole_elf(&asked, &status), WEIR_ERROR_CODE_OBJECT,
          "is cut short: it has 4 bytes, and its ELF header of 64");
  invalid(weir_check_whole_elf(nullptr, &status), "object is null");
  std::ifstream file("/proc/self/exe", std::ios::binary);
  const std::string program{std::istreambuf_iterator<char>(file), {}};
  asked.data = program.data();
  asked.size = program.size();
  accepted(weir_check_whole_elf(&asked, &status));
  asked.size -= 1;
  refused(weir_check_whole_elf(&asked, &status), WEIR_ERROR_CODE_OBJECT, "is cut short");

  weir_parameter parameters[2] = {};
  parameters[0].size = 8;
  parameters[0].kind = WEIR_PARAMETER_BUFFER;
  parameters[1].offset = 8;
  parameters[1].size = 4;
  weir_kernel_layout layout{}, read{};
  layout.struct_size = sizeof layout;
  layout.argument_bytes = 12;
  layout.parameter_count = 2;
  layout.parameters = parameters;
  accepted(weir_check_layout(&layout, &device, "step", &read, &status));
  EXPECT_EQ(read.argument_bytes, 12u);
  device.argument_style = WEIR_ARGUMENT_BUFFER;
  invalid(weir_check_layout(&layout, &device, "step", &read, &status),
          "kernel 'step': parameter 0 is a buffer of 8 bytes at offset 0; expected 16 bytes, aligned to 8");
  device.argument_style = WEIR_ARGUMENT_ADDRESS;
  parameters[1].size = 5;
  invalid(weir_check_layout(&layout, &device, "step", &read, &status),
          "kernel 'step': parameter 1, 5 bytes at offset 8, is outside of 12 argument bytes");
  layout.argument_bytes = 257;
  invalid(weir_check_layout(&layout, &device, "step", &read, &status), "argument_bytes is 257; at most 256");
}

TEST_F(Checks, Launches) {
  const std::uint64_t arguments[2] = {};
  weir_kernel_info kernel{};
  kernel.struct_size = sizeof kernel;
  kernel.max_block_threads = 96;
  kernel.shared_bytes = 1000;
  weir_launch asked{}, launch{};
  asked.struct_size = sizeof asked;
  asked.argument_bytes = 16;
  asked.arguments = arguments;
  const auto reset = [&] {
    asked.grid[0] = 1000;
    asked.grid[1] = asked.grid[2] = asked.block[1] = asked.block[2] = 1;
    asked.block[0] = 64;
    asked.dynamic_shared_bytes = 24;
  };
  const auto check = [&] {
    return weir_check_launch(&asked, &device, &kernel, "step", 16, &launch, &status);
  };
  reset();
  accepted(check());
  EXPECT_EQ(launch.grid[0], 1000u);
  EXPECT_EQ(launch.arguments, arguments);
  invalid(weir_check_launch(nullptr, &device, &kernel, "step", 16, &launch, &status), "launch is null");
  asked.grid[1] = 11;
  invalid(check(), "launch.grid is 1000 x 11 x 1; expected each from 1 to 1000 x 10 x 10");
  reset();
  asked.block[2] = 0;
  invalid(check(), "launch.block is 64 x 1 x 0");
  reset();
  asked.block[1] = 3;
  invalid(check(), "launch.block has 192 threads; expected 1 to 128");
  asked.block[1] = 2;
  invalid(check(), "launch.block has 128 threads; kernel 'step' takes at most 96");
  reset();
  asked.dynamic_shared_bytes = 25;
  invalid(check(),
          "launch.dynamic_shared_bytes is 25; with the 1000 that kernel 'step' has of its own, at most 1024");
  reset();
  asked.argument_bytes = 8;
  invalid(check(), "launch.argument_bytes is 8; kernel 'step' was looked up with 16");
  asked.argument_bytes = 16;
  asked.arguments = nullptr;
  invalid(check(), "launch.arguments is null");
}

TEST_F(Checks, GraphNodes) {
  const std::uint32_t dependencies[] = {0, 2};
  const std::uint32_t third = 2, fourth = 3;
  weir_graph_node asked{}, node{};
  asked.struct_size = sizeof asked;
  asked.dependency_count = 2;
  asked.dependencies = dependencies;
  accepted(weir_check_graph_node(&asked, &fourth, &node, &status));
  EXPECT_EQ(node.dependencies, dependencies);
  invalid(weir_check_graph_node(&asked, &third, &node, &status),
          "it depends on node 2; expected one before it");
  accepted(weir_check_graph_node(&asked, nullptr, &node, &status));  // as graph_update
  const std::uint32_t twice[] = {1, 0, 2, 0};
  asked.dependencies = twice;
  asked.dependency_count = 3;
  accepted(weir_check_graph_node(&asked, &fourth, &node, &status));
  asked.dependency_count = 4;
  invalid(weir_check_graph_node(&asked, &fourth, &node, &status), "it depends on node 0 twice");
  accepted(weir_check_graph_node(&asked, nullptr, &node, &status));
  asked.dependency_count = 2;
  asked.dependencies = nullptr;
  invalid(weir_check_graph_node(&asked, &fourth, &node, &status), "node.dependencies is null, but it has 2");
  asked.dependency_count = 0;
  const auto check = [&](std::uint32_t kind) {
    asked.kind = kind;
    return weir_check_graph_node(&asked, &fourth, &node, &status);
  };
  invalid(check(WEIR_GRAPH_KERNEL), "node.launch is null");
  asked.size = 1;
  invalid(check(WEIR_GRAPH_COPY_TO_DEVICE), "node.host_source is null");
  invalid(check(WEIR_GRAPH_COPY_TO_HOST), "node.host_destination is null");
  accepted(check(WEIR_GRAPH_COPY_ON_DEVICE));
  invalid(check(WEIR_GRAPH_FILL), "pattern is null");
  invalid(check(99), "node.kind is 99");
}

}  // namespace
