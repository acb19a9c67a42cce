// SPDX-License-Identifier: Apache-2.0
// stream_parallel: the extent of regions, and the places where blocks are refused.
#include "traced.hpp"

namespace weir::test {
namespace {

TEST(Regions, ConsecutiveBlocksFormOne) {
  EXPECT_EQ(body_of([](View<float> x, View<float> y) {
              stream_parallel([&] { x[0] = 1; });
              stream_parallel([&] { range_for(2, [&](Index i) { y[i] = 2; }); });
            }),
            "  region {\n"
            "    %0 = const 0 : i64\n"
            "    %1 = const 1 : f32\n"
            "    store @p0[%0], %1\n"
            "  } and {\n"
            "    %2 = const 0 : i64\n"
            "    %3 = const 2 : i64\n"
            "    parallel (%4) in (%2 to %3) {\n"
            "      %5 = const 2 : f32\n"
            "      store @p1[%4], %5\n"
            "    }\n"
            "  }\n");
}

TEST(Regions, AStreamRegionIsARegionOfItsOwn) {
  EXPECT_EQ(body_of([](View<float> x, View<float> y, Index i, Value<float> a) {
              stream_parallel([&] { x[i] = a; });
              stream_region([&] {
                stream_parallel([&] { x[i] = a; });
                const Value b = a * a;
                stream_parallel([&] { y[i] = b; });
              });
              stream_region([&] { stream_parallel([&] { y[i] = a; }); });
              stream_parallel([&] { x[i] = a; });
              stream_parallel([&] { y[i] = a; });
            }),
            "  %0 = arg @p2 : i64\n"
            "  %1 = arg @p3 : f32\n"
            "  region {\n"
            "    store @p0[%0], %1\n"
            "  }\n"
            "  %2 = mul %1, %1 : f32\n"
            "  region {\n"
            "    store @p0[%0], %1\n"
            "  } and {\n"
            "    store @p1[%0], %2\n"
            "  }\n"
            "  region {\n"
            "    store @p1[%0], %1\n"
            "  }\n"
            "  region {\n"
            "    store @p0[%0], %1\n"
            "  } and {\n"
            "    store @p1[%0], %1\n"
            "  }\n");
}

TEST(Regions, AStreamRegionContainsBlocksOnly) {
  const std::string text = refusal([](View<float> x, Index i) {
    stream_region([&] {
      stream_parallel([&] { x[i] = 1; });
      range_for(4, [&](Index k) { x[k] = 2; });
      x[i] = 3;  // one message is enough
    });
    stream_region([&] { stream_region([&] {}); });
    stream_parallel([&] { stream_region([&] {}); });
  });
  EXPECT_THAT(text, testing::HasSubstr("is in none of its blocks: put it inside a stream_parallel"));
  EXPECT_THAT(text, testing::HasSubstr("stream_region is inside the stream_region at"));
  EXPECT_THAT(text, testing::HasSubstr("stream_region is inside the stream_parallel at"));
}

// proves R17
TEST(Regions, StatementsBetweenBlocksSeparateThem) {
  EXPECT_EQ(body_of([](View<float> x, View<float> y, Index i, Value<float> a) {
              stream_parallel([&] { x[i] = a; });
              y[i] = a;
              stream_parallel([&] { x[i] = a; });
            }),
            "  %0 = arg @p2 : i64\n"
            "  %1 = arg @p3 : f32\n"
            "  region {\n"
            "    store @p0[%0], %1\n"
            "  }\n"
            "  store @p1[%0], %1\n"
            "  region {\n"
            "    store @p0[%0], %1\n"
            "  }\n");
}

TEST(Regions, ComputingBetweenBlocksDoesNotSeparateThem) {
  EXPECT_EQ(body_of([](View<float> x, View<float> y, Index i, Value<float> a) {
              stream_parallel([&] { x[i] = a; });
              const Value b = a * a;
              stream_parallel([&] { y[i] = b; });
            }),
            "  %0 = arg @p2 : i64\n"
            "  %1 = arg @p3 : f32\n"
            "  %2 = mul %1, %1 : f32\n"
            "  region {\n"
            "    store @p0[%0], %1\n"
            "  } and {\n"
            "    store @p1[%0], %2\n"
            "  }\n");
}

// proves R17
TEST(Regions, LoadsBetweenBlocksSeparateThem) {
  const std::string text = body_of([](View<float> x, View<float> y, Index i, Value<float> a) {
    stream_parallel([&] { x[i] = a; });
    const Value b = x[i];
    stream_parallel([&] { y[i] = b; });
  });
  EXPECT_THAT(text, testing::HasSubstr("  }\n  %2 = load @p0[%0] : f32\n  region {"));
}

// proves R15
TEST(Regions, EmptyBlocksAreAllowed) {
  EXPECT_EQ(body_of([] {
              stream_parallel([&] {});
              stream_parallel([&] {});
            }),
            "  region {\n"
            "  } and {\n"
            "  }\n");
}

// proves R13
TEST(Regions, BlocksContainWhatKernelsMayContain) {
  const std::string text = body_of([](View<float> x, Value<float> a) {
    stream_parallel([&] {
      Var<float> v = a;
      if_(a > 0, [&] { x[0] = v; });
      while_([&] { return v < a; }, [&] { v += 1; });
      const Value sum = reduce_sum(x.size(), [&](Index i) { return x[i]; });
      range_for(x.size(), [&](Index i) { x[i] = sum; });
    });
  });
  for (const char* word : {"local", "if", "while", "reduce.sum", "parallel"})
    EXPECT_THAT(text, testing::HasSubstr(word));
}

// proves R18
TEST(Regions, OptingOutOfTheConflictCheckIsExplicit) {
  EXPECT_EQ(body_of([](View<float> x, Index i, Value<float> a) {
              stream_parallel(conflicts_are_meant, [&] { x[i] = a; });
              stream_parallel([&] { x[i] = a; });
            }),
            "  %0 = arg @p1 : i64\n"
            "  %1 = arg @p2 : f32\n"
            "  region allow_conflicts {\n"
            "    store @p0[%0], %1\n"
            "  } and {\n"
            "    store @p0[%0], %1\n"
            "  }\n");
}

// proves R16
TEST(Regions, NestedBlocksAreRefusedWithBothLines) {
  const std::string text = refusal([](View<float> x) {
    stream_parallel([&] {
      x[0] = 1;
      stream_parallel([&] { x[1] = 1; });
    });
  });
  const std::string inner = line(-3), outer = line(-5);
  EXPECT_EQ(text,
            "kernel 'test' cannot be built:\n  " + inner +
                ": stream_parallel is inside the stream_parallel at " + outer +
                ": blocks do not nest; write the inner work next to it as a block of its own, or without "
                "stream_parallel");
}

// proves R16
TEST(Regions, BlocksInDeviceFunctionsAreRefusedWithBothLines) {
  const auto body = [](const View<float>& x) {
    x[0] = 2;
    stream_parallel([&] { x[0] = 1; });
  };
  Function work{"work", body};
  const std::string text = refusal(with_constants([&](View<float> x) { work(x); }));
  const std::string block = line(-4), function = line(-2);
  EXPECT_EQ(text, "kernel 'test' cannot be built:\n  " + block +
                      ": stream_parallel is inside the device function 'work' (" + function +
                      "): put the call of the function inside a stream_parallel of the kernel instead");
}

// proves R16
TEST(Regions, BlocksUnderBranchesAreRefusedWithBothLines) {
  const std::string text = refusal([](View<float> x, Value<bool> c) {
    if_(c, [&] {
      x[0] = 1;
      stream_parallel([&] { x[1] = 1; });
    });
  });
  const std::string block = line(-3), branch = line(-5);
  EXPECT_EQ(text, "kernel 'test' cannot be built:\n  " + block + ": stream_parallel is inside the if_ at " +
                      branch +
                      ": blocks belong directly in the kernel; put the if_ inside the block instead");
}

// proves R16
TEST(Regions, BlocksUnderLoopsAreRefusedWithBothLines) {
  const std::string text = refusal([](View<bool> x) {
    range_for(4, [&](Index) { stream_parallel([&] { x[1] = true; }); });
    for_(0, 4, [&](Index) { stream_parallel([&] { x[1] = true; }); });
    while_([&] { return x[0]; }, [&] { stream_parallel([&] {}); });
  });
  EXPECT_THAT(text, testing::HasSubstr("inside the range_for at " + line(-4)));
  EXPECT_THAT(text, testing::HasSubstr("inside the loop at " + line(-4)));
  EXPECT_THAT(text, testing::HasSubstr("inside the while_ at " + line(-4)));
}

// proves R18
TEST(Regions, ConflictsNameTheKernelTheParameterAndBothLines) {
  const auto both = [](View<float> x, View<Vec<std::int32_t, 3>, 2> v) {
    stream_parallel([&] {
      v(0, 0)[1] = 1;
      x[0] = 1;
    });
    stream_parallel([&] { x[0] = 1; });
  };
  const std::string first = line(-4), second = line(-2);
  const std::string kernel = line(-7);  // the kernel's first statement
  try {
    Kernel{"both", both};
    FAIL() << "the kernel was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kernel);
    EXPECT_EQ(error.file() + ":" + std::to_string(error.line()), first);
    const std::string text = error.what();
    EXPECT_THAT(text, testing::StartsWith("kernel 'both' (" + kernel));
    EXPECT_THAT(text, testing::HasSubstr(" cannot be built:\n  " + first));
    EXPECT_THAT(text, testing::HasSubstr(": @p0 (View<float>) is written in this stream_parallel block"));
    EXPECT_THAT(text, testing::HasSubstr("written in another one at " + second));
  }
}

TEST(Regions, ConflictsUseTheNamesThatTheKernelGave) {
  const auto both = [](View<Vec<std::int32_t, 3>, 2> v) {
    stream_parallel([&] { v(0, 0)[1] = 1; });
    stream_parallel([&] { v(0, 0)[1] = 1; });
  };
  const auto message = [&](const KernelOptions& options) {
    try {
      Kernel{"both", both, options};
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(message({}), testing::HasSubstr("@p0 (View<Vec<std::int32_t, 3>, 2>) is written"));
  EXPECT_THAT(message({.parameter_names = {"velocity"}}), testing::HasSubstr("@velocity is written"));
}

}  // namespace
}  // namespace weir::test
