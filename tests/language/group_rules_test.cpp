// SPDX-License-Identifier: Apache-2.0
// Group loops: what is refused, what runs once for the whole group, and debugged launches.
#include <optional>
#include <weir/program.hpp>

#include "support.hpp"

namespace weir::test {
namespace {

std::string refusal(void (*body)(View<float>)) {
  return error_of([&] { Kernel kernel("refused", body); });
}

TEST(GroupsRefused, BarrierInABranchThatDiffersBetweenThreads) {
  EXPECT_THAT(
      refusal([](View<float> x) {
        group_for(groups(x.size() / 32), threads<32>,
                  [&](Index, Index t) { if_(t < 7, [&] { barrier(); }); });
      }),
      testing::AllOf(testing::HasSubstr("'barrier' is reached by all threads of a group or by none, found it "
                                        "in the 'if' at "),
                     testing::HasSubstr("group_rules_test.cpp"),
                     testing::HasSubstr("may differ between threads")));
}

TEST(GroupsRefused, BarrierAfterABreakThatDiffers) {
  EXPECT_THAT(refusal([](View<float> x) {
                group_for(groups(x.size() / 32), threads<32>, [&](Index, Index t) {
                  for_(0, 10, [&](Index i) {
                    if_(x[t] > 0.0f, [&] { break_(); });
                    barrier();
                    x[t] = cast<float>(i);
                  });
                });
              }),
              testing::HasSubstr("found it in the 'if'"));
}

TEST(GroupsRefused, LoopWhoseBoundItsBodyWrites) {
  EXPECT_THAT(refusal([](View<float> x) {
                group_for(groups(x.size() / 32), threads<32>, [&](Index, Index) {
                  for_(0, cast<std::int64_t>(x[0]), [&](Index) {
                    barrier();
                    x[0] = 1.0f;
                  });
                });
              }),
              testing::HasSubstr("found it in the 'for'"));
}

TEST(GroupsRefused, BarrierOutsideOfAGroupLoop) {
  EXPECT_THAT(refusal([](View<float> x) { range_for(x.size(), [&](Index) { barrier(); }); }),
              testing::HasSubstr("'barrier' belongs in a group loop"));
}

TEST(GroupsRefused, SharedMemoryPastTheLimit) {
  EXPECT_THAT(refusal([](View<float> x) {
                group_for(groups(1), threads<32>, [&](Index, Index t) {
                  Shared<float, 16384> s;
                  s[t] = x[t];
                });
              }),
              testing::HasSubstr("share at most 49152 bytes, found 65536"));
}

TEST(GroupsRefused, SharedMemoryInABranch) {
  EXPECT_THAT(refusal([](View<float> x) {
                group_for(groups(1), threads<32>, [&](Index, Index t) {
                  if_(t < 3, [&] {
                    Shared<float, 16> s;
                    s[t] = x[t];
                  });
                });
              }),
              testing::HasSubstr("shared memory is declared directly in the body of a group loop"));
}

TEST(GroupsRefused, GroupLoopInsideALoop) {
  EXPECT_THAT(
      refusal([](View<float> x) {
        range_for(4, [&](Index) { group_for(groups(1), threads<32>, [&](Index, Index t) { x[t] = 1.0f; }); });
      }),
      testing::HasSubstr("group_for is inside the range_for"));
}

TEST(GroupsRefused, WidthThatDoesNotDivideTheGroup) {
  EXPECT_THAT(
      refusal([](View<float> x) {
        group_for(groups(1), threads<24>, [&](Index, Index t) { x[t] = shuffle<16>(x[t], 3); });
      }),
      testing::HasSubstr("the width of a sub-group divides the number of threads of a group, found width 16 "
                         "and 24 threads"));
}

/// Runs IR text, with statements that run once for the whole group between those of threads.
template <class T>
std::vector<T> run_text(const char* text, const std::vector<T>& y, std::optional<std::int64_t> scalar = {}) {
  const Stream stream = tested().create_stream();
  const Array<T> array = tested().array<T>(stream, std::int64_t(y.size()));
  array.copy_from(stream, std::span<const T>(y));
  std::vector<LaunchArgument> arguments{{&array, nullptr, {}}};
  if (scalar) arguments.push_back({nullptr, &*scalar, {ScalarType::i64}});
  try {
    Program::parse(text).launch(stream, arguments);
    stream.synchronize();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::assertion) << error.what();
  }
  return array.to_host(stream);
}

TEST(GroupsOnce, AThreadThatEndedInALoopOfItsGroupDoesNotGoOn) {
  const std::vector<std::int32_t> y = run_text(R"(weir-ir 1
kernel "a"
  param @y : array<i32, 1>
{
  %z = const 0 : i64
  %g1 = const 1 : i64
  %n = const 8 : i64
  %four = const 4 : i64
  parallel (%g, %t) in (%z to %g1, %z to %n) group 8 {
    for %i = %z to %four step %g1 {
      barrier
      %ok = ne %i, %t : bool
      %old = load @y[%t] : i32
      %one = const 1 : i32
      assert %ok, "x"
      %new = add %old, %one : i32
      store @y[%t], %new
    }
  }
}
)",
                                               std::vector<std::int32_t>(8));
  EXPECT_EQ(y, (std::vector<std::int32_t>{0, 1, 2, 3, 4, 4, 4, 4}));
}

TEST(GroupsOnce, LocalArraysAreCheckedAfterStatementsOfThreads) {
  const char* text = R"(weir-ir 1
kernel "c" check_bounds
  param @y : array<f32, 1>
  param @k : i64
{
  %z = const 0 : i64
  %g1 = const 1 : i64
  %n = const 8 : i64
  %k = arg @k : i64
  parallel (%g, %t) in (%z to %g1, %z to %n) group 8 {
    local $w : f32[4]
    %two = const 2.0 : f32
    store @y[%t], %two
    barrier
    set $w[%k], %two
    %v = get $w[%k] : f32
    store @y[%t], %v
  }
}
)";
  EXPECT_EQ(run_text(text, std::vector<float>(8), 3), std::vector<float>(8, 2));
  EXPECT_EQ(run_text(text, std::vector<float>(8), 4),
            std::vector<float>(8, 2));  // fails after the first store
}

TEST(GroupsOnce, AnEarlyEndOfAllThreadsEndsLoopsOfTheGroup) {
  const char* text = R"(weir-ir 1
kernel "h"
  param @y : array<f32, 1>
  param @s : i64
{
  %z = const 0 : i64
  %one = const 1 : i64
  %n = const 8 : i64
  %s = arg @s : i64
  parallel (%g, %t) in (%z to %one, %z to %n) group 8 {
    %bad = le %s, %z : bool
    if %bad { continue }
    local $i : i64
    while {
      %c = get $i : i64
      %m = lt %c, %n : bool
      yield %m
    } do {
      barrier
      %c2 = get $i : i64
      %c3 = add %c2, %s : i64
      set $i, %c3
    }
    %f = const 1.0 : f32
    store @y[%t], %f
  }
}
)";
  EXPECT_EQ(run_text(text, std::vector<float>(8, 5), 0), std::vector<float>(8, 5));
  EXPECT_EQ(run_text(text, std::vector<float>(8, 5), 3), std::vector<float>(8, 1));
}

TEST(GroupsOnce, ValuesFromBeforeTheLoopMayGuardBarriers) {
  EXPECT_EQ(run_text(R"(weir-ir 1
kernel "e"
  param @y : array<i32, 1>
  param @k : i64
{
  %z = const 0 : i64
  %g1 = const 1 : i64
  %n = const 8 : i64
  %k = arg @k : i64
  local $a : i64[4]
  set $a[%g1], %k
  parallel (%g, %t) in (%z to %g1, %z to %n) group 8 {
    %m = get $a[%g1] : i64
    for %i = %z to %m step %g1 {
      barrier
      %old = load @y[%t] : i32
      %one = const 1 : i32
      %new = add %old, %one : i32
      store @y[%t], %new
    }
  }
}
)",
                     std::vector<std::int32_t>(8), 3),
            std::vector<std::int32_t>(8, 3));
}

/// Each thread reads the element that its neighbour wrote.
Kernel<void(View<std::int32_t>)> neighbours(bool with_barrier) {
  return Kernel{"neighbours",
                with_constants([with_barrier](View<std::int32_t> x) {
                  group_for(groups(x.size() / 32), threads<32>, [&](Index g, Index t) {
                    Shared<std::int32_t, 32> s;
                    s[t] = x[g * 32 + t];
                    if (with_barrier) barrier();
                    Value v = s[(t + 1) % 32];
                    barrier();
                    x[g * 32 + (t + 1) % 32] = v + 1;  // written by another thread than the one that read it
                  });
                }),
                {.debug = true}};
}

std::string failure_of(const Kernel<void(View<std::int32_t>)>& kernel, const Array<std::int32_t>& x) {
  try {
    kernel(x);
    tested().synchronize();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(GroupsDebugged, BarriersSeparateAccesses) {
  const auto x = tested().array<std::int32_t>(128);
  x.fill(3);
  EXPECT_EQ(failure_of(neighbours(true), x), "");
  EXPECT_EQ(x.to_host(), std::vector<std::int32_t>(128, 4));
}

TEST(GroupsDebugged, AMissingBarrierIsFound) {
  const auto x = tested().array<std::int32_t>(128);
  x.fill(3);
  EXPECT_THAT(failure_of(neighbours(false), x),
              testing::AnyOf(testing::HasSubstr("race on element"), testing::HasSubstr("before a thread")));
}

/// Each thread reads the element of its sub-group's thread `by` positions further, in sub-groups of 16
/// threads, after a barrier of sub-groups of `Width`.
template <std::uint32_t Width>
Kernel<void(View<std::int32_t>)> within_subgroups(std::int32_t by) {
  return Kernel{"within_subgroups",
                with_constants([by](View<std::int32_t> x) {
                  group_for(groups(x.size() / 32), threads<32>, [&](Index g, Index t) {
                    Shared<std::int32_t, 32> s;
                    const Index other = t / 16 * 16 + (t + by) % 16;
                    Var<std::int32_t> v = x[g * 32 + t];
                    for (int round = 0; round < 3; ++round) {
                      s[t] = v + 1;
                      subgroup_barrier<Width>();
                      v = s[other];
                      subgroup_barrier<Width>();
                    }
                    x[g * 32 + t] = v;
                  });
                }),
                {.debug = true}};
}

TEST(GroupsDebugged, BarriersOfSubgroupsSeparateTheAccessesOfTheirThreadsOnly) {
  const auto x = tested().array<std::int32_t>(128);
  x.fill(3);
  EXPECT_EQ(failure_of(within_subgroups<16>(15), x), "");
  EXPECT_EQ(x.to_host(), std::vector<std::int32_t>(128, 6));
  EXPECT_EQ(failure_of(within_subgroups<32>(7), x), "");
  EXPECT_EQ(failure_of(within_subgroups<8>(0), x), "");
  EXPECT_THAT(failure_of(within_subgroups<8>(8), x),
              testing::AnyOf(testing::HasSubstr("race on element"), testing::HasSubstr("before a thread")));
  EXPECT_THAT(failure_of(within_subgroups<1>(1), x),
              testing::AnyOf(testing::HasSubstr("race on element"), testing::HasSubstr("before a thread")));
}

// Sub-groups 0 and 1 have read the element; a barrier of sub-group 0 does not order it after sub-group 1.
TEST(GroupsDebugged, RacesWithOneOfSeveralReadersAreFound) {
  const auto x = tested().array<std::int32_t>(64);
  x.fill(3);
  const auto writes = [&](std::int32_t reader) {
    return Kernel{"writes",
                  with_constants([reader](View<std::int32_t> x) {
                    group_for(groups(1), threads<64>, [&](Index, Index t) {
                      Shared<std::int32_t, 1> s;
                      if_(t == 0, [&] { s[0] = 1; });
                      barrier();
                      if_((t < 8) | (t == reader), [&] { x[t] = s[0]; });
                      subgroup_barrier<8>();
                      if_(t == 2, [&] { s[0] = 2; });
                    });
                  }),
                  {.debug = true}};
  };
  EXPECT_EQ(failure_of(writes(7), x), "");
  for (const std::int32_t reader : {8, 16, 63})
    EXPECT_THAT(failure_of(writes(reader), x), testing::HasSubstr("race on element 0 of a shared array"));
}

// As in an array: any integers, whose position in the source a failure names.
TEST(Groups, SharedArraysOfSeveralDimensionsTakeAnyIntegers) {
  const auto kernel = [](bool debug) {
    return Kernel{"indices",
                  [](View<std::int32_t> x, Value<std::int32_t> n, Value<std::int32_t> m) {
                    group_for(groups(1), threads<8>, [&](Index, Index t) {
                      Shared<std::int32_t, 4, 2> s;
                      s(t / 2, cast<std::int32_t>(t) % 2) = cast<std::int32_t>(t);
                      barrier();
                      x[t] = s(n, m);
                    });
                  },
                  {.check_bounds = !debug, .debug = debug}};
  };
  const auto x = tested().array<std::int32_t>(8);
  for (const bool debug : {false, true}) {
    kernel(debug)(x, 3, 1);
    EXPECT_EQ(x.to_host(), std::vector<std::int32_t>(8, 7));
    struct Case {
      std::int32_t n, m;
      const char* words;
    };
    // (0, 3) and (2, -1) are at places of other elements.
    for (const Case& c : {Case{4, 1, "first dimension of a Shared array: it must be 0 to 3"},
                          Case{0, 3, "second dimension of a Shared array: it must be 0 to 1"},
                          Case{2, -1, "second dimension"}}) {
      const Error error = thrown_by([&] {
        kernel(debug)(x, c.n, c.m);
        tested().synchronize();
      });
      EXPECT_THAT(error.what(),
                  testing::AllOf(testing::HasSubstr(c.words), testing::HasSubstr("group_rules_test.cpp")));
    }
  }
  EXPECT_THAT(refusal([](View<float> x) {
                group_for(groups(1), threads<8>, [&](Index, Index t) {
                  Shared<float, 4, 2> s;
                  s(1, t) = x[t];
                  s(4, 0) = x[t];
                });
              }),
              testing::HasSubstr("index 4 is outside this dimension of the Shared, which has 4 elements"));
}

// A CPU keeps the variables of all threads of a group.
TEST(Groups, LargeLocalArraysAreRefusedWithTheirSize) {
  if (tested().driver() != "cpu") GTEST_SKIP() << "for the CPU driver";
  const Kernel kernel{"large", [](View<double> x) {
                        group_for(groups(1), threads<1024>, [&](Index, Index t) {
                          LocalArray<double, 1000> own;
                          own[t % 1000] = 1;
                          barrier();
                          x[t] = own[t % 1000];
                        });
                      }};
  const auto x = tested().array<double>(1024);
  EXPECT_THAT(thrown_by([&] { kernel(x); }).what(),
              testing::HasSubstr("the local arrays of all threads of a group take 8"));
}

TEST(GroupsDebugged, RacesBetweenGroupsAndUnwrittenElementsAndFailuresAreFound) {
  const auto x = tested().array<std::int32_t>(128);
  x.fill(3);
  const Kernel races{"races",
                     [](View<std::int32_t> x) {
                       group_for(groups(4), threads<32>, [&](Index, Index t) {
                         barrier();
                         x[t] = 1;
                       });
                     },
                     {.debug = true}};
  EXPECT_THAT(failure_of(races, x), testing::HasSubstr("race on "));
  EXPECT_THAT(failure_of(races, x), testing::HasSubstr("iteration (1, 0) writes it, iteration (0, 0)"));
  const Kernel unwritten{"unwritten",
                         [](View<std::int32_t> x) {
                           group_for(groups(4), threads<32>, [&](Index g, Index t) {
                             Shared<std::int32_t, 32> s;
                             if_(t < 31, [&] { s[t] = 1; });
                             barrier();
                             x[g * 32 + t] = s[t];
                           });
                         },
                         {.debug = true}};
  EXPECT_THAT(
      failure_of(unwritten, x),
      testing::HasSubstr("element 31 of a shared array is read before a thread of the group has written it"));
  const Kernel outside{"outside",
                       [](View<std::int32_t> x) {
                         group_for(groups(4), threads<32>, [&](Index g, Index t) {
                           barrier();
                           x[g * 32 + t + 1] = 1;
                         });
                       },
                       {.debug = true}};
  EXPECT_THAT(failure_of(outside, x), testing::HasSubstr("in the iteration (3, 31)"));
}

}  // namespace
}  // namespace weir::test
