// SPDX-License-Identifier: Apache-2.0
// The parts of arrays that a loop accesses.
#include "passes/touched_boxes.hpp"

#include <gtest/gtest.h>

#include <string>

#include "plans.hpp"

namespace weir::test {
namespace {

/// "n[e]: a to b of d" for each dimension e of each array, of the only task: iteration i of dimension d of
/// the loop accesses i + a to i + b.
std::string boxes_of(const std::string& body) {
  const ir::Kernel k = kernel(body);
  const passes::Plan p = passes::make_plan(k, 8);
  EXPECT_EQ(p.tasks.size(), 1u);
  std::string text;
  for (const auto& [parameter, box] : passes::touched_boxes(k, p.tasks.front().task))
    for (std::size_t d = 0; d < box.size(); ++d)
      if (box[d])
        text += k.parameters[parameter].name + "[" + std::to_string(d) + "] " +
                std::to_string(box[d]->first) + " to " + std::to_string(box[d]->last) + " of " +
                std::to_string(box[d]->dimension) + (box[d]->clamped ? " clamped\n" : "\n");
  return text;
}

TEST(TouchedBoxes, AreSumsOfALoopIndexAndConstants) {
  EXPECT_EQ(boxes_of("parallel (%i) in (%zero to %len) {\n"
                     "%up = sub %i, %one : i64\n%next = add %one, %i : i64\n%last = add %next, %one : i64\n"
                     "%a1 = load @x[%up] : f32\n%a2 = load @x[%last] : f32\n"
                     "%s = add %a1, %a2 : f32\nstore @y[%i], %s\n}"),
            "x[0] -1 to 2 of 0\ny[0] 0 to 0 of 0\n");
}

TEST(TouchedBoxes, HaveEachDimensionByAnyDimensionOfTheLoop) {
  EXPECT_EQ(boxes_of("parallel (%i, %j) in (%zero to %len, %zero to %len) {\n%right = add %i, %one : i64\n"
                     "%v = load @m[%j, %i] : f64\n%d = add %v, %v : f64\nstore @m[%j, %right], %d\n}"),
            "m[0] 0 to 0 of 1\nm[1] 0 to 1 of 0\n");
  EXPECT_EQ(boxes_of("parallel (%i, %j) in (%zero to %len, %zero to %len) {\n"
                     "%v = load @m[%j, %i] : f64\n%d = add %v, %v : f64\nstore @m[%j, %j], %d\n}"),
            "m[0] 0 to 0 of 1\n");
  EXPECT_EQ(boxes_of("parallel (%i, %j) in (%zero to %len, %zero to %len) {\n"
                     "%v = load @m[%zero, %i] : f64\n%d = add %v, %v : f64\nstore @m[%j, %i], %d\n}"),
            "m[1] 0 to 0 of 0\n");
}

TEST(TouchedBoxes, OfIndicesThatAreClampedToTheArrayAreKnown) {
  const std::string neighbours =
      "parallel (%i, %j) in (%zero to %len, %zero to %len) {\n%right = add %j, %one : i64\n"
      "%left = sub %j, %one : i64\n%w = extent @m, 1 : i64\n%last = sub %w, %one : i64\n";
  EXPECT_EQ(boxes_of(neighbours + "%a = max %left, %zero : i64\n%b = min %last, %right : i64\n"
                                  "%v = load @m[%i, %a] : f64\nstore @m[%i, %b], %v\n}"),
            "m[0] 0 to 0 of 0\nm[1] -1 to 1 of 1 clamped\n");
  EXPECT_EQ(boxes_of(neighbours + "%a = min %right, %last : i64\n%b = max %zero, %a : i64\n"
                                  "%v = load @m[%i, %b] : f64\nstore @m[%i, %j], %v\n}"),
            "m[0] 0 to 0 of 0\nm[1] 0 to 1 of 1 clamped\n");
  // Another number than 0, another array, the last but one, and the first from above.
  for (const std::string index : {"max %left, %one : i64\n", "min %right, %n : i64\n",
                                  "min %right, %before : i64\n", "min %left, %zero : i64\n"})
    EXPECT_EQ(boxes_of(neighbours +
                       "%rows = extent @m, 0 : i64\n%n = sub %rows, %one : i64\n"
                       "%before = sub %last, %one : i64\n%a = " +
                       index + "%v = load @m[%i, %a] : f64\nstore @m[%i, %a], %v\n}"),
              "m[0] 0 to 0 of 0\n")
        << index;
}

TEST(TouchedBoxes, OfReductionsAreKnownAndOfGroupsAreNot) {
  const ir::Kernel sum = kernel(
      "%s = reduce.sum (%i) in (%zero to %len) : f32 {\n%a = load @x[%i] : f32\n%up = sub %i, %one : i64\n"
      "%b = load @x[%up] : f32\n%c = add %a, %b : f32\nyield %c\n}\nstore @y[%zero], %s\n");
  const passes::Plan p = passes::make_plan(sum, 8);
  const auto boxes = passes::touched_boxes(sum, p.tasks.at(0).task);
  ASSERT_EQ(boxes.size(), 1u);
  ASSERT_TRUE(boxes.at(0)[0]);
  EXPECT_EQ(boxes.at(0)[0]->first, -1);
  EXPECT_EQ(boxes.at(0)[0]->last, 0);
  EXPECT_TRUE(passes::touched_boxes(sum, p.tasks.at(1).task).empty()) << "statements";
  EXPECT_EQ(boxes_of("%four = const 4 : i64\n%f = const 1 : f32\nparallel (%g, %t) in (%zero to %len, %zero "
                     "to %four) group 4 {\n"
                     "store @x[%g], %f\n}"),
            "");
}

TEST(TouchedBoxes, OfOtherIndicesAreUnknown) {
  // By two dimensions of the loop, by a difference from a constant, by a product, and by a constant.
  EXPECT_EQ(boxes_of("parallel (%i, %j) in (%zero to %len, %zero to %len) {\n"
                     "%v = load @x[%i] : f32\nstore @x[%j], %v\n"
                     "%away = sub %one, %i : i64\nstore @y[%away], %v\n"
                     "%twice = add %i, %i : i64\nstore @z[%twice], %v\n"
                     "%w = load @n[%i] : i32\nstore @n[%one], %w\n}"),
            "");
}

TEST(TouchedBoxes, OfSequentialLoopsAndConditionsCount) {
  EXPECT_EQ(boxes_of("%a = arg @a : f32\nparallel (%i) in (%zero to %len) {\n"
                     "%v = load @y[%i] : f32\n%up = add %i, %one : i64\n"
                     "%c1 = gt %v, %a : bool\n"
                     "if %c1 {\nstore @y[%up], %v\n}\n"
                     "for %k = %zero to %len step %one {\nstore @x[%k], %v\n}\n}"),
            "y[0] 0 to 1 of 0\n");
}

}  // namespace
}  // namespace weir::test
