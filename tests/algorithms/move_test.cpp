// SPDX-License-Identifier: Apache-2.0
// gather and scatter.
#include "support.hpp"

namespace weir::test {
namespace {

template <class I>
class Moves : public testing::Test {};
using Indices = testing::Types<std::int32_t, std::uint32_t, std::int64_t, std::uint64_t>;
TYPED_TEST_SUITE(Moves, Indices);

TYPED_TEST(Moves, GatherAndScatterAreInverse) {
  using I = TypeParam;
  const Stream stream = tested().create_stream();
  for (const std::size_t n : {0, 1, 2500}) {
    std::vector<I> indices(n);
    for (std::size_t i = 0; i < n; ++i) indices[i] = I(i * 7 % (n == 2500 ? 2500 : 1));
    std::vector<Vec<std::int16_t, 3>> values(n), expected(n);
    for (std::size_t i = 0; i < n; ++i) values[i] = {std::int16_t(i), std::int16_t(-int(i)), 5};
    for (std::size_t i = 0; i < n; ++i) expected[i] = values[std::size_t(indices[i])];
    const auto x = upload(stream, values);
    const auto index = upload(stream, indices);
    const auto result = tested().array<Vec<std::int16_t, 3>>(stream, n);
    gather(stream, x, index, result);
    EXPECT_EQ(result.to_host(stream), expected);
    const auto back = tested().array<Vec<std::int16_t, 3>>(stream, n);
    scatter(stream, result, index, back);
    EXPECT_EQ(back.to_host(stream), values);
  }
}

TEST(Move, ResultsHaveAnotherSize) {
  const Stream stream = tested().create_stream();
  const Array<double> x = upload(stream, std::vector<double>{1, 2, 3}),
                      result = tested().array<double>(stream, 5);
  const Array<std::int32_t> index = upload(stream, std::vector<std::int32_t>{2, 2, 0, 1, 2});
  gather(stream, x, index, result);
  EXPECT_THAT(result.to_host(stream), testing::ElementsAre(3, 3, 1, 2, 3));
  scatter(stream, x, index.slice(2, 5), result);
  EXPECT_THAT(result.to_host(stream), testing::ElementsAre(1, 2, 3, 2, 3));
}

TEST(Move, AnIndexOutsideFailsTheStream) {
  const Stream stream = tested().create_stream();
  const Array<double> x = upload(stream, std::vector<double>{1, 2, 3}),
                      result = tested().array<double>(stream, 3);
  for (const std::int64_t outside : {std::int64_t{3}, std::int64_t{-1}, std::int64_t{1} << 40}) {
    const Array<std::int64_t> index = upload(stream, std::vector<std::int64_t>{0, outside, 1});
    gather(stream, x, index, result);
    const Error error = thrown_by([&] { stream.synchronize(); });
    EXPECT_THAT(error.what(), testing::HasSubstr("a number in 'index' is outside 'x'"));
    EXPECT_EQ(error.file(), "weir/algorithms/move.cpp");  // not a path of the machine that built Weir
    scatter(stream, x, index, result);
    EXPECT_THAT(thrown_by([&] { stream.synchronize(); }).what(),
                testing::HasSubstr("a number in 'index' is outside 'result'"));
  }
}

}  // namespace
}  // namespace weir::test
