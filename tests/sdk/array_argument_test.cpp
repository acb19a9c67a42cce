// SPDX-License-Identifier: Apache-2.0
// Arrays in argument blocks of devices that bind buffers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plain_driver.hpp"

namespace sdk_test {
namespace {

using testing::HasSubstr;

struct Block {
  std::int64_t number;
  weir_buffer_argument array;
};

class ArrayArgument : public testing::Test {
 protected:
  ArrayArgument() {
    kernel.device = &device;
    kernel.name = "k";
    kernel.parameters = {{0, 8, WEIR_PARAMETER_VALUE}, {8, 16, WEIR_PARAMETER_BUFFER}};
    const weir_memory_options options{sizeof options, WEIR_MEMORY_DEVICE, 100, 0};
    allocation = &device.allocate(options);
    allocation->device = &device;  // as the table sets it
    allocation->size = options.size;
    block.array.allocation = handle_of<weir_allocation>(*allocation);
    launch.arguments = &block;
  }
  ~ArrayArgument() override { allocation->free(); }

  auto read() { return array_argument<Plain::Allocation>(kernel, launch, 1); }
  std::string refusal() {
    try {
      read();
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.code, WEIR_ERROR_INVALID);
      return failure.message;
    }
    return "nothing was refused";
  }

  Plain::Device device, other;
  Plain::Kernel kernel;
  Plain::Allocation* allocation = nullptr;
  Block block{7, {nullptr, 40}};
  weir_launch launch{};
};

TEST_F(ArrayArgument, IsTheAllocationAndItsOffset) {
  EXPECT_EQ(read().allocation, allocation);
  EXPECT_EQ(read().offset, 40u);
}

TEST_F(ArrayArgument, MayBeEmptyAtTheEnd) {
  block.array.offset = 100;
  EXPECT_EQ(read().offset, 100u);
}

// proves R35
TEST_F(ArrayArgument, RefusalsNameKernelAndParameter) {
  block.array.offset = 101;
  EXPECT_THAT(refusal(), HasSubstr("kernel 'k', parameter 1: the array: 0 bytes at offset 101"));
  block.array.offset = 0;
  allocation->device = &other;
  EXPECT_THAT(refusal(), HasSubstr("of device"));
  allocation->device = &device;
  allocation->kind = Kind::dead;
  EXPECT_THAT(refusal(), HasSubstr("no live handle"));
  block.array.allocation = nullptr;
  EXPECT_THAT(refusal(), HasSubstr("the array's allocation is null"));
}

}  // namespace
}  // namespace sdk_test
