// SPDX-License-Identifier: Apache-2.0
// Memory used by `weir info`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/footprint.hpp"
#include "tools/run_program.hpp"

namespace weir::test {
namespace {

class InfoFootprint : public testing::Test {
 protected:
  void SetUp() override {
#ifdef WEIR_SANITIZED
    GTEST_SKIP() << "a sanitizer's own memory would be measured";
#endif
    footprint_ = footprint_of({tool(), "info"});
    if (!footprint_.measured) GTEST_SKIP() << "this system does not let a process trace its child";
    ASSERT_NE(footprint_.maps, "");
  }
  Footprint footprint_;
};

TEST_F(InfoFootprint, LoadsNoLlvm) {
  EXPECT_THAT(footprint_.maps, testing::HasSubstr("libweir.so"));
  EXPECT_THAT(footprint_.maps, testing::Not(testing::HasSubstr("LLVM")));
  EXPECT_THAT(footprint_.maps, testing::Not(testing::HasSubstr("libweir-codegen")));
}

TEST_F(InfoFootprint, StaysUnderThirtyMebibytes) {
  EXPECT_GT(footprint_.peak_kib, 0);
  EXPECT_LT(footprint_.peak_kib, 30 * 1024);
}

}  // namespace
}  // namespace weir::test
