// SPDX-License-Identifier: Apache-2.0
// Values used outside their kernel, scope or thread, and kernels created in places where this is not allowed.
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>

#include "traced.hpp"

namespace weir::test {
namespace {

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Leaks, ValuesOfAnotherKernelAreRefusedWithBothLines) {
  std::optional<Value<float>> leaked;
  traced(with_constants([&](Value<float> a) { leaked.emplace(a + a); }), {}, "first");
  const int first = __LINE__ - 1;
  const std::string text = refusal(with_constants([&](View<float> x) { x[0] = *leaked; }));
  const std::string use = line(-1);
  EXPECT_THAT(text, testing::HasSubstr(use + ": a value of another kernel, 'first' (" +
                                       std::string(__FILE__) + ":" + std::to_string(first) + ")"));
  EXPECT_THAT(text, testing::HasSubstr("a kernel only computes with its own parameters"));
}

TEST(Leaks, ViewsAndVariablesOfAnotherKernelAreRefused) {
  std::optional<View<float>> view;
  std::unique_ptr<Var<float>> variable;
  traced(with_constants([&](View<float> x) {
           view.emplace(x);
           variable = std::make_unique<Var<float>>(1.0f);
         }),
         {}, "first");
  EXPECT_THAT(refusal(with_constants([&] { (*view)[0] = 1; })),
              testing::HasSubstr("an array of another kernel, 'first'"));
  EXPECT_THAT(refusal(with_constants([&] { (void)view->size(); })),
              testing::HasSubstr("an array of another kernel"));
  EXPECT_THAT(refusal(with_constants([&] { *variable = 1; })),
              testing::HasSubstr("a variable of another kernel, 'first'"));
  EXPECT_THAT(refusal(with_constants([&](View<float> x) { x[0] = *variable; })),
              testing::HasSubstr("a variable of another kernel, 'first'"));
}

TEST(Leaks, ValuesThatOutliveTheirLoopAreRefusedWithBothLines) {
  const std::string text = refusal([](View<float> x) {
    std::optional<Value<float>> last;
    range_for(x.size(), [&](Index i) { last.emplace(Value(x[i])); });
    x[0] = *last;
  });
  const std::string use = line(-2), made = line(-3);
  EXPECT_THAT(text, testing::HasSubstr(
                        use + ": a value made at " + made +
                        " is used after the loop or branch that it belongs to has ended: keep it in a Var"));
}

TEST(Leaks, VariablesThatOutliveTheirBranchAreRefused) {
  const std::string text = refusal([](View<float> x, Value<bool> c) {
    Var<float>* inner = nullptr;
    if_(c, [&] { inner = new Var<float>(1.0f); });
    const std::unique_ptr<Var<float>> owner(inner);
    *inner = 2;
    x[0] = *inner;
  });
  const std::string made = line(-5), assigned = line(-3), read = line(-2);
  EXPECT_THAT(text, testing::HasSubstr(assigned + ": a variable made at " + made + " is assigned after"));
  EXPECT_THAT(text, testing::HasSubstr(read + ": a variable made at " + made + " is read after"));
}

TEST(Leaks, VariablesOutsideAParallelLoopAreNotAssignedInIt) {
  const std::string text = refusal([](View<float> x) {
    Var<float> sum = 0;
    range_for(x.size(), [&](Index i) { sum += x[i]; });
  });
  const std::string made = line(-3), loop = line(-2);
  EXPECT_THAT(text, testing::HasSubstr(loop + ": the variable made at " + made +
                                       " is assigned inside the range_for at " + loop));
  EXPECT_THAT(text, testing::HasSubstr("use a reduction or an atomic on an array"));
}

TEST(Leaks, VariablesOutsideAParallelLoopAreReadInIt) {
  EXPECT_THAT(body_of([](View<float> x) {
                Var<float> sum = 0;
                sum += 1;
                range_for(x.size(), [&](Index i) { x[i] = sum; });
              }),
              testing::HasSubstr("parallel"));
}

TEST(Leaks, ValuesOutsideAnyKernelAreRefused) {
  std::optional<Value<float>> leaked;
  traced(with_constants([&](Value<float> a) { leaked.emplace(a); }), {}, "first");
  const std::string text = error_of([&] { (void)(*leaked + 1); });
  const std::string place = line(-1);
  EXPECT_THAT(text, testing::AllOf(testing::StartsWith(place), testing::HasSubstr("used outside a kernel")));
  EXPECT_THAT(error_of([] { Var<float> v; }),
              testing::HasSubstr("a Var or LocalArray was used outside a kernel"));
  EXPECT_THAT(error_of([] { stream_parallel([] {}); }),
              testing::HasSubstr("stream_parallel was used outside a kernel"));
  EXPECT_THAT(error_of([] { range_for(10, [](Index) {}); }),
              testing::StartsWith(line(0) + ": range_for was used outside a kernel"));
  EXPECT_THAT(error_of([] { for_(0, 10, [](Index) {}); }),
              testing::StartsWith(line(0) + ": for_ was used outside a kernel"));
  EXPECT_THAT(error_of([] { (void)reduce_sum(10, [](Index i) { return i; }); }),
              testing::StartsWith(line(0) + ": a reduction was used outside a kernel"));
  EXPECT_THAT(error_of([] { (void)range(0, 10); }),
              testing::StartsWith(line(0) + ": range() was used outside a kernel"));
}

TEST(Leaks, TracingIsPerThread) {
  std::string other;
  const ir::Kernel kernel = traced(with_constants([&](View<float> x) {
    std::thread([&] { other = error_of([&] { x[0] = 1; }); }).join();
    std::thread([&] { (void)traced([](View<float> y) { y[0] = 2; }, {}, "beside"); }).join();
    x[1] = 1;
  }));
  EXPECT_THAT(other, testing::HasSubstr("outside a kernel"));
  EXPECT_EQ(kernel.body.statements.size(), 3u);
}

TEST(Nesting, AKernelIsNotMadeInsideAnother) {
  const std::string text = error_of([] { traced([] { traced([] {}, {}, "inner"); }, {}, "outer"); });
  const std::string place = line(-1);
  EXPECT_EQ(text, place + ": kernel 'inner' is made inside kernel 'outer', which began at " + place +
                      ": make it before that kernel, or call a function instead");
}

TEST(Nesting, WhatTheLambdaThrowsIsPassedOnAndLeavesNoTrace) {
  EXPECT_THROW(
      traced([](View<float> x) { range_for(x.size(), [&](Index) { throw std::runtime_error("mine"); }); }),
      std::runtime_error);
  EXPECT_THAT(error_of([] { Var<float> v; }), testing::HasSubstr("outside a kernel"));
  EXPECT_NO_THROW(traced([](View<float> x) { x[0] = 1; }));
}

TEST(Nesting, AnExceptionCaughtInTheLambdaClosesWhatItLeft) {
  EXPECT_EQ(body_of([](View<float> x, Value<bool> c, Index i, Value<float> a) {
              try {
                if_(c, [&] { for_(i, i, i, [&](Index) { throw 1; }); });
              } catch (int) {
              }
              x[i] = a;
            }),
            "  %0 = arg @p1 : bool\n"
            "  %1 = arg @p2 : i64\n"
            "  %2 = arg @p3 : f32\n"
            "  if %0 {\n"
            "    for %3 = %1 to %1 step %1 {\n"
            "    }\n"
            "  }\n"
            "  store @p0[%1], %2\n");
}

TEST(Nesting, AnExceptionCaughtInTheLambdaLeavesNoConditionOrReductionWithoutAValue) {
  const std::string words =
      ": an exception that the kernel's lambda caught left this condition or reduction without a value: "
      "catch it inside, or let it leave the lambda";
  const auto caught = [](auto statement) {
    return refusal(with_constants([&](View<float> x) {
      try {
        statement(x);
      } catch (int) {
      }
      x[0] = 1;
    }));
  };
  // Without its condition, the loop would not end.
  std::string text =
      caught([](auto& x) { repeat_while([]() -> Value<bool> { throw 1; }, [&] { x[0] = 2; }); });
  EXPECT_THAT(text, testing::HasSubstr(line(-1) + words));
  text = caught([](auto&) { range_for(9, [](Index) { while_([]() -> Value<bool> { throw 1; }, [] {}); }); });
  EXPECT_THAT(text, testing::HasSubstr(line(-1) + words));
  text = caught([](auto& x) { reduce_sum(x.size(), [](Index) -> Value<float> { throw 1; }); });
  EXPECT_THAT(text, testing::HasSubstr(line(-1) + words));
}

TEST(Captures, WithConstantsReadsThemWhenTheKernelIsBuilt) {
  float k = 2;
  const auto text = [&] { return body_of(with_constants([&](View<float> x) { x[0] = k; })); };
  const std::string before = text();
  k = 3;
  EXPECT_THAT(before, testing::HasSubstr("const 2 : f32"));
  EXPECT_THAT(text(), testing::HasSubstr("const 3 : f32"));
}

}  // namespace
}  // namespace weir::test
