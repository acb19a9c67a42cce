// SPDX-License-Identifier: Apache-2.0
// Kernels over struct arrays of other layouts and over strided arrays: the indices that accesses get.
#include <gtest/gtest.h>

#include "ir/parser.hpp"
#include "ir/printer.hpp"
#include "ir/verifier.hpp"
#include "passes/place_members.hpp"
#include "passes/place_strided.hpp"

namespace weir::test {
namespace {

/// A struct array @p of { float a; vec<float, 2> b; vec<double, 2> c[2][3] } with padding after each row of
/// c, and an array @x that is no member.
const std::string struct_kernel = R"(weir-ir 1
kernel "k"
  param @x : array<f32, 1>
  param @p_size : i64
  param @p_0 : array<f32, 1>
  param @p_1 : array<vec<f32, 2>, 1>
  param @p_2 : array<vec<f64, 2>, 3>
{
  %i = arg @p_size : i64
  %a = load @p_0[%i] : f32
  store @x[%i], %a
  %b = load @p_1[%i].1 : f32
  store @p_0[%i], %b
  if %t {
    %c = cast %i : f64
    %old = atomic.add @p_2[%i, %j, %k].1, %c : f64
  }
}
)";

std::vector<ir::StructParameter> structs_of() {
  using detail::StructMember;
  const StructMember a{{ScalarType::f32}, 4, 0, {}, {}};
  const StructMember b{{ScalarType::f32, ElementType::Shape::vector, 2, 1}, 8, 0, {}, {}};
  const StructMember c{{ScalarType::f64, ElementType::Shape::vector, 2, 1}, 16, 2, {2, 3}, {64, 16}};
  return {{1, 144, {a, b, c}}};
}

ir::Kernel parsed(std::string text) {
  text.replace(text.find("  if %t"), 0,
               "  %j = const 1 : i64\n  %k = const 2 : i64\n  %t = lt %j, %k : bool\n");
  return ir::parse(text, "k");
}

/// The parameters and the body after the placement.
std::string placed(const Layout& layout, bool check = false) {
  ir::Kernel kernel = parsed(struct_kernel);
  const Layout layouts[] = {layout};
  passes::place_members(kernel, structs_of(), layouts, check);
  ir::verify_or_throw(kernel);
  const std::string text = ir::print(kernel);
  return text.substr(text.find("  param"));
}

TEST(PlaceMembers, OfAStructOfArraysStay) {
  const std::string text = ir::print(parsed(struct_kernel));
  EXPECT_EQ(placed(Layout::struct_of_arrays()), text.substr(text.find("  param")));
}

// Scalars of a struct: a is 1, b is 2 and 3, and c begins at 2 doubles with rows of 8.
TEST(PlaceMembers, OfAnArrayOfStructsAreScalarsOfARow) {
  EXPECT_EQ("\n" + placed(Layout::array_of_structs()), R"(
  param @x : array<f32, 1>
  param @p_size : i64
  param @p_0 : array<f32, 2>
  param @p_1 : array<f32, 2>
  param @p_2 : array<f64, 2>
{
  %0 = arg @p_size : i64
  %1 = const 1 : i64
  %2 = load @p_0[%0, %1] : f32
  store @x[%0], %2
  %3 = const 3 : i64
  %4 = load @p_1[%0, %3] : f32
  %5 = const 1 : i64
  store @p_0[%0, %5], %4
  %6 = const 1 : i64
  %7 = const 2 : i64
  %8 = lt %6, %7 : bool
  if %8 {
    %9 = cast %0 : f64
    %10 = const 3 : i64
    %11 = const 8 : i64
    %12 = mul %6, %11 : i64
    %13 = add %10, %12 : i64
    %14 = const 2 : i64
    %15 = mul %7, %14 : i64
    %16 = add %13, %15 : i64
    %17 = atomic.add @p_2[%0, %16], %9 : f64
  }
}
)");
}

// Blocks of 8 structs: a is scalars 0 to 7, b begins at 8, and c at 12 doubles, without padding.
TEST(PlaceMembers, OfBlocksAreArraysInARow) {
  EXPECT_EQ("\n" + placed(Layout::blocks(8)), R"(
  param @x : array<f32, 1>
  param @p_size : i64
  param @p_0 : array<f32, 2>
  param @p_1 : array<f32, 2>
  param @p_2 : array<f64, 2>
{
  %0 = arg @p_size : i64
  %1 = const 0 : i64
  %2 = const 7 : i64
  %3 = and %0, %2 : i64
  %4 = const 3 : i64
  %5 = shr %0, %4 : i64
  %6 = const 1 : i64
  %7 = mul %3, %6 : i64
  %8 = add %1, %7 : i64
  %9 = load @p_0[%5, %8] : f32
  store @x[%0], %9
  %10 = const 9 : i64
  %11 = const 7 : i64
  %12 = and %0, %11 : i64
  %13 = const 3 : i64
  %14 = shr %0, %13 : i64
  %15 = const 2 : i64
  %16 = mul %12, %15 : i64
  %17 = add %10, %16 : i64
  %18 = load @p_1[%14, %17] : f32
  %19 = const 0 : i64
  %20 = const 7 : i64
  %21 = and %0, %20 : i64
  %22 = const 3 : i64
  %23 = shr %0, %22 : i64
  %24 = const 1 : i64
  %25 = mul %21, %24 : i64
  %26 = add %19, %25 : i64
  store @p_0[%23, %26], %18
  %27 = const 1 : i64
  %28 = const 2 : i64
  %29 = lt %27, %28 : bool
  if %29 {
    %30 = cast %0 : f64
    %31 = const 13 : i64
    %32 = const 7 : i64
    %33 = and %0, %32 : i64
    %34 = const 3 : i64
    %35 = shr %0, %34 : i64
    %36 = const 12 : i64
    %37 = mul %33, %36 : i64
    %38 = add %31, %37 : i64
    %39 = const 6 : i64
    %40 = mul %27, %39 : i64
    %41 = add %38, %40 : i64
    %42 = const 2 : i64
    %43 = mul %28, %42 : i64
    %44 = add %41, %43 : i64
    %45 = atomic.add @p_2[%35, %44], %30 : f64
  }
}
)");
}

TEST(PlaceMembers, IndicesThatTheNewArraysDoNotLimitAreChecked) {
  EXPECT_EQ("\n" + placed(Layout::array_of_structs(), true), R"(
  param @x : array<f32, 1>
  param @p_size : i64
  param @p_0 : array<f32, 2>
  param @p_1 : array<f32, 2>
  param @p_2 : array<f64, 2>
{
  %0 = arg @p_size : i64
  %1 = const 1 : i64
  %2 = load @p_0[%0, %1] : f32
  store @x[%0], %2
  %3 = const 3 : i64
  %4 = load @p_1[%0, %3] : f32
  %5 = const 1 : i64
  store @p_0[%0, %5], %4
  %6 = const 1 : i64
  %7 = const 2 : i64
  %8 = lt %6, %7 : bool
  if %8 {
    %9 = cast %0 : f64
    %10 = const 3 : i64
    %11 = const 2 : i64
    %12 = const 0 : i64
    %13 = ge %6, %12 : bool
    %14 = lt %6, %11 : bool
    %15 = and %13, %14 : bool
    assert %15, "an index is outside member 3 of the struct array 'p'"
    %16 = const 8 : i64
    %17 = mul %6, %16 : i64
    %18 = add %10, %17 : i64
    %19 = const 3 : i64
    %20 = const 0 : i64
    %21 = ge %7, %20 : bool
    %22 = lt %7, %19 : bool
    %23 = and %21, %22 : bool
    assert %23, "an index is outside member 3 of the struct array 'p'"
    %24 = const 2 : i64
    %25 = mul %7, %24 : i64
    %26 = add %18, %25 : i64
    %27 = atomic.add @p_2[%0, %26], %9 : f64
  }
}
)");
  EXPECT_EQ("\n" + placed(Layout::blocks(8), true), R"(
  param @x : array<f32, 1>
  param @p_size : i64
  param @p_0 : array<f32, 2>
  param @p_1 : array<f32, 2>
  param @p_2 : array<f64, 2>
{
  %0 = arg @p_size : i64
  %1 = const 0 : i64
  %2 = arg @p_size : i64
  %3 = const 0 : i64
  %4 = ge %0, %3 : bool
  %5 = lt %0, %2 : bool
  %6 = and %4, %5 : bool
  assert %6, "an index is outside member 1 of the struct array 'p'"
  %7 = const 7 : i64
  %8 = and %0, %7 : i64
  %9 = const 3 : i64
  %10 = shr %0, %9 : i64
  %11 = const 1 : i64
  %12 = mul %8, %11 : i64
  %13 = add %1, %12 : i64
  %14 = load @p_0[%10, %13] : f32
  store @x[%0], %14
  %15 = const 9 : i64
  %16 = arg @p_size : i64
  %17 = const 0 : i64
  %18 = ge %0, %17 : bool
  %19 = lt %0, %16 : bool
  %20 = and %18, %19 : bool
  assert %20, "an index is outside member 2 of the struct array 'p'"
  %21 = const 7 : i64
  %22 = and %0, %21 : i64
  %23 = const 3 : i64
  %24 = shr %0, %23 : i64
  %25 = const 2 : i64
  %26 = mul %22, %25 : i64
  %27 = add %15, %26 : i64
  %28 = load @p_1[%24, %27] : f32
  %29 = const 0 : i64
  %30 = arg @p_size : i64
  %31 = const 0 : i64
  %32 = ge %0, %31 : bool
  %33 = lt %0, %30 : bool
  %34 = and %32, %33 : bool
  assert %34, "an index is outside member 1 of the struct array 'p'"
  %35 = const 7 : i64
  %36 = and %0, %35 : i64
  %37 = const 3 : i64
  %38 = shr %0, %37 : i64
  %39 = const 1 : i64
  %40 = mul %36, %39 : i64
  %41 = add %29, %40 : i64
  store @p_0[%38, %41], %28
  %42 = const 1 : i64
  %43 = const 2 : i64
  %44 = lt %42, %43 : bool
  if %44 {
    %45 = cast %0 : f64
    %46 = const 13 : i64
    %47 = arg @p_size : i64
    %48 = const 0 : i64
    %49 = ge %0, %48 : bool
    %50 = lt %0, %47 : bool
    %51 = and %49, %50 : bool
    assert %51, "an index is outside member 3 of the struct array 'p'"
    %52 = const 7 : i64
    %53 = and %0, %52 : i64
    %54 = const 3 : i64
    %55 = shr %0, %54 : i64
    %56 = const 12 : i64
    %57 = mul %53, %56 : i64
    %58 = add %46, %57 : i64
    %59 = const 2 : i64
    %60 = const 0 : i64
    %61 = ge %42, %60 : bool
    %62 = lt %42, %59 : bool
    %63 = and %61, %62 : bool
    assert %63, "an index is outside member 3 of the struct array 'p'"
    %64 = const 6 : i64
    %65 = mul %42, %64 : i64
    %66 = add %58, %65 : i64
    %67 = const 3 : i64
    %68 = const 0 : i64
    %69 = ge %43, %68 : bool
    %70 = lt %43, %67 : bool
    %71 = and %69, %70 : bool
    assert %71, "an index is outside member 3 of the struct array 'p'"
    %72 = const 2 : i64
    %73 = mul %43, %72 : i64
    %74 = add %66, %73 : i64
    %75 = atomic.add @p_2[%55, %74], %45 : f64
  }
}
)");
}

TEST(PlaceMembers, IndicesOfAPlaceAreThoseOfTheProgram) {
  using Indices = std::vector<std::int64_t>;
  const ir::StructParameter array = structs_of().front();
  EXPECT_EQ(passes::member_indices(array, Layout::struct_of_arrays(), 2, {7, 1, 2}), (Indices{7, 1, 2}));
  EXPECT_EQ(passes::member_indices(array, Layout::array_of_structs(), 2, {7, 9}), Indices{7});
  // a: 8 scalars of each block from 0; b: 16 from 8; c: 96 from 12.
  EXPECT_EQ(passes::member_indices(array, Layout::blocks(8), 0, {2, 5}), Indices{21});
  EXPECT_EQ(passes::member_indices(array, Layout::blocks(8), 1, {0, 8}), Indices{0});
  EXPECT_EQ(passes::member_indices(array, Layout::blocks(8), 1, {1, 15}), Indices{11});
  EXPECT_EQ(passes::member_indices(array, Layout::blocks(8), 2, {3, 12 + 12 * 4 + 5}), Indices{28});
}

// ---- strided arrays

/// The kernel over @m and @v as strided arrays. @x is contiguous, and another parameter has the first name.
std::string strided(bool check) {
  ir::Kernel kernel = ir::parse(R"(weir-ir 1
kernel "k"
  param @x : array<f32, 1>
  param @m : array<f64, 2>
  param @m_strides : i64
  param @v : array<vec<f32, 2>, 1>
{
  %rows = extent @m, 0 : i64
  %columns = extent @m, 1 : i64
  %len = extent @x, 0 : i64
  %c = arg @m_strides : i64
  for %i = %c to %rows step %c {
    %d = load @m[%i, %columns] : f64
    store @m[%len, %i], %d
    %f = load @v[%i].1 : f32
    store @v[%i].0, %f
    store @x[%i], %f
  }
}
)",
                                "k");
  const std::uint32_t arrays[] = {1, 3};
  passes::place_strided(kernel, {}, arrays, check);
  ir::verify_or_throw(kernel);
  std::string text = ir::print(kernel);
  return "\n" + text.substr(text.find("  param"));
}

// The parameter of strides holds the first place, the extents, and the strides.
TEST(PlaceStrided, IndicesBecomeOnePlace) {
  EXPECT_EQ(strided(false), R"(
  param @x : array<f32, 1>
  param @m : array<f64, 1>
  param @m_strides : i64
  param @v : array<f32, 1>
  param @m_strides_ : vec<i64, 5>
  param @v_strides : vec<i64, 3>
{
  %0 = arg @m_strides_.1 : i64
  %1 = arg @m_strides_.2 : i64
  %2 = extent @x, 0 : i64
  %3 = arg @m_strides : i64
  for %4 = %3 to %0 step %3 {
    %5 = arg @m_strides_.0 : i64
    %6 = arg @m_strides_.3 : i64
    %7 = mul %4, %6 : i64
    %8 = add %5, %7 : i64
    %9 = arg @m_strides_.4 : i64
    %10 = mul %1, %9 : i64
    %11 = add %8, %10 : i64
    %12 = load @m[%11] : f64
    %13 = arg @m_strides_.0 : i64
    %14 = arg @m_strides_.3 : i64
    %15 = mul %2, %14 : i64
    %16 = add %13, %15 : i64
    %17 = arg @m_strides_.4 : i64
    %18 = mul %4, %17 : i64
    %19 = add %16, %18 : i64
    store @m[%19], %12
    %20 = arg @v_strides.0 : i64
    %21 = arg @v_strides.2 : i64
    %22 = mul %4, %21 : i64
    %23 = add %20, %22 : i64
    %24 = const 1 : i64
    %25 = add %23, %24 : i64
    %26 = load @v[%25] : f32
    %27 = arg @v_strides.0 : i64
    %28 = arg @v_strides.2 : i64
    %29 = mul %4, %28 : i64
    %30 = add %27, %29 : i64
    store @v[%30], %26
    store @x[%4], %26
  }
}
)");
}

TEST(PlaceStrided, IndicesOfEachDimensionAreChecked) {
  EXPECT_EQ(strided(true), R"(
  param @x : array<f32, 1>
  param @m : array<f64, 1>
  param @m_strides : i64
  param @v : array<f32, 1>
  param @m_strides_ : vec<i64, 5>
  param @v_strides : vec<i64, 3>
{
  %0 = arg @m_strides_.1 : i64
  %1 = arg @m_strides_.2 : i64
  %2 = extent @x, 0 : i64
  %3 = arg @m_strides : i64
  for %4 = %3 to %0 step %3 {
    %5 = arg @m_strides_.0 : i64
    %6 = arg @m_strides_.1 : i64
    %7 = const 0 : i64
    %8 = ge %4, %7 : bool
    %9 = lt %4, %6 : bool
    %10 = and %8, %9 : bool
    assert %10, "an index is outside the first dimension of array 'm'"
    %11 = arg @m_strides_.3 : i64
    %12 = mul %4, %11 : i64
    %13 = add %5, %12 : i64
    %14 = arg @m_strides_.2 : i64
    %15 = const 0 : i64
    %16 = ge %1, %15 : bool
    %17 = lt %1, %14 : bool
    %18 = and %16, %17 : bool
    assert %18, "an index is outside the second dimension of array 'm'"
    %19 = arg @m_strides_.4 : i64
    %20 = mul %1, %19 : i64
    %21 = add %13, %20 : i64
    %22 = load @m[%21] : f64
    %23 = arg @m_strides_.0 : i64
    %24 = arg @m_strides_.1 : i64
    %25 = const 0 : i64
    %26 = ge %2, %25 : bool
    %27 = lt %2, %24 : bool
    %28 = and %26, %27 : bool
    assert %28, "an index is outside the first dimension of array 'm'"
    %29 = arg @m_strides_.3 : i64
    %30 = mul %2, %29 : i64
    %31 = add %23, %30 : i64
    %32 = arg @m_strides_.2 : i64
    %33 = const 0 : i64
    %34 = ge %4, %33 : bool
    %35 = lt %4, %32 : bool
    %36 = and %34, %35 : bool
    assert %36, "an index is outside the second dimension of array 'm'"
    %37 = arg @m_strides_.4 : i64
    %38 = mul %4, %37 : i64
    %39 = add %31, %38 : i64
    store @m[%39], %22
    %40 = arg @v_strides.0 : i64
    %41 = arg @v_strides.1 : i64
    %42 = const 0 : i64
    %43 = ge %4, %42 : bool
    %44 = lt %4, %41 : bool
    %45 = and %43, %44 : bool
    assert %45, "an index is outside the first dimension of array 'v'"
    %46 = arg @v_strides.2 : i64
    %47 = mul %4, %46 : i64
    %48 = add %40, %47 : i64
    %49 = const 1 : i64
    %50 = add %48, %49 : i64
    %51 = load @v[%50] : f32
    %52 = arg @v_strides.0 : i64
    %53 = arg @v_strides.1 : i64
    %54 = const 0 : i64
    %55 = ge %4, %54 : bool
    %56 = lt %4, %53 : bool
    %57 = and %55, %56 : bool
    assert %57, "an index is outside the first dimension of array 'v'"
    %58 = arg @v_strides.2 : i64
    %59 = mul %4, %58 : i64
    %60 = add %52, %59 : i64
    store @v[%60], %51
    store @x[%4], %51
  }
}
)");
}

TEST(PlaceStrided, TheParameterHoldsOneNumberAndTwoForEachDimension) {
  EXPECT_EQ(to_string(passes::strides_type(1)), "vec<i64, 3>");
  EXPECT_EQ(to_string(passes::strides_type(4)), "vec<i64, 9>");
}

TEST(PlaceStrided, APlaceHasTheIndicesOfItsElement) {
  // For each element of an array with these numbers.
  const auto check = [](const std::vector<std::int64_t>& numbers) {
    const std::size_t rank = (numbers.size() - 1) / 2;
    std::vector<std::int64_t> indices(rank, 0);
    for (bool more = true; more;) {
      std::int64_t place = numbers[0];
      for (std::size_t d = 0; d < rank; ++d) place += indices[d] * numbers[1 + rank + d];
      EXPECT_EQ(passes::strided_indices(numbers, place), indices);
      std::size_t d = rank;
      while (d > 0 && ++indices[d - 1] == numbers[d]) indices[--d] = 0;
      more = d > 0;
    }
  };
  check({0, 5, 1});
  check({3, 4, 3});
  check({12, 4, -3});                    // reversed
  check({1, 3, 4, 8, 2});                // every second column
  check({0, 3, 4, 1, 3});                // transposed
  check({11, 3, 4, -1, -3});             // transposed and reversed
  check({0, 1, 4, 0, 2});                // one row, of any stride
  check({2, 1, 3, 2, 1000, 10, -2});     // a stride of one row that no element reaches
  check({4, 2, 3, 2, 2, 48, 8, -4, 1});  // four dimensions
}

}  // namespace
}  // namespace weir::test
