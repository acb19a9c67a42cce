// SPDX-License-Identifier: Apache-2.0
// Memory that the driver does not own. Real CUDA is tested by the conformance suite.
#include "fake.hpp"

namespace cuda_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

weir_external_memory described(std::uint32_t kind, std::uint64_t address, std::uint64_t size) {
  return {sizeof(weir_external_memory), kind, address, size};
}

weir_allocation wrap(weir_device device, const weir_external_memory& memory) {
  weir_allocation out = nullptr;
  call(table().memory_wrap, device, &memory, &out);
  return out;
}

TEST_F(Fake, ExternalMemoryIsUsedAndLeftAlone) {
  const weir_allocation owner = allocate(device, 4096);
  const std::uint64_t begin = memory_info(owner).device_address;
  const weir_allocation first = wrap(device, described(WEIR_EXTERNAL_DEVICE, begin + 4, 100));
  const weir_allocation second = wrap(device, described(WEIR_EXTERNAL_DEVICE, begin + 4, 100));
  EXPECT_EQ(memory_info(first).device_address, begin + 4);
  EXPECT_EQ(memory_info(first).host_pointer, nullptr);
  EXPECT_EQ(memory_info(first).kind, std::uint32_t{WEIR_MEMORY_DEVICE});
  const std::uint32_t word = 0x01010101;
  call(table().fill, stream, first, 0ull, 100ull, static_cast<const void*>(&word), 4u);
  call(table().stream_synchronize, stream);
  EXPECT_EQ(reinterpret_cast<const unsigned char*>(begin)[103], 1);
  fake().forget_calls();
  call(table().memory_free, first);
  call(table().memory_free_async, stream, second);
  EXPECT_TRUE(calls_of("cuMemFree_v2").empty());
  EXPECT_TRUE(calls_of("cuMemFreeAsync").empty());
  EXPECT_TRUE(calls_of("cuMemFreeHost").empty());
  call(table().memory_free, owner);
}

TEST_F(Fake, ExternalHostMemoryIsPinnedMemory) {
  const weir_allocation owner = allocate(device, 4096, WEIR_MEMORY_PINNED);
  auto* const host = static_cast<char*>(memory_info(owner).host_pointer);
  const weir_allocation wrapped =
      wrap(device, described(WEIR_EXTERNAL_HOST, reinterpret_cast<std::uint64_t>(host + 16), 100));
  EXPECT_EQ(memory_info(wrapped).host_pointer, host + 16);
  EXPECT_EQ(memory_info(wrapped).kind, std::uint32_t{WEIR_MEMORY_PINNED});
  fake().forget_calls();
  call(table().memory_free, wrapped);
  EXPECT_TRUE(calls_of("cuMemFreeHost").empty());
  call(table().memory_free, owner);
}

TEST_F(Fake, ExternalMemoryOfOthersIsRefused) {
  weir_device second = nullptr;
  call(table().device_open, 1u, &second);
  const weir_allocation owner = allocate(device, 4096);
  const weir_external_memory elsewhere =
      described(WEIR_EXTERNAL_DEVICE, memory_info(owner).device_address, 100);
  weir_allocation out = nullptr;
  EXPECT_THAT(refusal(WEIR_ERROR_INVALID, table().memory_wrap, second, &elsewhere, &out),
              AllOf(HasSubstr("belongs to device 0"), HasSubstr("expected memory of device 1")));
  const int local = 0;
  const weir_external_memory ordinary =
      described(WEIR_EXTERNAL_DEVICE, reinterpret_cast<std::uint64_t>(&local), sizeof local);
  EXPECT_THAT(refusal(WEIR_ERROR_INVALID, table().memory_wrap, device, &ordinary, &out),
              AllOf(HasSubstr("does not belong to CUDA"), HasSubstr("CUDA_ERROR_INVALID_VALUE")));
  fake().fail_next("cuMemHostGetDevicePointer_v2", 1);
  const weir_external_memory unpinned =
      described(WEIR_EXTERNAL_HOST, reinterpret_cast<std::uint64_t>(&local), sizeof local);
  EXPECT_THAT(refusal(WEIR_ERROR_INVALID, table().memory_wrap, device, &unpinned, &out),
              HasSubstr("not pinned by CUDA"));
  EXPECT_EQ(out, nullptr);
  call(table().memory_free, owner);
  call(table().device_close, second);
}

}  // namespace
}  // namespace cuda_test
