// SPDX-License-Identifier: Apache-2.0
// Exported arrays: their description, how long they live, and the order of the consumer's work.
#include <thread>

#include "support.hpp"

namespace weir::test {
namespace {

using dlpack::Order;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::int64_t> numbers(const std::int64_t* from, std::int32_t count) {
  return {from, from + count};
}

class DlpackExport : public testing::Test {
 protected:
  void SetUp() override {
    if (!tested().info().dlpack_type) GTEST_SKIP() << "DLPack has no name for the device's memory";
  }
};

TEST_F(DlpackExport, DescribesTheArray) {
  const auto x = tested().array<float>(3, 4, 5);
  DLManagedTensor* const tensor = dlpack::to_tensor(x, Order::host_waits());
  const dlpack::Tensor& t = fields(tensor).tensor;
  EXPECT_EQ(reinterpret_cast<std::uint64_t>(t.data), x.device_address());
  EXPECT_EQ(t.byte_offset, 0u);
  EXPECT_THAT(numbers(t.shape, t.dimensions), ElementsAre(3, 4, 5));
  EXPECT_THAT(numbers(t.strides, t.dimensions), ElementsAre(20, 5, 1));
  EXPECT_EQ(t.type.code, dlpack::floating);
  EXPECT_EQ(t.type.bits, 32);
  EXPECT_EQ(t.type.lanes, 1);
  EXPECT_EQ((dlpack::DeviceName{t.device_type, t.device_id}), dlpack::name_of(tested()));
  end(tensor);
}

TEST_F(DlpackExport, DescribesSlicesScalarsAndEmptyArrays) {
  const auto x = tested().array<std::uint16_t>(6, 4);
  DLManagedTensor* tensor = dlpack::to_tensor(x.slice(2, 5), Order::host_waits());
  EXPECT_EQ(reinterpret_cast<std::uint64_t>(fields(tensor).tensor.data), x.device_address() + 2 * 4 * 2);
  EXPECT_THAT(numbers(fields(tensor).tensor.shape, 2), ElementsAre(3, 4));
  end(tensor);

  const auto scalar = tested().array<double>();
  tensor = dlpack::to_tensor(scalar, Order::host_waits());
  EXPECT_EQ(fields(tensor).tensor.dimensions, 0);
  end(tensor);

  const auto empty = tested().array<std::int8_t>(0, 7);
  tensor = dlpack::to_tensor(empty, Order::host_waits());
  EXPECT_THAT(numbers(fields(tensor).tensor.shape, 2), ElementsAre(0, 7));
  end(tensor);
}

TEST_F(DlpackExport, ComponentsOfElementsAreDimensions) {
  const auto v = tested().array<Vec<float, 3>>(10);
  DLManagedTensor* tensor = dlpack::to_tensor(v, Order::host_waits());
  EXPECT_THAT(numbers(fields(tensor).tensor.shape, 2), ElementsAre(10, 3));
  EXPECT_THAT(numbers(fields(tensor).tensor.strides, 2), ElementsAre(3, 1));
  end(tensor);
  const auto m = tested().array<Mat<double, 2, 3>>(4, 5, 6, 7);
  tensor = dlpack::to_tensor(m, Order::host_waits());
  EXPECT_EQ(fields(tensor).tensor.dimensions, 6);
  EXPECT_THAT(numbers(fields(tensor).tensor.shape, 6), ElementsAre(4, 5, 6, 7, 2, 3));
  EXPECT_THAT(numbers(fields(tensor).tensor.strides, 6), ElementsAre(1260, 252, 42, 6, 3, 1));
  end(tensor);
}

TEST_F(DlpackExport, NamesEveryScalarType) {
  const auto type_of = [](const AnyArrayView& x) {
    DLManagedTensor* const tensor = dlpack::to_tensor(x, Order::host_waits());
    const dlpack::DataType type = fields(tensor).tensor.type;
    end(tensor);
    return std::pair(int{type.code}, int{type.bits});
  };
  EXPECT_EQ(type_of(tested().array<bool>(1)), std::pair(6, 8));
  EXPECT_EQ(type_of(tested().array<std::int8_t>(1)), std::pair(0, 8));
  EXPECT_EQ(type_of(tested().array<std::int64_t>(1)), std::pair(0, 64));
  EXPECT_EQ(type_of(tested().array<std::uint32_t>(1)), std::pair(1, 32));
  EXPECT_EQ(type_of(tested().array<half>(1)), std::pair(2, 16));
  EXPECT_EQ(type_of(tested().array<double>(1)), std::pair(2, 64));
}

TEST_F(DlpackExport, VersionedTensorsStateVersionAndFlags) {
  const auto x = tested().array<float>(3);
  DLManagedTensorVersioned* tensor = dlpack::to_versioned_tensor(x, Order::host_waits());
  EXPECT_EQ(fields(tensor).major, 1u);
  EXPECT_EQ(fields(tensor).flags, 0u);
  EXPECT_THAT(numbers(fields(tensor).tensor.shape, 1), ElementsAre(3));
  end(tensor);
  tensor = dlpack::to_versioned_tensor(x, Order::host_waits(), true);
  EXPECT_EQ(fields(tensor).flags, dlpack::flag_read_only);
  end(tensor);
}

// proves R6
TEST_F(DlpackExport, TheMemoryOutlivesTheArray) {
  const Stream stream = tested().create_stream();
  constexpr std::int64_t n = 5000;
  auto x = tested().array<std::uint32_t>(stream, n);
  x.fill(stream, 7u);
  const ArrayView<std::uint32_t> view = x;
  DLManagedTensor* const first = dlpack::to_tensor(x, Order::host_waits());
  DLManagedTensor* const second = dlpack::to_tensor(x, Order::host_waits());
  const std::uint64_t address = x.device_address();
  x = {};
  EXPECT_FALSE(view.alive());
  end(first);
  // None of these arrays may receive the memory.
  std::vector<Array<std::uint32_t>> others;
  for (int i = 0; i < 8; ++i) {
    others.push_back(tested().array<std::uint32_t>(stream, n));
    others.back().fill(stream, 9u);
    EXPECT_NE(others.back().device_address(), address);
  }
  stream.synchronize();
  if (on_cpu()) {
    const auto* values = static_cast<const std::uint32_t*>(fields(second).tensor.data);
    EXPECT_EQ(std::count(values, values + n, 7u), n);
  }
  end(second);
  EXPECT_EQ(tested().array<std::uint32_t>(stream, n).device_address(), address)
      << "the memory was not returned";
}

TEST_F(DlpackExport, TheArrayOutlivesTheTensor) {
  const Stream stream = tested().create_stream();
  const auto x = tested().array<float>(stream, 100);
  end(dlpack::to_tensor(x, Order(stream)));
  end(dlpack::to_tensor(x, Order(stream)));
  const auto other = tested().array<float>(stream, 100);
  EXPECT_NE(other.device_address(), x.device_address());
  x.fill(stream, 2.0f);
  EXPECT_EQ(x.to_host(stream), std::vector<float>(100, 2.0f));
}

TEST_F(DlpackExport, TheConsumersStreamWaitsForAllWorkThatUsesTheArray) {
  const Stream one = tested().create_stream(), two = tested().create_stream(),
               consumer = tested().create_stream();
  const auto x = tested().array<std::uint32_t>(one, 3000);
  std::vector<std::uint32_t> seen(3000);
  Held held_one(one), held_two(two);
  x.slice(0, 1500).fill(one, 5u);
  x.slice(1500, 3000).fill(two, 6u);
  DLManagedTensor* const tensor = dlpack::to_tensor(x, Order(consumer));  // does not wait on the host
  x.copy_to_async(consumer, seen);
  EXPECT_FALSE(consumer.query());
  held_one.release();
  one.synchronize();
  EXPECT_FALSE(consumer.query());
  held_two.release();
  consumer.synchronize();
  EXPECT_EQ(std::count(seen.begin(), seen.end(), 5u), 1500);
  EXPECT_EQ(std::count(seen.begin(), seen.end(), 6u), 1500);
  end(tensor);
}

TEST_F(DlpackExport, TheHostWaitsIfAsked) {
  const Stream stream = tested().create_stream();
  const auto x = tested().array<std::uint32_t>(stream, 3000);
  auto held = std::make_unique<Held>(stream);
  x.fill(stream, 5u);
  end(dlpack::to_tensor(x, Order::unordered()));
  EXPECT_FALSE(stream.query());
  std::atomic<bool> exported = false;
  std::thread consumer([&] {
    end(dlpack::to_tensor(x, Order::host_waits()));
    exported = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(exported);
  held->release();
  consumer.join();
  EXPECT_TRUE(stream.query());
}

// proves R6
TEST_F(DlpackExport, TheMemoryIsReusedAfterTheConsumersWork) {
  const Stream owner = tested().create_stream(), consumer = tested().create_stream();
  constexpr std::int64_t n = 4000;
  std::vector<std::uint32_t> seen(n);
  auto x = tested().array<std::uint32_t>(owner, n);
  x.fill(owner, 5u);
  DLManagedTensor* const tensor = dlpack::to_tensor(x, Order(consumer));
  Held held(consumer);
  // The consumer reads the memory behind Weir's back, in its stream's order.
  const void* const memory = fields(tensor).tensor.data;
  if (on_cpu()) consumer.call_host([&] { std::memcpy(seen.data(), memory, n * sizeof seen[0]); });
  x = {};
  end(tensor);
  std::vector<Array<std::uint32_t>> others;
  for (int i = 0; i < 4; ++i) {
    others.push_back(tested().array<std::uint32_t>(owner, n));
    others.back().fill(owner, 9u);
    EXPECT_NE(others.back().device_address(), reinterpret_cast<std::uint64_t>(memory));
  }
  owner.synchronize();
  held.release();
  consumer.synchronize();
  if (on_cpu()) {
    EXPECT_EQ(std::count(seen.begin(), seen.end(), 5u), n);
  }
}

TEST_F(DlpackExport, RefusesStreamsOfOtherDevices) {
  const std::vector<Device> all = devices();
  const auto x = tested().array<float>(3);
  for (const Device& device : all) {
    if (device == tested()) continue;
    const Stream stream = device.create_stream();
    EXPECT_THAT(thrown_by([&] { dlpack::to_tensor(x, Order(stream)); }).what(),
                HasSubstr("the consumer's stream is of"));
  }
}

TEST_F(DlpackExport, RefusesWhatCannotBeExported) {
  auto x = tested().array<float>(3);
  const ArrayView<float> view = x;
  x = {};
  const Error gone = thrown_by([&] { dlpack::to_tensor(view, Order::host_waits()); });
  EXPECT_EQ(gone.code(), ErrorCode::invalid);
  const auto y = tested().array<float>(3);
  Stream ended = tested().create_stream();
  const StreamRef dead = ended;
  ended = {};
  EXPECT_EQ(thrown_by([&] { dlpack::to_tensor(y, Order(dead)); }).code(), ErrorCode::invalid);
}

}  // namespace
}  // namespace weir::test
