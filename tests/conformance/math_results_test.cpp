// SPDX-License-Identifier: Apache-2.0
// The suite has expected results for every math function of the language.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace {

TEST(MathResults, AreRecordedForEveryFunction) {
  const std::vector<std::string> functions = {
#define WEIR_MATH(name, operands) #name "/" #operands,
#include "ir/math.def"
#undef WEIR_MATH
  };
  const std::vector<std::string> recorded = {
#define WEIR_MATH_RESULTS(name, operands, integer_last, integer_type, f32, f64) #name "/" #operands,
#include "suite/math_results.def"
#undef WEIR_MATH_RESULTS
  };
  EXPECT_THAT(recorded, ::testing::UnorderedElementsAreArray(functions));
}

}  // namespace
