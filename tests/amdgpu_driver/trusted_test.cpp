// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <trusted.hpp>

namespace weir::amdgpu {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

std::string pools(int major, int minor, const char* architecture) {
  return why_no_pools(hip_version(major, minor), architecture, true, true);
}

TEST(AmdgpuTrust, PoolsAreUsedUnlessTheyAreKnownToFail) {
  EXPECT_THAT(pools(6, 2, "gfx1100"), IsEmpty());
  EXPECT_THAT(pools(6, 4, "gfx90a:sramecc+:xnack-"), IsEmpty());
  EXPECT_THAT(pools(7, 0, "gfx942:sramecc+:xnack-"), IsEmpty());
  EXPECT_THAT(pools(7, 2, "gfx1201"), IsEmpty());
}

TEST(AmdgpuTrust, PoolsThatFailAreNotUsedAndTheReasonIsGiven) {
  EXPECT_THAT(why_no_pools(hip_version(6, 4), "gfx906", false, true),
              HasSubstr("lacks functions of stream-ordered allocation"));
  EXPECT_THAT(pools(5, 2, "gfx906"), HasSubstr("can hang"));
  EXPECT_THAT(pools(6, 1, "gfx942"), HasSubstr("can hang"));
  EXPECT_THAT(why_no_pools(hip_version(6, 4), "gfx906", true, false), HasSubstr("no memory pools"));
  EXPECT_THAT(pools(6, 4, "gfx90c:xnack-"), HasSubstr("hangs on gfx90c"));
  EXPECT_THAT(pools(7, 0, "gfx1030"), HasSubstr("fails on gfx1030"));
  EXPECT_THAT(pools(7, 2, "gfx1101"), HasSubstr("fails on gfx1101"));
}

TEST(AmdgpuTrust, GraphsAreUsedSince63) {
  EXPECT_THAT(why_no_graphs(hip_version(6, 3), true), IsEmpty());
  EXPECT_THAT(why_no_graphs(hip_version(7, 0), true), IsEmpty());
  EXPECT_THAT(why_no_graphs(hip_version(6, 2), true), HasSubstr("before 6.3"));
  EXPECT_THAT(why_no_graphs(hip_version(7, 0), false), HasSubstr("lacks"));
}

}  // namespace
}  // namespace weir::amdgpu
