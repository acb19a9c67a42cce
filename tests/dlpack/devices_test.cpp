// SPDX-License-Identifier: Apache-2.0
// Imports on any device: memory of the device that another array of this process exports, and host memory.
#include <dlfcn.h>

#include <chrono>
#include <cstdlib>

#include "support.hpp"

namespace weir::test {
namespace {

using dlpack::Copy;
using dlpack::from_tensor;
using dlpack::Order;
using testing::Each;
using testing::HasSubstr;

bool has_external_memory() {
  return tested().info().has(Capability::external_memory);
}

const Kernel<void(View<std::int32_t>, Value<std::int32_t>)>& adding() {
  static const Kernel kernel{"adding", [](View<std::int32_t> x, Value<std::int32_t> n) {
                               range_for(x.size(), [&](Index i) { x[i] = x[i] + n; });
                             }};
  return kernel;
}

TEST(DlpackDevices, DeviceMemoryIsSharedByTwoArrays) {
  if (!has_external_memory()) GTEST_SKIP() << "needs external memory";
  const Stream owner = tested().create_stream(), user = tested().create_stream();
  auto x = tested().array<std::int32_t>(owner, 3000);
  x.fill(owner, 1);
  auto y = from_tensor<std::int32_t>(user, dlpack::to_tensor(x, Order(user)));
  adding()(user, y, 5);
  owner.wait(user);
  adding()(owner, x, 10);
  EXPECT_THAT(x.to_host(owner), Each(16));
  user.wait(owner);
  x = {};
  adding()(user, y, 100);
  EXPECT_THAT(y.to_host(user), Each(116));
}

TEST(DlpackDevices, AlgorithmsAndCopiesSeeThatTwoArraysAreOne) {
  if (!has_external_memory()) GTEST_SKIP() << "needs external memory";
  const Stream stream = tested().create_stream();
  auto x = tested().array<std::int32_t>(stream, 3000);
  x.fill(stream, 1);
  const auto y = from_tensor<std::int32_t>(stream, dlpack::to_tensor(x, Order(stream)));
  inclusive_scan(stream, x, y);
  std::vector<std::int32_t> expected(3000);
  std::iota(expected.begin(), expected.end(), 1);
  EXPECT_EQ(x.to_host(stream), expected);
  EXPECT_THAT(thrown_by([&] { inclusive_scan(stream, x.slice(0, 2999), y.slice(1, 3000)); }).what(),
              HasSubstr("'result' is expected to be 'x' itself or to share no memory with it"));
  EXPECT_THAT(thrown_by([&] { x.slice(0, 2999).copy_from(stream, y.slice(1, 3000)); }).what(),
              HasSubstr("a copy between arrays that overlap or interleave"));
}

TEST(DlpackDevices, SlicesOfAnyAlignmentAreUsed) {
  if (!has_external_memory()) GTEST_SKIP() << "needs external memory";
  const Stream stream = tested().create_stream();
  const auto x = tested().array<std::int32_t>(stream, 1000);
  x.fill(stream, 1);
  for (const std::int64_t begin : {1, 2, 3, 7}) {
    const auto y = from_tensor<std::int32_t>(stream, dlpack::to_tensor(x.slice(begin, 900), Order(stream)));
    adding()(stream, y, 1);
    y.slice(0, 3).fill(stream, 0);
  }
  std::vector<std::int32_t> expected(1000, 1);
  for (const std::int64_t begin : {1, 2, 3, 7}) {
    for (std::int64_t i = begin; i < 900; ++i) ++expected[static_cast<std::size_t>(i)];
    for (std::int64_t i = begin; i < begin + 3; ++i) expected[static_cast<std::size_t>(i)] = 0;
  }
  EXPECT_EQ(x.to_host(stream), expected);
}

// The wait of a producer, in the importing stream, is unknown to Weir.
TEST(DlpackDevices, OtherStreamsWaitForWorkThatAnotherLibrarySubmitted) {
  const char* const library = std::getenv("WEIR_AMDGPU_LIBRARY");
  if (!library || !has_external_memory() || on_cpu()) GTEST_SKIP() << "needs a simulated GPU";
  void* const vendor = dlopen(library, RTLD_NOW | RTLD_NOLOAD);
  ASSERT_NE(vendor, nullptr);
  const auto submit =
      reinterpret_cast<int (*)(void*, void (*)(void*), void*)>(dlsym(vendor, "hipLaunchHostFunc"));
  ASSERT_NE(submit, nullptr);
  const Stream home = tested().create_stream(), other = tested().create_stream();
  const auto x = tested().array<std::int32_t>(home, 100);
  x.fill(home, 1);
  home.synchronize();
  std::atomic<bool> go = false;
  ASSERT_EQ(
      submit(
          home.native_handle(), [](void* flag) { static_cast<std::atomic<bool>*>(flag)->wait(false); }, &go),
      0);
  std::vector<std::int32_t> seen(100);
  {
    const auto y = from_tensor<std::int32_t>(home, dlpack::to_tensor(x, Order::unordered()));
    y.copy_to_async(other, seen);
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
  bool done = false;
  while (!done && std::chrono::steady_clock::now() < end) done = other.query();
  EXPECT_FALSE(done);
  go = true;
  go.notify_all();
  other.synchronize();
  EXPECT_THAT(seen, Each(1));
}

TEST(DlpackDevices, StridedTensorsOfTheDeviceAreCopiedThere) {
  if (!has_external_memory()) GTEST_SKIP() << "needs external memory";
  const Stream stream = tested().create_stream();
  std::vector<std::int32_t> values(12);
  std::iota(values.begin(), values.end(), 0);
  const auto x = tested().array<std::int32_t>(stream, 3, 4);
  x.copy_from(stream, values);
  DLManagedTensor* const tensor = dlpack::to_tensor(x, Order(stream));
  std::int64_t shape[] = {4, 3}, strides[] = {1, 4};
  fields(tensor).tensor.shape = shape;
  fields(tensor).tensor.strides = strides;
  const auto y = from_tensor<std::int32_t, 2>(stream, tensor, Copy::if_needed);
  EXPECT_EQ(y.to_host(stream), (std::vector<std::int32_t>{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}));
}

TEST(DlpackDevices, HostMemoryIsCopiedToOtherDevices) {
  if (on_cpu()) GTEST_SKIP() << "the device uses host memory";
  const Stream stream = tested().create_stream();
  Producer<std::int32_t> plain({3000}), strided({50, 60}, {1, 50});
  EXPECT_THAT(thrown_by([&] { from_tensor<std::int32_t>(stream, plain.managed()); }).what(),
              HasSubstr("Copy::if_needed"));
  EXPECT_EQ(plain.deleted, 0);
  const auto x = from_tensor<std::int32_t>(stream, plain.managed(), Copy::if_needed);
  const auto y = from_tensor<std::int32_t, 2>(stream, strided.managed(), Copy::if_needed);
  EXPECT_EQ(x.to_host(stream), plain.values);
  std::vector<std::int32_t> expected;
  for (int i = 0; i < 50; ++i)
    for (int j = 0; j < 60; ++j) expected.push_back(strided.values[static_cast<std::size_t>(i + 50 * j)]);
  EXPECT_EQ(y.to_host(stream), expected);
  tested().synchronize();
  EXPECT_EQ(plain.deleted, 1);
  EXPECT_EQ(strided.deleted, 1);
}

TEST(DlpackDevices, PinnedHostMemoryIsUsedDirectly) {
  const DeviceInfo& info = tested().info();
  if (!has_external_memory() || !info.dlpack_host_type)
    GTEST_SKIP() << "needs pinned memory with a name in DLPack";
  const Stream stream = tested().create_stream();
  const PinnedArray<std::int32_t> pinned = tested().pinned_array<std::int32_t>(1000);
  Producer<std::int32_t> producer({1000});
  producer.tensor.data = pinned.data();
  producer.tensor.device_type = static_cast<std::int32_t>(info.dlpack_host_type);
  {
    const auto x = from_tensor<std::int32_t>(stream, producer.managed());
    adding()(stream, x, 7);
    stream.synchronize();
    EXPECT_EQ(pinned[999], 7);
    DLManagedTensor* const again = dlpack::to_tensor(x, Order(stream));
    EXPECT_EQ(fields(again).tensor.device_type, static_cast<std::int32_t>(info.dlpack_host_type));
    end(again);
  }
  tested().synchronize();
  EXPECT_EQ(producer.deleted, 1);
}

TEST(DlpackDevices, MemoryThatIsNotTheDevicesIsRefused) {
  const DeviceInfo& info = tested().info();
  if (!has_external_memory() || on_cpu()) GTEST_SKIP() << "any memory may be of a CPU";
  const Stream stream = tested().create_stream();
  Producer<std::int32_t> producer({1000});
  producer.tensor.device_type = static_cast<std::int32_t>(info.dlpack_type);
  producer.tensor.device_id = info.dlpack_id;
  EXPECT_EQ(thrown_by([&] { from_tensor<std::int32_t>(stream, producer.managed()); }).code(),
            ErrorCode::invalid);
  producer.tensor.device_type = static_cast<std::int32_t>(info.dlpack_host_type);
  EXPECT_THAT(thrown_by([&] { from_tensor<std::int32_t>(stream, producer.managed()); }).what(),
              HasSubstr("not pinned"));
  EXPECT_EQ(producer.deleted, 0);
}

TEST(DlpackDevices, DevicesWithoutANameInDlpackRefuseClearly) {
  if (tested().info().dlpack_type) GTEST_SKIP() << "the device has a name";
  const auto x = tested().array<float>(3);
  const Error error = thrown_by([&] { dlpack::to_tensor(x, Order::host_waits()); });
  EXPECT_EQ(error.code(), ErrorCode::unsupported);
  EXPECT_THAT(error.what(), HasSubstr("copy the array to the host"));
}

}  // namespace
}  // namespace weir::test
