// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cfenv>
#include <weir/sdk/floating_point.hpp>
#include <weir/sdk/reduction.hpp>
#include <weir/sdk/thread.hpp>

namespace weir::sdk {
namespace {

class FloatingPoint : public testing::Test {
 protected:
  FloatingPoint() { std::fegetenv(&before_); }
  ~FloatingPoint() override { std::fesetenv(&before_); }

 private:
  std::fenv_t before_;
};

TEST_F(FloatingPoint, IsTheDefaultOneInsideAndTheEarlierOneAfterwards) {
  std::fesetround(FE_UPWARD);
  {
    const DefaultFloatingPoint inside;
    EXPECT_EQ(std::fegetround(), FE_TONEAREST);
    std::fesetround(FE_DOWNWARD);
  }
  EXPECT_EQ(std::fegetround(), FE_UPWARD);
}

TEST_F(FloatingPoint, IsTheEarlierOneAfterCodeThatChangesOrKeepsIt) {
  std::fesetenv(FE_DFL_ENV);
  {
    const DefaultFloatingPoint inside;
    std::fesetround(FE_DOWNWARD);
  }
  EXPECT_EQ(std::fegetround(), FE_TONEAREST);
  std::fesetround(FE_UPWARD);
  {
    const DefaultFloatingPoint inside(DefaultFloatingPoint::Inside::keeps);
    EXPECT_EQ(std::fegetround(), FE_TONEAREST);
  }
  EXPECT_EQ(std::fegetround(), FE_UPWARD);
}

TEST_F(FloatingPoint, OfStartedThreadsIsTheDefaultOne) {
  std::fesetround(FE_UPWARD);
  int rounding = -1;
  start_thread("rounds", [&] { rounding = std::fegetround(); }).join();
  EXPECT_EQ(rounding, FE_TONEAREST);
  EXPECT_EQ(std::fegetround(), FE_UPWARD);
}

TEST_F(FloatingPoint, OfReductionsIsTheDefaultOne) {
  float sums[2] = {1.0f, 1e-41f};
  const float others[2] = {1e-10f, 1e-41f};
  std::fesetround(FE_UPWARD);
#if defined(__x86_64__)
  __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040u);  // denormals are 0
#endif
  reduce(WEIR_F32, WEIR_SUM, sums, others, 2);
  std::fesetenv(FE_DFL_ENV);
  EXPECT_EQ(sums[0], 1.0f);
  EXPECT_GT(sums[1], 1e-41f);
}

#if defined(__x86_64__)
unsigned short x87() {
  unsigned short now;
  __asm__ volatile("fnstcw %0" : "=m"(now));
  return now;
}
void set_x87(unsigned short control) {
  __asm__ volatile("fldcw %0" : : "m"(control));
}

TEST_F(FloatingPoint, CoversEachControlWordAlone) {
  set_x87(0x0c7f);
  {
    const DefaultFloatingPoint inside;
    EXPECT_EQ(x87(), 0x037f);
    set_x87(0x007f);
  }
  EXPECT_EQ(x87(), 0x0c7f);
  set_x87(0x037f);
  __builtin_ia32_ldmxcsr(0x9fc0);
  {
    const DefaultFloatingPoint inside;
    EXPECT_EQ(__builtin_ia32_stmxcsr() & ~0x3fu, 0x1f80u);
    set_x87(0x007f);
  }
  EXPECT_EQ(__builtin_ia32_stmxcsr() & ~0x3fu, 0x9fc0u);
  EXPECT_EQ(x87(), 0x037f);
}
#endif

}  // namespace
}  // namespace weir::sdk
