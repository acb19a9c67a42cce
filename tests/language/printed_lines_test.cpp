// SPDX-License-Identifier: Apache-2.0
// print: when lines are shown, how many are kept, and where prints are refused.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "on_threads.hpp"
#include "run_apart.hpp"
#include "support.hpp"
#include "taken_lines.hpp"

namespace weir::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(PrintedLines, LinesBeforeAFailureAreShown) {
  TakenLines taken;
  const Stream stream = tested().create_stream();
  const Kernel kernel{"failing", [](View<float> x) {
                        range_for(x.size(), [&](Index i) {
                          print("{}", i);
                          assert_(i < 2, "small");
                        });
                      }};
  auto x = tested().array<float>(stream, 3);
  kernel(stream, x);
  EXPECT_THAT(error_of([&] { stream.synchronize(); }), HasSubstr("small"));
  EXPECT_THAT(taken.take(), ElementsAre("0", "1", "2"));
}

TEST(PrintedLines, LinesThatDoNotFitAreCounted) {
  TakenLines taken;
  const Stream stream = tested().create_stream();
  const Kernel kernel{"many", [](View<float> x) { range_for(x.size(), [&](Index i) { print("{}", i); }); }};
  constexpr std::size_t count = 30000;  // lines of 7 words; a stream keeps 18,715
  auto x = tested().array<float>(stream, count);
  for (int round = 0; round < 2; ++round) {
    kernel(stream, x);
    stream.synchronize();
    const Lines lines = taken.take();
    ASSERT_EQ(lines.size(), 18724u);
    EXPECT_THAT(lines.back(), HasSubstr("weir: 11277 more lines"));
    EXPECT_THAT(lines.back(), HasSubstr("set WEIR_PRINT_BYTES to a larger number"));
  }
  auto few = tested().array<float>(stream, 2);
  kernel(stream, few);
  stream.synchronize();
  EXPECT_THAT(taken.take(), ElementsAre("0", "1"));
}

TEST(PrintedLines, LinesOfKernelsThatAreForgottenAreCountedApart) {
  TakenLines taken;
  const Stream stream = tested().create_stream();
  auto x = tested().array<float>(stream, 1);
  constexpr int kernels = 300;  // as many as 256 destroyed ones are remembered
  for (int k = 0; k < kernels; ++k)
    Kernel{"hello", with_constants([k](View<float> x) { print("{}", x.size() * k); })}(stream, x);
  stream.synchronize();
  const Lines lines = taken.take();
  ASSERT_EQ(lines.size(), 257u);
  EXPECT_THAT(lines.back(), AllOf(HasSubstr("weir: 44 lines of kernels"),
                                  HasSubstr("keep kernels until then"), Not(HasSubstr("WEIR_PRINT_BYTES"))));
}

TEST(PrintedLines, WaitsOfSeveralThreadsLoseAndRepeatNothing) {
  TakenLines taken;
  const Stream stream = tested().create_stream();
  const Kernel kernel{"threads", [](View<float> x, Value<std::int32_t> n) {
                        range_for(x.size(), [&](Index i) { print("{} {}", n, i); });
                      }};
  constexpr int threads = 4, rounds = 250;
  on_threads(threads, [&](int t) {
    auto x = tested().array<float>(stream, 3);
    for (int round = 0; round < rounds; ++round) {
      kernel(stream, x, t * rounds + round);
      stream.synchronize();
    }
  });
  Lines lines = taken.take(), expected;
  for (int n = 0; n < threads * rounds; ++n)
    for (int i = 0; i < 3; ++i) expected.push_back(fmt::format("{} {}", n, i));
  std::sort(lines.begin(), lines.end());
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(lines, expected);
}

// A wait that finds the buffer empty needs no lock, except while another thread passes on what it has taken.
TEST(PrintedLines, AWaitEndsAfterTheLinesThatAnotherWaitHasTaken) {
  const Stream stream = tested().create_stream();
  const Kernel kernel{"one", [](View<float> x) { print("{}", x.size()); }};
  const auto x = tested().array<float>(stream, 3);
  std::atomic<bool> taken = false, shown = false;
  on_print([&](std::string_view) {
    taken = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    shown = true;
  });
  kernel(stream, x);
  std::thread other([&] { stream.synchronize(); });
  while (!taken) std::this_thread::yield();
  stream.synchronize();
  EXPECT_TRUE(shown);
  other.join();
  on_print({});
}

TEST(PrintedLines, ADestroyedStreamKeepsItsLines) {
  TakenLines taken;
  const Kernel kernel{"last", [](View<float> x) { print("last {}", x.size()); }};
  {
    const Stream stream = tested().create_stream();
    auto x = tested().array<float>(stream, 3);
    kernel(stream, x);
  }
  tested().synchronize();
  EXPECT_THAT(taken.take(), ElementsAre("last 3"));
}

TEST(PrintedLines, MistakesNameTheLineOfTheCall) {
  const auto refused = [](auto body) { return error_of([&] { Kernel{"wrong", body}; }); };
  // Outside of macros, in which g++ and clang count lines differently.
  const int first_line = __LINE__ + 1;
  const std::string too_few = refused([](View<float> x) { print("{} {}", x[0]); });
  const std::string no_hexadecimal = refused([](View<float> x) { print("{:x}", x[0]); });
  const auto at_line = [&](int line) { return HasSubstr("printed_lines_test.cpp:" + std::to_string(line)); };
  EXPECT_THAT(too_few,
              AllOf(at_line(first_line), HasSubstr("takes 2 values, found 1; write one {} for each value")));
  EXPECT_THAT(no_hexadecimal, AllOf(at_line(first_line + 1),
                                    HasSubstr("{:x} for value 1 of type f32, which does not take 'x'")));
  EXPECT_THAT(refused([](View<float> x) { print("done", x[0]); }), HasSubstr("takes 0 values, found 1"));
  EXPECT_THAT(refused([](View<float> x) { print("{0}", x[0]); }), HasSubstr("expected {} or {:...}"));
  EXPECT_THAT(refused([](View<float> x) { print("{", x[0]); }), HasSubstr("single '{'"));
  EXPECT_THAT(refused([](View<std::int32_t> x) { print("{:.2}", x[0]); }), HasSubstr("a precision"));
  EXPECT_THAT(error_of([] { print("no kernel"); }), HasSubstr("print"));
}

TEST(PrintedLines, BodiesThatRunMoreThanOnceDoNotPrint) {
  EXPECT_THAT(error_of([] {
                Kernel{"twice", [](View<float> x, View<std::int64_t> at) {
                         at[0] = arg_min(x.size(), [&](Index i) {
                           print("{}", i);
                           return x[i];
                         });
                       }};
              }),
              HasSubstr("must not write, print or draw random numbers"));
}

TEST(PrintedLines, CodeForOtherProgramsCannotPrint) {
  const Kernel kernel{"loud", [](View<float> x) { print("{}", x[0]); }};
  EXPECT_THAT(error_of([&] { compile(kernel.program(), {}); }),
              HasSubstr("kernel 'loud' prints, and code that is loaded without its program"));
}

void print_hello() {
  const Kernel kernel{"hello", [](View<float> x) { print("hello {}", x.size()); }};
  auto x = tested().array<float>(3);
  kernel(x);
}

TEST(PrintedLines, DISABLED_Waits) {
  print_hello();
  tested().synchronize();
  _exit(0);
}
TEST(PrintedLines, DISABLED_Ends) {
  print_hello();
}

TEST(PrintedLines, GoesToStandardOutputAtAWaitOrAtTheEnd) {
  WEIR_NEEDS_SHELL();
  EXPECT_THAT(run_apart("", "PrintedLines.DISABLED_Waits"), HasSubstr("\nhello 3\n"));
  EXPECT_THAT(run_apart("", "PrintedLines.DISABLED_Ends"), HasSubstr("\nhello 3\n"));
}

TEST(PrintedLines, DISABLED_Many) {
  const Kernel kernel{"many", [](View<float> x) { range_for(x.size(), [&](Index i) { print("{}", i); }); }};
  auto x = tested().array<float>(20000);
  kernel(x);
}

TEST(PrintedLines, TheEnvironmentSetsTheNumberOfBytes) {
  WEIR_NEEDS_SHELL();
  EXPECT_THAT(run_apart("WEIR_PRINT_BYTES=2M", "PrintedLines.DISABLED_Many"),
              AllOf(HasSubstr("\n19999\n"), Not(HasSubstr("lost"))));
  EXPECT_THAT(run_apart("WEIR_PRINT_BYTES=4K", "PrintedLines.DISABLED_Many"),
              HasSubstr("19928 more lines of kernels"));
  EXPECT_THAT(run_apart("WEIR_PRINT_BYTES=10", "PrintedLines.DISABLED_Many"),
              AllOf(HasSubstr("WEIR_PRINT_BYTES"), HasSubstr("4K to 4G")));
}

// A debugged launch waits inside of one step of its stream. A thread that shows lines submits to the stream.
TEST(PrintedLines, AreShownBesideDebuggedLaunchesOnTheirStream) {
  TakenLines taken;
  const Stream stream = tested().create_stream();
  const Kernel talk{"talk", [](View<float> x) { print("{} elements", x.size()); }};
  const Kernel step{"step", [](View<float> x) { range_for(x.size(), [&](Index i) { x[i] = x[i] + 1.0f; }); }};
  step.program().debug(true);
  const auto x = tested().array<float>(stream, 3), y = tested().array<float>(stream, 1);
  x.fill(stream, 0.0f);
  constexpr int rounds = 1500;
  std::atomic<bool> ends{false};
  std::jthread talking([&] {
    for (; !ends; stream.synchronize()) talk(stream, y);
  });
  for (int i = 0; i < rounds; ++i) step(stream, x);
  ends = true;
  talking.join();
  EXPECT_THAT(x.to_host(stream), testing::Each(static_cast<float>(rounds)));
  EXPECT_THAT(taken.take(), testing::Each(HasSubstr("elements")));
}

}  // namespace
}  // namespace weir::test
