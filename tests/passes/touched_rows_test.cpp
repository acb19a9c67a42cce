// SPDX-License-Identifier: Apache-2.0
// The rows of arrays that a loop accesses.
#include "passes/touched_rows.hpp"

#include <gtest/gtest.h>

#include <string>

#include "plans.hpp"

namespace weir::test {
namespace {

/// "n: i+a to i+b by dimension d" of each array whose rows are known, of the only task.
std::string rows_of(const std::string& body) {
  const ir::Kernel k = kernel(body);
  const passes::Plan p = passes::make_plan(k, 8);
  EXPECT_EQ(p.tasks.size(), 1u);
  std::string text;
  for (const auto& [parameter, rows] : passes::touched_rows(k, p.tasks.front().task))
    text += k.parameters[parameter].name + " " + std::to_string(rows.first) + " to " +
            std::to_string(rows.last) + " of " + std::to_string(rows.dimension) + "\n";
  return text;
}

TEST(TouchedRows, AreSumsOfALoopIndexAndConstants) {
  EXPECT_EQ(rows_of("parallel (%i) in (%zero to %len) {\n"
                    "%up = sub %i, %one : i64\n%next = add %one, %i : i64\n%last = add %next, %one : i64\n"
                    "%a1 = load @x[%up] : f32\n%a2 = load @x[%last] : f32\n"
                    "%s = add %a1, %a2 : f32\nstore @y[%i], %s\n}"),
            "x -1 to 2 of 0\ny 0 to 0 of 0\n");
}

TEST(TouchedRows, AreOfTheFirstIndexInAnyDimensionOfTheLoop) {
  EXPECT_EQ(rows_of("parallel (%i, %j) in (%zero to %len, %zero to %len) {\n"
                    "%v = load @m[%j, %i] : f64\n%d = add %v, %v : f64\nstore @m[%j, %j], %d\n}"),
            "m 0 to 0 of 1\n");
}

TEST(TouchedRows, OfOtherIndicesAreUnknown) {
  // By two dimensions of the loop, by a difference from a constant, by a product, and by a constant.
  EXPECT_EQ(rows_of("parallel (%i, %j) in (%zero to %len, %zero to %len) {\n"
                    "%v = load @x[%i] : f32\nstore @x[%j], %v\n"
                    "%away = sub %one, %i : i64\nstore @y[%away], %v\n"
                    "%twice = add %i, %i : i64\nstore @z[%twice], %v\n"
                    "%w = load @n[%i] : i32\nstore @n[%one], %w\n}"),
            "");
}

TEST(TouchedRows, OfSequentialLoopsAndConditionsCount) {
  EXPECT_EQ(rows_of("%a = arg @a : f32\nparallel (%i) in (%zero to %len) {\n"
                    "%v = load @y[%i] : f32\n%up = add %i, %one : i64\n"
                    "%c1 = gt %v, %a : bool\n"
                    "if %c1 {\nstore @y[%up], %v\n}\n"
                    "for %k = %zero to %len step %one {\nstore @x[%k], %v\n}\n}"),
            "y 0 to 1 of 0\n");
}

}  // namespace
}  // namespace weir::test
