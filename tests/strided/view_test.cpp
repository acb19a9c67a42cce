// SPDX-License-Identifier: Apache-2.0
// Shapes, strides and refusals of strided views.
#include <weir/algorithms.hpp>

#include "support.hpp"

namespace weir::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::int64_t> extents(const AnyArrayView& view) {
  std::vector<std::int64_t> result;
  for (std::size_t d = 0; d < view.rank(); ++d) result.push_back(view.extent(d));
  return result;
}
std::vector<std::int64_t> strides(const AnyArrayView& view) {
  std::vector<std::int64_t> result;
  for (std::size_t d = 0; d < view.rank(); ++d) result.push_back(view.stride(d));
  return result;
}

TEST_F(Strided, StridesOfContiguousArraysCountScalars) {
  const auto x = tested().array<Vec<float, 3>>(stream, 2, 5, 4);
  EXPECT_TRUE(x.contiguous());
  EXPECT_THAT(strides(x), ElementsAre(60, 12, 3));
  EXPECT_THAT(strides(tested().array<float>(stream, 0, 7)), ElementsAre(7, 1));
}

TEST_F(Strided, SlicesAlongAnyDimension) {
  const auto x = tested().array<float>(stream, 6, 8, 10);
  const auto middle = x.slice(1, 2, 7);
  EXPECT_FALSE(middle.contiguous());
  EXPECT_THAT(extents(middle), ElementsAre(6, 5, 10));
  EXPECT_THAT(strides(middle), ElementsAre(80, 10, 1));
  EXPECT_EQ(middle.size(), 300u);
  const auto every_third = middle.slice(2, 1, 9, 3);
  EXPECT_THAT(extents(every_third), ElementsAre(6, 5, 3));
  EXPECT_THAT(strides(every_third), ElementsAre(80, 10, 3));
  const auto rows = every_third.slice(2, 4);
  EXPECT_THAT(extents(rows), ElementsAre(2, 5, 3));
  EXPECT_THAT(strides(rows), ElementsAre(80, 10, 3));
}

TEST_F(Strided, ViewsOfContiguousElementsAreContiguous) {
  const auto x = tested().array<float>(stream, 6, 8);
  EXPECT_TRUE(x.slice(0, 1, 4).contiguous());
  EXPECT_TRUE(x.slice(1, 0, 8).contiguous());
  EXPECT_TRUE(x.slice(2, 3).slice(1, 4, 8).contiguous());        // part of one row
  EXPECT_TRUE(x.slice(0, 2, 3, 5).slice(1, 1, 2).contiguous());  // one element
  EXPECT_TRUE(x.slice(1, 3, 3).contiguous());                    // none
  EXPECT_TRUE(x.permuted({1, 0}).permuted({1, 0}).contiguous());
  EXPECT_TRUE(x.permuted({0, 1}).contiguous());
  EXPECT_FALSE(x.slice(0, 0, 6, 2).contiguous());
  EXPECT_FALSE(x.permuted({1, 0}).contiguous());
}

TEST_F(Strided, PermutedViewsHaveThePermutedShape) {
  const auto x = tested().array<Vec<double, 2>>(stream, 3, 4, 5);
  const auto y = x.permuted({2, 0, 1});
  EXPECT_THAT(extents(y), ElementsAre(5, 3, 4));
  EXPECT_THAT(strides(y), ElementsAre(2, 40, 10));
}

TEST_F(Strided, ViewsEndWithTheirArray) {
  ArrayView<std::int32_t, 2> view;
  {
    const auto x = matrix(4, 5);
    view = x.slice(1, 0, 2);
    EXPECT_TRUE(view.alive());
  }
  EXPECT_FALSE(view.alive());
  EXPECT_THAT(thrown_by([&] { (void)view.to_host(stream); }).what(), HasSubstr("array"));
  EXPECT_THAT(thrown_by([&] { view.fill(stream, 1); }).what(), HasSubstr("array"));
}

TEST_F(Strided, RefusesSlicesOutsideTheArray) {
  const auto x = matrix(4, 5);
  EXPECT_THAT(thrown_by([&] { (void)x.slice(1, 2, 6); }).what(),
              HasSubstr("slice [2, 6) is outside an array of 5 along its second dimension"));
  EXPECT_THAT(thrown_by([&] { (void)x.slice(2, 0, 1); }).what(), HasSubstr("dimension 2 of an array of 2"));
  EXPECT_THAT(thrown_by([&] { (void)x.slice(1, 0, 5, 0); }).what(), HasSubstr("step 0"));
  EXPECT_THAT(thrown_by([&] { (void)x.slice(1, 3, 2); }).what(), HasSubstr("slice [3, 2)"));
  EXPECT_THAT(thrown_by([&] { (void)x.permuted({0, 0}); }).what(), HasSubstr("(0, 0)"));
  EXPECT_THAT(thrown_by([&] { (void)x.permuted({0, 2}); }).what(), HasSubstr("each of 0 to 1 once"));
}

TEST_F(Strided, RefusesWhatNeedsContiguousArrays) {
  const auto x = matrix(6, 8);
  const auto column = x.slice(1, 2, 3);
  const auto line = tested().array<std::int32_t>(stream, 6);
  const auto refused = [&](const auto& call) {
    const Error error = thrown_by(call);
    EXPECT_EQ(error.code(), ErrorCode::unsupported) << error.what();
    EXPECT_THAT(error.what(), AllOf(HasSubstr("contiguous"), HasSubstr("copy_from"))) << error.what();
    return std::string(error.what());
  };
  EXPECT_THAT(refused([&] { (void)column.flat(); }), HasSubstr("flat()"));
  const auto strided_line = line.slice(0, 0, 6, 2);
  EXPECT_THAT(refused([&] { sort(stream, strided_line); }), HasSubstr("sort"));
  GraphBuilder builder(tested());
  refused([&] { builder.copy(column, matrix(6, 1)); });
  refused([&] { builder.fill_zero(column); });
}

}  // namespace
}  // namespace weir::test
