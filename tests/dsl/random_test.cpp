// SPDX-License-Identifier: Apache-2.0
// Random numbers: their keys and counters.
#include "traced.hpp"

namespace weir::test {
namespace {

// FNV-1a of the kernel's name "test", as documented.
constexpr std::uint32_t site(std::uint32_t number) {
  std::uint32_t hash = 2166136261u;
  for (const char c : {'t', 'e', 's', 't'}) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return hash + number;
}

// proves R22
TEST(Random, IsCountedByElementCallSiteAndDraw) {
  EXPECT_EQ(body_of([](View<std::uint32_t> x, Index n) {
              range_for(range(n, 9), [&](Index i) { x[i] = random<std::uint32_t>(); });
            }),
            "  %0 = arg @p1 : i64\n"
            "  %1 = const 9 : i64\n"
            "  parallel (%2) in (%0 to %1) {\n"
            "    %3 = launch_key : u64\n"
            "    %4 = const 32 : u64\n"
            "    %5 = cast %3 : u32\n"
            "    %6 = shr %3, %4 : u64\n"
            "    %7 = cast %6 : u32\n"
            "    %8 = sub %2, %0 : i64\n"
            "    %9 = cast %8 : u64\n"
            "    %10 = cast %9 : u32\n"
            "    %11 = shr %9, %4 : u64\n"
            "    %12 = cast %11 : u32\n"
            "    %13 = const " +
                std::to_string(site(0)) +
                " : u32\n"
                "    %14 = const 0 : u32\n"
                "    %15 = philox.0 %5, %7, %10, %12, %13, %14 : u32\n"
                "    store @p0[%2], %15\n"
                "  }\n");
}

// proves R22
TEST(Random, CallSitesAreNumberedInOrderWhateverTheirLine) {
  const std::string text = body_of([](View<std::uint32_t> x) {
    for (int k = 0; k < 2; ++k) x[0] = random<std::uint32_t>();
  });
  EXPECT_THAT(text, testing::HasSubstr("const " + std::to_string(site(0)) + " : u32"));
  EXPECT_THAT(text, testing::HasSubstr("const " + std::to_string(site(1)) + " : u32"));
}

// proves R22
TEST(Random, DrawsInALoopAreCountedAroundTheOutermostLoop) {
  const std::string text = body_of([](View<std::uint32_t> x, Index n) {
    range_for(n, [&](Index i) {
      for_(i, n, n, [&](Index) { for_(i, n, n, [&](Index) { x[i] = random<std::uint32_t>(); }); });
    });
  });
  EXPECT_THAT(text, testing::HasSubstr("    local $0 : u32\n    for %"));
  EXPECT_THAT(text, testing::ContainsRegex("set \\$0, %[0-9]+\n"));
}

TEST(Random, KernelsOfDifferentNamesDrawDifferently) {
  const auto draw = [](View<std::uint32_t> x) { x[0] = random<std::uint32_t>(); };
  const std::string a = ir::print(traced(draw, {}, "a")), b = ir::print(traced(draw, {}, "b"));
  EXPECT_NE(a.substr(a.find('{')), b.substr(b.find('{')));
}

TEST(Random, EveryTypeIsMadeOfWordsOfOneDraw) {
  const std::string text = body_of([] {
    (void)random<float>(), (void)random<double>(), (void)random<std::uint64_t>(), (void)random<bool>();
    (void)random_normal<float>(), (void)random_normal<double>();
  });
  EXPECT_THAT(text, testing::HasSubstr("philox.1"));
  EXPECT_THAT(text, testing::HasSubstr("math.cospi"));
}

}  // namespace
}  // namespace weir::test
