// SPDX-License-Identifier: Apache-2.0
// Whole kernels: parameters, names, options, locations.
#include <thread>

#include "traced.hpp"

namespace weir::test {
namespace {

static_assert(std::is_same_v<detail::signature_t<void (*)(const View<float>&, Value<float>)>,
                             void(View<float>, Value<float>)>);

void by_function(View<float> x) {
  x[0] = 1;
}

TEST(Kernels, ParametersHaveNamesTypesAndRanks) {
  const KernelOptions options{.fast_math = true,
                              .check_bounds = true,
                              .parameter_names = {"x", "m"},
                              .deterministic = true,
                              .min_resident_threads = 512};
  const std::string text = ir::print(traced([](View<Vec<float, 3>> x, View<const Mat<half, 2, 3>, 2> m,
                                               Value<Vec<double, 2>> d) { (void)x, (void)m, (void)d; },
                                            options, "named"));
  EXPECT_THAT(text, testing::StartsWith(
                        "weir-ir 1\n"
                        "kernel \"named\" fast_math check_bounds deterministic min_resident_threads 512\n"
                        "  param @x : array<vec<f32, 3>, 1>\n"
                        "  param @m : array<mat<f16, 2, 3>, 2>\n"
                        "  param @p2 : vec<f64, 2>\n"));
}

TEST(Kernels, TooManyResidentThreadsAreRefused) {
  EXPECT_THAT(refusal([](View<float>) {}, {.min_resident_threads = 2049}),
              testing::HasSubstr("min_resident_threads is 2049; the most is 2048"));
}

TEST(Kernels, TooManyParameterNamesAreRefused) {
  EXPECT_THAT(refusal([](View<float>) {}, {.parameter_names = {"x", "y"}}),
              testing::HasSubstr("2 names for 1 parameters"));
}

volatile bool ends = false;  // compilers warn of a recursion that they know to be endless

Value<std::int32_t> recursive_by_select(Value<std::int32_t> n) {
  if (ends) return n;
  return select(n < 2, 1, n * recursive_by_select(n - 1));
}

Value<std::int32_t> recursive_by_if(Value<std::int32_t> n) {
  Var<std::int32_t> result = 1;
  if_(n > 1, [&] { result = n * recursive_by_if(n - 1); });
  return result + 0;
}

Value<std::int32_t> recursive_by_a_number(Value<std::int32_t> n, int depth) {
  return depth == 0 ? Value<std::int32_t>(n + 0) : recursive_by_a_number(n * 2, depth - 1);
}

TEST(Kernels, RecursionThatNoNumberOfTheHostEndsIsRefused) {
  const auto by_select = [](View<std::int32_t> x) {
    range_for(x.size(), [&](Index i) { x[i] = recursive_by_select(x[i]); });
  };
  const auto by_if = [](View<std::int32_t> x) {
    range_for(x.size(), [&](Index i) { x[i] = recursive_by_if(x[i]); });
  };
  EXPECT_THAT(refusal(by_select),
              testing::AllOf(testing::HasSubstr("call themselves until this thread's stack is full"),
                             testing::HasSubstr("kernel_test.cpp:")));
  EXPECT_THAT(refusal(by_if), testing::HasSubstr("blocks are nested more than 128 deep"));
  std::thread([&] {
    EXPECT_THAT(refusal(by_select), testing::HasSubstr("this thread's stack is full"));
  }).join();
  traced([](View<std::int32_t> x) { x[0] = recursive_by_a_number(x[0], 1000); });
}

TEST(Kernels, MessagesShowNoControlCharactersOfNames) {
  std::string text;
  try {
    traced([](View<float> x) { x[0] = 1; }, {}, std::string_view("a\0b\n", 4));
  } catch (const Error& error) {
    text = error.what();
  }
  EXPECT_THAT(text, testing::HasSubstr("kernel 'a?b?' cannot be built:"));
  EXPECT_THAT(text, testing::HasSubstr("a kernel's name has no control characters"));
}

TEST(Kernels, FunctionsAreKernelsToo) {
  EXPECT_EQ(body_of(&by_function),
            "  %0 = const 0 : i64\n"
            "  %1 = const 1 : f32\n"
            "  store @p0[%0], %1\n");
}

TEST(Kernels, StatementsKnowTheirLines) {
  const ir::Kernel kernel = traced([](View<float> x, Index i) {
    x[i] = 1;

    x[i] = 2;
  });
  ASSERT_EQ(kernel.files.size(), 1u);
  EXPECT_EQ(kernel.files[0], __FILE__);
  const auto& statements = kernel.body.statements;
  EXPECT_EQ(statements.back().location.line, static_cast<std::uint32_t>(__LINE__ - 5));
  EXPECT_EQ(statements[statements.size() - 3].location.line, static_cast<std::uint32_t>(__LINE__ - 8));
}

TEST(Kernels, AreLocatedWhereTheyBegin) {
  const int first = __LINE__ + 1;
  const ir::Kernel kernel = traced([](View<float> x, Index i) {
    x[i] = 1;

    x[i] = 2;
  });
  // g++ reports the last line of the definition, so the first statement's line is the best available
  // location.
  EXPECT_GE(kernel.parameters[0].location.line, static_cast<std::uint32_t>(first));
  EXPECT_LE(kernel.parameters[0].location.line, static_cast<std::uint32_t>(first + 1));
}

TEST(Kernels, TracingTwiceGivesTheSameText) {
  const auto body = [](View<float> x) {
    range_for(x.size(), [&](Index i) { x[i] = sin(x[i]) * random<float>(); });
  };
  EXPECT_EQ(ir::print(traced(body)), ir::print(traced(body)));
}

}  // namespace
}  // namespace weir::test
