// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <thread>
#include <utility>
#include <vector>
#include <weir/graph.hpp>

#include "support/expect_error.hpp"
#include "support/kernels.hpp"
#include "support/watched_driver.hpp"

namespace weir::test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::int32_t> counting(std::size_t n) {
  std::vector<std::int32_t> values(n);
  std::iota(values.begin(), values.end(), 0);
  return values;
}

TEST(Array, KeepsItsShape) {
  const Device device = open_real();
  const auto x = device.array<float>(2, 3u, std::int64_t{4});
  EXPECT_EQ(x.rank(), 3u);
  EXPECT_EQ(x.extent(0), 2);
  EXPECT_EQ(x.extent(2), 4);
  EXPECT_EQ(x.size(), 24u);
  EXPECT_EQ(x.size_bytes(), 96u);
  EXPECT_EQ(x.element(), element_type<float>);
}

TEST(Array, EmptyViewsHaveStrides) {
  EXPECT_EQ((ArrayView<float, 2>().stride(0)), 1);
  EXPECT_EQ(AnyArrayView().stride(0), 1);
  const Device device = open_real();
  auto x = device.array<float>(2, 3);
  EXPECT_EQ(x.stride(0), 3);
  EXPECT_EQ(x.stride(1), 1);
  const auto taken = std::move(x);
  EXPECT_EQ(x.stride(1), 1);
  EXPECT_EQ(device.array<float>().stride(0), 1);
}

TEST(Array, RefusesElementsThatContradictTheirShape) {
  const Device device = open_real();
  const Stream stream = device.create_stream();
  using Shape = ElementType::Shape;
  for (const ElementType element :
       {ElementType{ScalarType::f32, Shape::scalar, 2, 1}, ElementType{ScalarType::f32, Shape::scalar, 1, 2},
        ElementType{ScalarType::f32, Shape::vector, 2, 2},
        ElementType{ScalarType::f32, static_cast<Shape>(3), 1, 1}})
    EXPECT_THAT(error_of(ErrorCode::invalid,
                         [&] { const AnyArray array(stream, element, std::array<std::int64_t, 1>{4}); }),
                HasSubstr("an array of elements of shape"));
}

template <class A, class R>
concept CopiesLaterFrom = requires(const A& array, const StreamRef& stream, R&& range) {
  array.copy_from_async(stream, std::forward<R>(range));
};
template <class A, class R>
concept CopiesLaterTo = requires(const A& array, const StreamRef& stream, R&& range) {
  array.copy_to_async(stream, std::forward<R>(range));
};
template <class R>
concept GraphCopiesFrom = requires(GraphBuilder& graph, const Array<float>& array, R&& range) {
  graph.copy_from(array, std::forward<R>(range));
};
template <class R>
concept GraphCopiesTo = requires(GraphBuilder& graph, const Array<float>& array, R&& range) {
  graph.copy_to(array, std::forward<R>(range));
};
using Floats = std::vector<float>;
static_assert(CopiesLaterFrom<Array<float>, Floats&> && CopiesLaterFrom<Array<float>, const Floats&> &&
              CopiesLaterFrom<Array<float>, std::span<const float>> &&
              CopiesLaterFrom<Array<float>, std::span<float>> &&
              CopiesLaterFrom<Array<float>, PinnedArray<float>&>);
static_assert(!CopiesLaterFrom<Array<float>, Floats> && !CopiesLaterFrom<Array<float>, const Floats> &&
              !CopiesLaterFrom<Array<float>, std::array<float, 4>> &&
              !CopiesLaterFrom<Array<float>, PinnedArray<float>>);
static_assert(CopiesLaterTo<Array<float>, Floats&> && CopiesLaterTo<Array<float>, std::span<float>>);
static_assert(!CopiesLaterTo<Array<float>, Floats> && !CopiesLaterTo<Array<float>, PinnedArray<float>>);
static_assert(GraphCopiesFrom<Floats&> && GraphCopiesFrom<std::span<const float>> &&
              !GraphCopiesFrom<Floats>);
static_assert(GraphCopiesTo<Floats&> && GraphCopiesTo<std::span<float>> &&
              !GraphCopiesTo<PinnedArray<float>>);

TEST(Array, RoundTripsUnchanged) {
  const Device device = open_real();
  const Stream stream = device.create_stream();
  const auto x = device.array<std::int32_t>(10, 10);
  x.copy_from(stream, counting(100));
  EXPECT_EQ(x.to_host(stream), counting(100));
}

TEST(Array, OfHostValuesUsesTheGivenStreamOnly) {
  const Device device = open_real();
  const Stream stream = device.create_stream();
  std::atomic<bool> open{false};
  device.default_stream().call_host([&] {
    while (!open) std::this_thread::yield();
  });
  const std::vector<std::int32_t> values = counting(100);
  const auto x = device.array_of<std::int32_t>(stream, values);
  EXPECT_EQ(x.to_host(stream), values);
  EXPECT_FALSE(device.default_stream().query());
  open = true;
  device.default_stream().synchronize();
}

TEST(Array, HoldsVectorsMatricesAndBooleans) {
  const Device device = open_real();
  const auto v = device.array<Vec<float, 3>>(4);
  v.fill(Vec<float, 3>{1, 2, 3});
  EXPECT_THAT(v.to_host(), Each((Vec<float, 3>{1, 2, 3})));
  const auto b = device.array<bool>(3);
  b.fill(true);
  EXPECT_THAT(b.to_host(), ElementsAre(1, 1, 1));
}

TEST(Array, FillsWithEveryElementSize) {
  const Device device = open_real();
  const auto check = [&]<class T>(T value) {
    const auto x = device.array<T>(257);
    x.fill(value);
    EXPECT_THAT(x.to_host(), Each(value));
  };
  check(std::int8_t{-3});
  check(std::uint16_t{0xabcd});
  check(3.5f);
  check(-2.25);
  check(Vec<double, 2>{1.5, 2.5});
  check(Vec<std::int8_t, 3>{1, 2, 3});
  check(Vec<double, 5>{1, 2, 3, 4, 5});
}

TEST(Array, FillsOnTheDeviceWithElementsThatAreNoPattern) {
  const Device device = Watch::open();
  const Stream stream = device.create_stream();
  const std::size_t count = 1'000'000;
  const auto x = device.array<Vec<float, 3>>(stream, count);
  const std::uint64_t before = Watch::get().total();
  const std::uint64_t fills = Watch::get().count("fill"), copies = Watch::get().count("copy_on_device");
  x.fill(stream, Vec<float, 3>{1, 2, 3});
  EXPECT_EQ(Watch::get().count("fill") - fills, 2u);              // of 8 and 4 bytes
  EXPECT_EQ(Watch::get().count("copy_on_device") - copies, 20u);  // which double 1 element to 2^20
  EXPECT_EQ(Watch::get().total() - before, 22u) << "another call than fills and copies on the device";
  EXPECT_THAT(x.to_host(stream), Each((Vec<float, 3>{1, 2, 3})));
}

TEST(Array, OfNoElementsIsAllowedEverywhere) {
  const Device device = open_real();
  const Stream stream = device.create_stream();
  const auto x = device.array<float>(stream, 0), y = device.array<float>(stream, 0);
  EXPECT_TRUE(x.empty());
  x.fill(stream, 1.0f);
  x.copy_from(stream, std::vector<float>());
  y.copy_from(stream, x);
  EXPECT_TRUE(x.slice(0, 0).to_host(stream).empty());
}

// Some vendors refuse copies of no bytes.
TEST(Array, OfNoElementsIsNotGivenToTheDriver) {
  const Device device = Watch::open();
  const Stream stream = device.create_stream();
  const auto x = device.array<float>(stream, 0), y = device.array<float>(stream, 0);
  std::vector<float> host;
  const std::uint64_t before = Watch::get().total();
  x.fill(stream, 1.0f);
  x.copy_from_async(stream, host);
  x.copy_to_async(stream, host);
  y.copy_from(stream, x);
  EXPECT_EQ(Watch::get().total(), before);
}

TEST(Array, SlicesShareTheirMemory) {
  const Device device = open_real();
  const auto x = device.array<std::int32_t>(4, 3);
  x.copy_from(counting(12));
  x.slice(1, 3).fill(-1);
  EXPECT_THAT(x.to_host(), ElementsAre(0, 1, 2, -1, -1, -1, -1, -1, -1, 9, 10, 11));
  EXPECT_THAT(x.slice(3, 4).flat().to_host(), ElementsAre(9, 10, 11));
}

TEST(Array, CopiesOnTheDevice) {
  const Device device = open_real();
  const auto x = device.array<std::int32_t>(100), y = device.array<std::int32_t>(100);
  x.copy_from(counting(100));
  y.copy_from(x);
  EXPECT_EQ(y.to_host(), counting(100));
}

// proves R1
TEST(Array, CopiesBetweenDevicesInTheOrderOfTheStreamAlone) {
  const Device device = Watch::open(), sibling = Watch::sibling(device);
  const Kernels kernels(device);
  const Stream stream = device.create_stream(), other = sibling.create_stream();
  const auto y = sibling.array<std::int32_t>(other, 100);
  other.synchronize();
  Flag flag;
  {
    const auto x = device.array<std::int32_t>(stream, 100);
    kernels.close_gate(stream, flag);
    x.fill(stream, 7);
    y.copy_from(stream, x);
  }
  device.array<std::int32_t>(stream, 100).fill(stream, -1);  // reuses the freed block
  EXPECT_TRUE(other.query());                                // the other stream is not ordered with the copy
  other.wait(stream);                                        // before this wait
  EXPECT_FALSE(other.query());
  flag.open();
  EXPECT_EQ(y.to_host(other), std::vector<std::int32_t>(100, 7));
}

TEST(Array, MovesItsOwnership) {
  const Device device = open_real();
  auto x = device.array<float>(10);
  const ArrayView<float> view = x;
  auto y = std::move(x);
  EXPECT_FALSE(x.alive());
  EXPECT_TRUE(view.alive());
  y = device.array<float>(3);
  EXPECT_FALSE(view.alive());
}

// proves R35
TEST(Array, NegativeAndOverflowingExtentsAreRefused) {
  const Device device = open_real();
  EXPECT_THAT(error_of(ErrorCode::invalid, [&] { (void)device.array<float>(10, -1); }),
              HasSubstr("extent 1 is -1"));
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  error_of(ErrorCode::invalid, [&] { (void)device.array<float>(most, most); });
  error_of(ErrorCode::invalid, [&] { (void)device.array<double>(most); });
  EXPECT_THAT(
      error_of(ErrorCode::invalid, [&] { (void)device.array<float>(std::size_t{1} << 63); }),
      HasSubstr("an array of 9223372036854775808 elements is larger than any memory; expected at most "
                "9223372036854775807"));
  error_of(ErrorCode::invalid, [&] { (void)device.array<float>(~std::size_t{0}); });
}

TEST(Array, AnEmptyOneMayHaveOtherExtentsOfAnySize) {
  const Device device = open_real();
  constexpr std::int64_t huge = std::int64_t{1} << 62;
  EXPECT_TRUE((device.array<float>(huge, huge, 0).empty()));
  EXPECT_EQ((device.array<float>(0, huge, huge).extent(2)), huge);
}

// proves R34, R35
TEST(Array, OneThatIsTooLargeNamesTheSizes) {
  const Device device = open_real();
  EXPECT_THAT(error_of(ErrorCode::out_of_memory, [&] { (void)device.array<float>(std::int64_t{1} << 44); }),
              HasSubstr(std::to_string(std::int64_t{1} << 46)));
}

// proves R35
TEST(Array, CopiesOfTheWrongSizeAreRefusedBeforeAnythingIsSubmitted) {
  const Device device = Watch::open();
  const auto x = device.array<std::int32_t>(10), y = device.array<std::int32_t>(11);
  std::vector<std::int32_t> host(9);
  EXPECT_THAT(error_of(ErrorCode::invalid, [&] { x.copy_from(host); }),
              HasSubstr("a copy needs 10 elements (40 bytes) of host memory; found 9 (36 bytes)"));
  error_of(ErrorCode::invalid, [&] { x.copy_to(host); });
  error_of(ErrorCode::invalid, [&] { x.copy_from(y); });
  EXPECT_EQ(Watch::get().count("copy_to_device") + Watch::get().count("copy_to_host") +
                Watch::get().count("copy_on_device"),
            0u);
}

// proves R35
TEST(Array, OverlappingCopiesAndSlicesOutsideAreRefused) {
  const Device device = open_real();
  const auto x = device.array<std::int32_t>(10);
  x.fill(0);
  EXPECT_THAT(error_of(ErrorCode::invalid, [&] { x.slice(0, 6).copy_from(x.slice(4, 10)); }),
              HasSubstr("arrays that overlap or interleave"));
  x.slice(0, 5).copy_from(x.slice(5, 10));
  EXPECT_THAT(
      error_of(ErrorCode::invalid, [&] { (void)x.slice(5, 11); }),
      HasSubstr(
          "slice [5, 11) is outside an array of 10 along its first dimension; pass 0 <= begin <= end <= 10"));
  error_of(ErrorCode::invalid, [&] { (void)x.slice(-1, 2); });
  error_of(ErrorCode::invalid, [&] { (void)x.slice(3, 2); });
}

// proves R35
TEST(Array, UseAfterFreeIsAnError) {
  const Device device = open_real();
  const Kernels kernels(device);
  const Stream stream = device.create_stream();
  ArrayView<std::int32_t> view;
  {
    const auto x = device.array<std::int32_t>(stream, 100);
    view = x;
  }
  EXPECT_FALSE(view.alive());
  EXPECT_THAT(error_of(ErrorCode::invalid, [&] { (void)view.to_host(stream); }),
              HasSubstr("array does not exist"));
  error_of(ErrorCode::invalid, [&] { view.fill(stream, 1); });
  error_of(ErrorCode::invalid, [&] { kernels.add(stream, view, 1); });
  const auto reused = device.array<std::int32_t>(stream, 100);  // the same block, reused
  error_of(ErrorCode::invalid, [&] { view.fill(stream, 1); });
}

// proves R35
TEST(Array, OfAnotherDeviceIsRefused) {
  const Device device = open_real(), other = Watch::open();
  const auto x = device.array<float>(10), y = other.array<float>(10);
  const Stream stream = device.create_stream();
  EXPECT_THAT(error_of(ErrorCode::invalid, [&] { y.fill(stream, 1.0f); }),
              HasSubstr("copy the array there first"));
  EXPECT_THAT(error_of(ErrorCode::unsupported, [&] { x.copy_from(stream, y); }),
              HasSubstr("through the host"));
  error_of(ErrorCode::invalid, [&] { (void)other.array<float>(stream, 10); });
}

// proves R35
TEST(PinnedArray, OneThatIsLargerThanAnyMemoryIsRefused) {
  const Device device = open_real();
  constexpr std::size_t many = std::size_t{1} << 61;
  EXPECT_THAT(error_of(ErrorCode::invalid, [&] { (void)device.pinned_array<double>(many); }),
              HasSubstr("an array of 2305843009213693952 elements of 8 bytes is larger than any memory"));
  EXPECT_THAT(error_of(ErrorCode::invalid, [&] { (void)device.pinned_array<double>(~std::size_t{0}); }),
              HasSubstr("expected at most 9223372036854775807"));
}

}  // namespace
}  // namespace weir::test
