// SPDX-License-Identifier: Apache-2.0
// Level 6: atomics. Tests the result of each operation, and that no update is lost under contention of many
// blocks.
#include <algorithm>
#include <chrono>
#include <ctime>
#include <string>

#include "api.hpp"

namespace weir::conformance {
namespace {

/// Runs `round` with a growing number of iterations, up to four million, so that fast devices do much work
/// and simulated ones little. Ends when the last round took `long_enough`. On a CPU device the process's CPU
/// time must show that several cores overlapped for that long, however busy the machine is. Gives up when the
/// rounds took `max_time` in all.
template <class Round>
void with_growing_work(const Device& device, const Round& round) {
  using namespace std::chrono;
  constexpr milliseconds long_enough(8), max_time(250);
  constexpr std::int64_t max_iterations = 1 << 22;
  const bool on_host = device.info().kind == DeviceKind::cpu;
  nanoseconds spent(0), together(0);
  for (std::int64_t n = 1024;; n = std::min(2 * n, max_iterations)) {
    const steady_clock::time_point began = steady_clock::now();
    const std::clock_t cores_began = std::clock();
    round(n);
    const nanoseconds took = steady_clock::now() - began;
    const nanoseconds cores(
        static_cast<std::int64_t>(1e9 / CLOCKS_PER_SEC * double(std::clock() - cores_began)));
    spent += took;
    together += std::max(cores - took, nanoseconds(0));
    const bool enough = on_host ? together > long_enough : took > long_enough || n == max_iterations;
    if (::testing::Test::HasFailure() || enough || spent > max_time) return;
  }
}

/// One kernel over 1000 iterations that all change one element.
template <class T>
void expect_atomic(const std::string& operation, const std::string& type, T initial, T expected) {
  const Device device = api_device();
  const weir::Stream stream = device.create_stream();
  const auto cell = array_of(device, std::vector<T>{initial});
  run_text("weir-ir 1\nkernel \"atomic\"\n  param @cell : array<" + type +
               ", 1>\n{\n  %zero = const 0 : i64\n" +
               "  %n = const 1000 : i64\n  parallel (%i) in (%zero to %n) {\n    %v = cast %i : " + type +
               "\n    %old = atomic." + operation + " @cell[%zero], %v : " + type + "\n  }\n}\n",
           stream, cell);
  EXPECT_EQ(cell.to_host(stream).front(), expected) << "atomic." << operation << " on " << type;
}

/// Many iterations add 1 to one of four neighbouring elements.
template <class T>
void expect_no_lost_addition(const std::string& type) {
  const Device device = api_device();
  const weir::Stream stream = device.create_stream();
  const Program count = Program::parse("weir-ir 1\nkernel \"count\"\n  param @cells : array<" + type +
                                       R"(, 1>
  param @n : i64
{
  %zero = const 0 : i64
  %three = const 3 : i64
  %n = arg @n : i64
  %one = const 1 : )" + type + R"(
  parallel (%i) in (%zero to %n) {
    %place = and %i, %three : i64
    %old = atomic.add @cells[%place], %one : )" +
                                       type + "\n  }\n}\n");
  with_growing_work(device, [&](std::int64_t n) {
    const auto cells = array_of(device, std::vector<T>(4));
    const LaunchArgument list[] = {argument_of(cells), argument_of(n)};
    run_program(count, stream, list);
    EXPECT_EQ(cells.to_host(stream), std::vector<T>(4, static_cast<T>(n / 4)))
        << "1 was added " << n << " times with atomic.add on " << type;
  });
}

template <class T>
void expect_atomics(const std::string& type) {
  expect_atomic<T>("add", type, 5, 5 + 999 * 1000 / 2);
  expect_atomic<T>("sub", type, T(600'000), T(600'000 - 999 * 1000 / 2));
  expect_atomic<T>("min", type, 5000, 0);
  expect_atomic<T>("max", type, 5, 999);
  expect_no_lost_addition<T>(type);
}

WEIR_REQUIREMENT(6, 43, Language, AtomicsOfIntegers, "Atomics on i32, u32, i64 and u64 lose nothing.") {
  expect_atomics<std::int32_t>("i32");
  expect_atomics<std::uint32_t>("u32");
  expect_atomics<std::int64_t>("i64");
  expect_atomics<std::uint64_t>("u64");
  expect_atomic<std::uint32_t>("or", "u32", 0, 1023);
  expect_atomic<std::uint32_t>("and", "u32", 1023, 0);
  std::uint64_t all = 77;
  for (std::uint64_t i = 0; i < 1000; ++i) all ^= i;
  expect_atomic<std::uint64_t>("xor", "u64", 77, all);
}

WEIR_REQUIREMENT(6, 44, Language, AtomicsOfFloats, "Atomics on f32 and f64 lose nothing.") {
  expect_atomics<float>("f32");
  expect_atomics<double>("f64");
}

WEIR_REQUIREMENT(6, 45, Language, CompareExchangeTakesOneWinner,
                 "Of many that compare and exchange one element, exactly one wins.") {
  const Device device = api_device();
  const weir::Stream stream = device.create_stream();
  const auto cell = array_of(device, std::vector<std::int32_t>{-1}),
             winners = array_of(device, std::vector<std::int32_t>{0});
  run_text(R"(weir-ir 1
kernel "race"
  param @cell : array<i32, 1>
  param @winners : array<i32, 1>
{
  %zero = const 0 : i64
  %n = const 10000 : i64
  %free = const -1 : i32
  %one = const 1 : i32
  parallel (%i) in (%zero to %n) {
    %me = cast %i : i32
    %old = atomic.compare_exchange @cell[%zero], %free, %me : i32
    %won = eq %old, %free : bool
    if %won {
      %count = atomic.add @winners[%zero], %one : i32
    }
  }
}
)",
           stream, cell, winners);
  EXPECT_EQ(winners.to_host(stream).front(), 1);
  const std::int32_t winner = cell.to_host(stream).front();
  EXPECT_TRUE(winner >= 0 && winner < 10'000) << winner;

  // Each iteration reads a counter, by an exchange that changes nothing, and raises it by 1 unless another
  // was faster.
  const Program raise = Program::parse(R"(weir-ir 1
kernel "raise"
  param @counters : array<i32, 1>
  param @winners : array<i32, 1>
  param @n : i64
{
  %zero = const 0 : i64
  %three = const 3 : i64
  %n = arg @n : i64
  %never = const -1 : i32
  %one = const 1 : i32
  parallel (%i) in (%zero to %n) {
    %place = and %i, %three : i64
    %seen = atomic.compare_exchange @counters[%place], %never, %never : i32
    %next = add %seen, %one : i32
    %old = atomic.compare_exchange @counters[%place], %seen, %next : i32
    %won = eq %old, %seen : bool
    if %won {
      %before = atomic.add @winners[%place], %one : i32
    }
  }
}
)");
  with_growing_work(device, [&](std::int64_t n) {
    const auto counters = array_of(device, std::vector<std::int32_t>(4)),
               raised = array_of(device, std::vector<std::int32_t>(4));
    const LaunchArgument list[] = {argument_of(counters), argument_of(raised), argument_of(n)};
    run_program(raise, stream, list);
    EXPECT_EQ(counters.to_host(stream), raised.to_host(stream))
        << "counters, and how many of " << n << " say that they have raised them";
  });
}

}  // namespace
}  // namespace weir::conformance
