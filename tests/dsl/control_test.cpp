// SPDX-License-Identifier: Apache-2.0
// Loops and branches: the recorded statements, the permitted places, and the messages for other places.
#include "traced.hpp"

namespace weir::test {
namespace {

TEST(Loops, AtTheTopAreParallel) {
  EXPECT_EQ(body_of([](View<float> x) { range_for(x.size(), [&](Index i) { x[i] = 1; }); }),
            "  %0 = extent @p0, 0 : i64\n"
            "  %1 = const 0 : i64\n"
            "  parallel (%2) in (%1 to %0) {\n"
            "    %3 = const 1 : f32\n"
            "    store @p0[%2], %3\n"
            "  }\n");
}

TEST(Loops, HaveUpToFourRangesWithBoundsOfAnyKind) {
  const std::string text = body_of([](View<float, 4> x, Index n, Value<std::int32_t> m) {
    const Range rows = range(n, 9);
    range_for(rows, n, rows, rows, [&](Index i, Index j, Index k, Index l) { x(i, j, k, l) = 1; });
    range_for(m, [&](Index i) { x(i, i, i, i) = 1; });
  });
  EXPECT_THAT(text,
              testing::HasSubstr("parallel (%4, %5, %6, %7) in (%0 to %2, %3 to %0, %0 to %2, %0 to %2) {"));
  EXPECT_THAT(text, testing::HasSubstr("= cast %1 : i64\n"));
}

// proves R12
TEST(Loops, TakeBoundsThatAreLoadedOnTheDevice) {
  EXPECT_EQ(body_of([](View<std::int32_t> n, View<float> x) { range_for(n[0], [&](Index i) { x[i] = 1; }); }),
            "  %0 = const 0 : i64\n"
            "  %1 = const 0 : i64\n"
            "  %2 = load @p0[%0] : i32\n"
            "  %3 = cast %2 : i64\n"
            "  parallel (%4) in (%1 to %3) {\n"
            "    %5 = const 1 : f32\n"
            "    store @p1[%4], %5\n"
            "  }\n");
}

TEST(Loops, InsideOthersAreSequentialAndNested) {
  EXPECT_EQ(body_of([](View<float, 2> x, Index n) {
              range_for(n, [&](Index i) { range_for(n, n, [&](Index j, Index) { x(i, j) = 1; }); });
            }),
            "  %0 = arg @p1 : i64\n"
            "  %1 = const 0 : i64\n"
            "  parallel (%2) in (%1 to %0) {\n"
            "    %3 = const 0 : i64\n"
            "    %4 = const 0 : i64\n"
            "    %5 = const 1 : i64\n"
            "    for %6 = %3 to %0 step %5 {\n"
            "      for %7 = %4 to %0 step %5 {\n"
            "        %8 = const 1 : f32\n"
            "        store @p0[%2, %6], %8\n"
            "      }\n"
            "    }\n"
            "  }\n");
}

TEST(Loops, ForHasAStep) {
  EXPECT_EQ(body_of([](View<float> x, Index n) {
              for_(n, n, n, [&](Index i) {
                x[i] = 1;
                break_();
              });
            }),
            "  %0 = arg @p1 : i64\n"
            "  for %1 = %0 to %0 step %0 {\n"
            "    %2 = const 1 : f32\n"
            "    store @p0[%1], %2\n"
            "    break\n"
            "  }\n");
}

TEST(Loops, WhileEvaluatesItsConditionOnEveryTurn) {
  EXPECT_EQ(body_of([](Value<float> a) {
              Var<float> v = a;
              while_([&] { return v < a; }, [&] { v = a; });
            }),
            "  %0 = arg @p0 : f32\n"
            "  local $0 : f32\n"
            "  set $0, %0\n"
            "  while {\n"
            "    %1 = get $0 : f32\n"
            "    %2 = lt %1, %0 : bool\n"
            "    yield %2\n"
            "  } do {\n"
            "    set $0, %0\n"
            "  }\n");
}

TEST(Branches, IfElse) {
  EXPECT_EQ(body_of([](View<float> x, Value<bool> c) {
              if_(c, [&] { x[0] = 1; }).else_([&] { x[0] = 2; });
              if_(c, [&] { x[0] = 3; });
            }),
            "  %0 = arg @p1 : bool\n"
            "  if %0 {\n"
            "    %1 = const 0 : i64\n"
            "    %2 = const 1 : f32\n"
            "    store @p0[%1], %2\n"
            "  } else {\n"
            "    %3 = const 0 : i64\n"
            "    %4 = const 2 : f32\n"
            "    store @p0[%3], %4\n"
            "  }\n"
            "  if %0 {\n"
            "    %5 = const 0 : i64\n"
            "    %6 = const 3 : f32\n"
            "    store @p0[%5], %6\n"
            "  }\n");
}

TEST(Branches, ElseIfEvaluatesItsConditionOnlyWhenItIsReached) {
  EXPECT_EQ(body_of([](View<float> x, View<bool> c, Index i) {
              if_(c[i], [&] { x[i] = 1; })
                  .else_if(c[i], [&] { x[i] = 2; })
                  .else_if(c[i], [&] { x[i] = 3; })
                  .else_([&] { x[i] = 4; });
            }),
            "  %0 = arg @p2 : i64\n"
            "  %1 = load @p1[%0] : bool\n"
            "  if %1 {\n"
            "    %2 = const 1 : f32\n"
            "    store @p0[%0], %2\n"
            "  } else {\n"
            "    %3 = load @p1[%0] : bool\n"
            "    if %3 {\n"
            "      %4 = const 2 : f32\n"
            "      store @p0[%0], %4\n"
            "    } else {\n"
            "      %5 = load @p1[%0] : bool\n"
            "      if %5 {\n"
            "        %6 = const 3 : f32\n"
            "        store @p0[%0], %6\n"
            "      } else {\n"
            "        %7 = const 4 : f32\n"
            "        store @p0[%0], %7\n"
            "      }\n"
            "    }\n"
            "  }\n");
}

TEST(Branches, ElseMustFollowItsIf) {
  const std::string text = refusal([](View<float> x, Value<bool> c) {
    auto branch = if_(c, [&] { x[0] = 1; });
    x[1] = 2;
    branch.else_([&] { x[0] = 2; });
  });
  EXPECT_THAT(text, testing::HasSubstr(line(-2) + ": else_ does not follow its if_ directly"));
}

TEST(Branches, OneIfHasOneElse) {
  const std::string text = refusal([](View<float> x, Value<bool> c) {
    const auto branch = if_(c, [&] { x[0] = 1; });
    branch.else_([&] { x[0] = 2; });
    branch.else_([&] { x[0] = 3; });
  });
  const std::string place = line(-2);
  const int branch = __LINE__ - 5;
  EXPECT_THAT(
      text, testing::HasSubstr(place + ": a second else_ follows the if_ at line " + std::to_string(branch)));
}

TEST(Jumps, BelongInsideLoops) {
  EXPECT_THAT(refusal([] { break_(); }), testing::HasSubstr(line(0) + ": break_ is outside any loop"));
  EXPECT_THAT(refusal([] { continue_(); }), testing::HasSubstr(line(0) + ": continue_ is outside any loop"));
}

TEST(Jumps, BreakCannotLeaveAParallelLoop) {
  const std::string text = refusal([](View<float> x) {
    range_for(x.size(), [&](Index i) {
      x[i] = 1;
      if_(x[i] > 0, [&] { break_(); });
    });
  });
  const std::string jump = line(-3), loop = line(-5);
  EXPECT_THAT(text, testing::HasSubstr(jump + ": break_ cannot leave the range_for at " + loop));
  EXPECT_THAT(text, testing::HasSubstr("use continue_() to end this iteration, or a for_ loop"));
}

TEST(Jumps, BreakLeavesASequentialLoopOverOneRangeOnly) {
  EXPECT_THAT(body_of([](View<float> x) {
                range_for(x.size(),
                          [&](Index i) { range_for(9, [&](Index) { if_(x[i] > 0, [&] { break_(); }); }); });
              }),
              testing::HasSubstr("break\n"));
  std::string text = refusal([](View<float> x) {
    for_(0, 3, [&](Index) { for_(0, x.size(), [&](Index i) { x[i] = 1; }); });
    range_for(x.size(),
              [&](Index i) { range_for(3, 4, [&](Index, Index) { if_(x[i] > 0, [&] { break_(); }); }); });
  });
  // Outside the macro, whose arguments are numbered differently by compilers.
  const std::string nested = line(-3);
  EXPECT_THAT(text,
              testing::HasSubstr(nested + ": break_ cannot leave the range_for over several ranges at " +
                                 nested + ": use continue_() to end this iteration, or for_ loops"));
  text = refusal([](View<float> x) {
    range_for(x.size(), [&](Index i) {
      x[i] = reduce_sum(9, [&](Index j) {
        if_(j == 3, [&] { break_(); });
        return x[j];
      });
    });
  });
  EXPECT_THAT(text, testing::HasSubstr(line(-5) + ": break_ cannot leave the reduction at " + line(-6)));
}

TEST(Jumps, AreNotInConditions) {
  const std::string text = refusal([](View<float> x) {
    for_(0, 9, [&](Index i) {
      while_(
          [&] {
            continue_();
            return x[i] > 0;
          },
          [&] { x[i] = 0; });
    });
  });
  const std::string jump = line(-6), loop = line(-8);
  EXPECT_THAT(text, testing::HasSubstr(jump + ": continue_ is in the condition of the while_ at " + loop +
                                       ": it belongs in the body"));
}

TEST(Branches, TheConditionOfElseIfHasNoReduction) {
  const std::string text = refusal([](View<float> x) {
    range_for(x.size(), [&](Index i) {
      if_(x[i] > 0, [&] { x[i] = 1; }).else_if(reduce_any(9, [&](Index j) { return x[j] > 1; }), [&] {
        x[i] = 2;
      });
    });
  });
  const std::string message =
      "the condition of else_if has a branch, a loop, a reduction or a local variable";
  EXPECT_THAT(text, testing::HasSubstr(line(-7) + ": " + message));
  EXPECT_EQ(text.find(message), text.rfind(message)) << text;
}

TEST(Jumps, ContinueEndsAnIterationOfAParallelLoop) {
  EXPECT_THAT(body_of([](View<float> x) {
                range_for(x.size(), [&](Index i) {
                  if_(x[i] > 0, [&] { continue_(); });
                  x[i] = 1;
                });
              }),
              testing::HasSubstr("continue\n"));
}

TEST(ForLoops, RefuseAConstantStepThatWouldNeverRun) {
  const std::string text = refusal([](View<float> x) {
    range_for(x.size(), [&](Index i) {
      for_(9, -1, -1, [&](Index k) { x[i] = x[k]; });
      for_(0, 9, 0, [&](Index k) { x[i] = x[k]; });
    });
  });
  const std::string down = line(-4), nowhere = line(-3);
  EXPECT_THAT(text, testing::HasSubstr(down + ": the step of for_ is -1, so that the loop would never run"));
  EXPECT_THAT(text, testing::HasSubstr(nowhere + ": the step of for_ is 0, so that the loop would never run"));
  EXPECT_THAT(text, testing::HasSubstr("as in n - 1 - k"));
}

TEST(ForLoops, TakeAStepThatIsKnownAtTheLaunchOnly) {
  EXPECT_THAT(body_of([](View<float> x, Value<int> step) {
                range_for(x.size(), [&](Index i) { for_(0, 9, step, [&](Index k) { x[i] = x[k]; }); });
              }),
              testing::HasSubstr("step "));
}

// proves R27
TEST(Jumps, StatementsAfterABreakAreDropped) {
  EXPECT_EQ(body_of([](View<float> x) {
              for_(0, 9, [&](Index i) {
                break_();
                Var<float> v = x[i];
                if_(v > 0, [&] { v = 2; }).else_([&] { x[i] = v; });
              });
              x[0] = 1;
            }),
            body_of([](View<float> x) {
              for_(0, 9, [&](Index) { break_(); });
              x[0] = 1;
            }));
}

// proves R27
TEST(Jumps, StatementsAfterAContinueAreDropped) {
  const auto skip = [] { continue_(); };  // C++ is the macro language, helpers may end an iteration
  EXPECT_EQ(body_of(with_constants([&](View<float> x) {
              range_for(x.size(), [&](Index i) {
                x[i] = 1;
                skip();
                x[i] = 2;
              });
            })),
            body_of([](View<float> x) {
              range_for(x.size(), [&](Index i) {
                x[i] = 1;
                continue_();
              });
            }));
}

TEST(Jumps, AReductionMayEndInAContinue) {
  EXPECT_THAT(body_of([](View<float> x) {
                x[0] = reduce_sum(x.size(), [&](Index i) {
                  continue_();
                  return x[i] + 1;
                });
              }),
              testing::HasSubstr("{\n    continue\n  }"));
}

TEST(Asserts, CarryTheirMessageAndLine) {
  const ir::Kernel kernel = traced([](View<float> x) {
    assert_(x.size() > 0, "x holds something");
    assert_(x.size() > 1, "x holds something");
  });
  EXPECT_THAT(kernel.strings, testing::ElementsAre("x holds something"));
  EXPECT_EQ(kernel.body.statements.back().location.line, static_cast<std::uint32_t>(__LINE__ - 3));
}

TEST(Functions, AreWrittenIntoTheirCaller) {
  Function twice{"twice", [](Value<float> a) { return a + a; }};
  auto thrice = [](Value<float> a) { return a + a + a; };
  Function reset{"reset", [](Var<float>& v) { v = 0; }};
  EXPECT_EQ(body_of(with_constants([&](View<float> x, Index i) {
              x[i] = twice(x[i]);
              const Value more = thrice(x[i]);
              x[i] = more;
              Var<float> v = x[i];
              reset(v);
            })),
            "  %0 = arg @p1 : i64\n"
            "  %1 = load @p0[%0] : f32\n"
            "  %2 = add %1, %1 : f32\n"
            "  store @p0[%0], %2\n"
            "  %3 = load @p0[%0] : f32\n"
            "  %4 = add %3, %3 : f32\n"
            "  %5 = add %4, %3 : f32\n"
            "  store @p0[%0], %5\n"
            "  local $0 : f32\n"
            "  %6 = load @p0[%0] : f32\n"
            "  set $0, %6\n"
            "  %7 = const 0 : f32\n"
            "  set $0, %7\n");
}

}  // namespace
}  // namespace weir::test
