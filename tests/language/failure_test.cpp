// SPDX-License-Identifier: Apache-2.0
// Failures inside kernels, and their messages.
#include "support.hpp"

namespace weir::test {
namespace {

TEST(Asserts, SurfaceAtTheNextCallOnTheStreamWithMessageAndLine) {
  const Kernel kernel{"checked", [](View<float> x) {
                        range_for(x.size(), [&](Index i) {
                          assert_(x[i] >= 0, "depth is not negative");
                          x[i] = 7;
                        });
                      }};
  const int assertion = __LINE__ - 4;
  Stream stream = tested().create_stream();
  auto x = upload(std::vector<float>{1, -1, 2});
  kernel(stream, x);
  try {
    stream.synchronize();
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::assertion);
    EXPECT_EQ(error.kernel(), "checked");
    EXPECT_THAT(error.what(), testing::HasSubstr("depth is not negative"));
    EXPECT_THAT(error.what(), testing::HasSubstr("failure_test.cpp:" + std::to_string(assertion)));
  }
  EXPECT_THAT(x.to_host(stream), testing::ElementsAre(7, -1, 7));
}

TEST(Asserts, ThatHoldSayNothing) {
  const Kernel kernel{"holds", [](View<float> x) { assert_(x.size() == 3, "three"); }};
  auto x = tested().array<float>(3);
  kernel(x);
  EXPECT_NO_THROW(tested().synchronize());
}

// A launch whose other iterations still fail when its failure is reported does not report another one, and
// launches after the report do report theirs.
TEST(Asserts, ALaunchReportsOneFailure) {
  const auto failing = [](const char* name, const char* message) {
    return Kernel{name, with_constants([message](View<float> x) {
                    range_for(x.size(), [&](Index i) {
                      assert_(x[i] > 0, message);
                      x[i] += 1;
                    });
                  })};
  };
  const Kernel first = failing("first", "first is positive"),
               second = failing("second", "second is positive");
  const Kernel nothing{"nothing", [](View<float> x) { range_for(x.size(), [&](Index i) { x[i] = -1; }); }};
  const Stream stream = tested().create_stream();
  const auto x = tested().array<float>(stream, 200'000);
  const auto thrown_by_query = [&] {
    return error_of([&] {
      while (!stream.query()) {
      }
    });
  };
  for (int round = 0; round < 20; ++round) {
    nothing(stream, x);
    stream.synchronize();
    first(stream, x);
    ASSERT_THAT(thrown_by_query(), testing::HasSubstr("first is positive"));
    ASSERT_NO_THROW(nothing(stream, x));
    ASSERT_NO_THROW(stream.synchronize()) << "round " << round;
    first(stream, x);
    ASSERT_THAT(thrown_by_query(), testing::HasSubstr("first is positive"));
    second(stream, x);
    ASSERT_THAT(error_of([&] { stream.synchronize(); }), testing::HasSubstr("second is positive"));
    ASSERT_NO_THROW(stream.synchronize());
  }
}

TEST(Bounds, OutsideAnArrayFailTheLaunchWhenChecked) {
  const Kernel kernel{"outside",
                      [](View<float> x, Index i) { x[i] = 1; },
                      {.check_bounds = true, .parameter_names = {"x", "i"}}};
  auto x = tested().array<float>(3);
  Stream stream = tested().create_stream();
  kernel(stream, x, std::int64_t{3});
  EXPECT_THAT(error_of([&] { stream.synchronize(); }), testing::HasSubstr("outside"));
  kernel(stream, x, std::int64_t{-1});
  EXPECT_THAT(error_of([&] { stream.synchronize(); }), testing::HasSubstr("failure_test.cpp"));
  kernel(stream, x, std::int64_t{2});
  EXPECT_NO_THROW(stream.synchronize());
}

}  // namespace
}  // namespace weir::test
