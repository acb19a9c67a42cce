// SPDX-License-Identifier: Apache-2.0
// Level 7: regions of blocks that run at once, on the device's own streams.
#include <algorithm>
#include <cctype>

#include "api.hpp"

namespace weir::conformance {
namespace {

/// `blocks` blocks. Each adds its number to its own array, `rounds` times in sequence.
std::string region_text(int blocks, int rounds) {
  std::string parameters, body;
  for (int b = 0; b < blocks; ++b) {
    const std::string n = std::to_string(b);
    parameters += "  param @x" + n + " : array<i64, 1>\n";
    body += (b ? " and {\n" : "  region {\n");
    for (int r = 0; r < rounds; ++r) {
      const std::string id = n + "_" + std::to_string(r);
      body += "    parallel (%i" + id + ") in (%zero to %n) {\n      %v" + id + " = load @x" + n + "[%i" +
              id + "] : i64\n      %c" + id + " = const " + std::to_string(b + 1) + " : i64\n      %m" + id +
              " = mul %v" + id + ", %two : i64\n      %s" + id + " = add %m" + id + ", %c" + id +
              " : i64\n      store @x" + n + "[%i" + id + "], %s" + id + "\n    }\n";
    }
    body += "  }";
  }
  return "weir-ir 1\nkernel \"blocks\"\n" + parameters +
         "{\n  %zero = const 0 : i64\n  %two = const 2 : i64\n  %n = extent @x0, 0 : i64\n" + body + "\n}\n";
}

WEIR_REQUIREMENT(7, 01, Regions, BlocksDoTheirWork, "Each block of a region does its loops in order.") {
  const Device device = api_device();
  const weir::Stream stream = device.create_stream();
  const std::vector<std::int64_t> ones(10'000, 1);
  const auto a = array_of(device, ones), b = array_of(device, ones), c = array_of(device, ones),
             d = array_of(device, ones);
  const Program program = Program::parse(region_text(4, 5));
  const LaunchArgument list[] = {argument_of(a), argument_of(b), argument_of(c), argument_of(d)};
  for (int i = 0; i < 20; ++i) {
    for (const auto* x : {&a, &b, &c, &d}) x->copy_from_bytes(stream, std::as_bytes(std::span(ones)));
    run_program(program, stream, list);
    int block = 0;
    for (const auto* x : {&a, &b, &c, &d}) {
      ++block;
      std::int64_t expected = 1;
      for (int r = 0; r < 5; ++r) expected = expected * 2 + block;
      const auto seen = x->to_host(stream);
      ASSERT_EQ(std::ranges::count(seen, expected), 10'000) << "block " << block << " in launch " << i;
    }
  }
}

constexpr const char* joined_text = R"(weir-ir 1
kernel "joined"
  param @a : array<i64, 1>
  param @b : array<i64, 1>
  param @sum : array<i64, 1>
  param @value : i64
{
  %zero = const 0 : i64
  %n = extent @a, 0 : i64
  %value = arg @value : i64
  parallel (%i) in (%zero to %n) {
    store @a[%i], %value
    store @b[%i], %i
  }
  region {
    parallel (%j) in (%zero to %n) {
      %x = load @a[%j] : i64
      %y = add %x, %j : i64
      store @a[%j], %y
    }
  } and {
    parallel (%k) in (%zero to %n) {
      %u = load @b[%k] : i64
      %w = mul %u, %value : i64
      store @b[%k], %w
    }
  }
  parallel (%l) in (%zero to %n) {
    %p = load @a[%l] : i64
    %q = load @b[%l] : i64
    %r = add %p, %q : i64
    store @sum[%l], %r
  }
}
)";

void expect_joined(const std::vector<std::int64_t>& seen, std::int64_t value) {
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(seen.size()); ++i)
    ASSERT_EQ(seen[static_cast<std::size_t>(i)], value + i + i * value) << "at " << i;
}

WEIR_REQUIREMENT(7, 02, Regions, BeginAndEndInTheStreamsOrder,
                 "A region begins after the work before it and ends before the work after it.") {
  const Device device = api_device();
  const weir::Stream stream = device.create_stream();
  const auto a = device.array<std::int64_t>(200'000), b = device.array<std::int64_t>(200'000),
             sum = device.array<std::int64_t>(200'000);
  const Program program = Program::parse(joined_text);
  for (std::int64_t value = 1; value <= 20; ++value) {
    const LaunchArgument list[] = {argument_of(a), argument_of(b), argument_of(sum), argument_of(value)};
    run_program(program, stream, list);
    expect_joined(sum.to_host(stream), value);
  }
}

WEIR_REQUIREMENT(7, 03, Regions, OfTwoLaunchesShareNothing,
                 "Launches of one kernel on two streams share nothing but their arguments.") {
  const Device device = api_device();
  const weir::Stream streams[2] = {device.create_stream(), device.create_stream()};
  std::vector<Array<std::int64_t>> arrays;
  for (int i = 0; i < 6; ++i) arrays.push_back(device.array<std::int64_t>(50'000));
  const Program program = Program::parse(joined_text);
  for (std::int64_t round = 0; round < 30; ++round) {
    for (std::size_t s = 0; s < 2; ++s) {
      const std::int64_t value = 10 * round + static_cast<std::int64_t>(s);
      const LaunchArgument list[] = {argument_of(arrays[3 * s]), argument_of(arrays[3 * s + 1]),
                                     argument_of(arrays[3 * s + 2]), argument_of(value)};
      run_program(program, streams[s], list);
    }
    for (std::size_t s = 0; s < 2; ++s)
      expect_joined(arrays[3 * s + 2].to_host(streams[s]), 10 * round + static_cast<std::int64_t>(s));
  }
}

WEIR_REQUIREMENT(7, 04, Regions, BlocksRunAtOnce,
                 "Blocks of a region run at the same time: each sees the other before it ends.") {
  const Device device = api_device();
  if (!device.info().has(Capability::concurrent_streams))
    throw Unsupported("the device does not offer CONCURRENT_STREAMS");
  const weir::Stream stream = device.create_stream();
  const auto flags = array_of(device, std::vector<std::int32_t>{0, 0});
  const auto seen = array_of(device, std::vector<std::int32_t>{0, 0});
  // Bounded: a device that runs one block after the other terminates without reading the second flag as set.
  const std::string wait = R"(
      local $met : i32
      for %k@ = %zero to %rounds step %one {
        %f@ = atomic.add @flags[%other@], %none : i32
        %up@ = ne %f@, %none : bool
        if %up@ {
          set $met, %raised
          break
        }
      }
      %m@ = get $met : i32
      store @seen[%mine@], %m@
    }
)";
  const auto block = [&](const std::string& id, const std::string& mine, const std::string& other) {
    std::string text = "    parallel (%i@) in (%zero to %one) {\n      %mine@ = const " + mine +
                       " : i64\n      %other@ = const " + other +
                       " : i64\n      %b@ = atomic.exchange @flags[%mine@], %raised : i32" + wait;
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const bool suffix = text[i] == '@' && i > 0 && std::isalnum(static_cast<unsigned char>(text[i - 1]));
      out += suffix ? id : std::string(1, text[i]);
    }
    for (std::size_t at; (at = out.find("$met ")) != std::string::npos;)
      out.replace(at, 5, "$met" + id + " ");
    for (std::size_t at; (at = out.find("$met,")) != std::string::npos;)
      out.replace(at, 5, "$met" + id + ",");
    return out;
  };
  run_text(
      "weir-ir 1\nkernel \"meeting\"\n  param @flags : array<i32, 1>\n  param @seen : array<i32, 1>\n  param "
      "@rounds : i64\n{\n"
      "  %zero = const 0 : i64\n  %one = const 1 : i64\n  %rounds = arg @rounds : i64\n  %none = const 0 : "
      "i32\n  %raised = const 1 : i32\n"
      "  region allow_conflicts {\n" +
          block("a", "0", "1") + "  } and {\n" + block("b", "1", "0") + "  }\n}\n",
      stream, flags, seen,
      device.info().kind == DeviceKind::cpu ? std::int64_t{2'000'000'000} : std::int64_t{20'000'000});
  EXPECT_EQ(seen.to_host(stream), (std::vector<std::int32_t>{1, 1}));
}

WEIR_REQUIREMENT(7, 05, Regions, OfManyBlocksRun,
                 "A region of 24 blocks, more than most devices have streams for, does all its work.") {
  const Device device = api_device();
  const weir::Stream stream = device.create_stream();
  std::vector<Array<std::int64_t>> arrays;
  for (int i = 0; i < 24; ++i) arrays.push_back(array_of(device, std::vector<std::int64_t>(1000, 3)));
  std::vector<LaunchArgument> list;
  for (const auto& array : arrays) list.push_back(argument_of(array));
  const Program program = Program::parse(region_text(24, 2));
  run_program(program, stream, list);
  for (std::int64_t b = 0; b < 24; ++b) {
    const std::int64_t expected = (3 * 2 + b + 1) * 2 + b + 1;
    ASSERT_EQ(arrays[static_cast<std::size_t>(b)].to_host(stream), std::vector<std::int64_t>(1000, expected))
        << "block " << b;
  }
}

}  // namespace
}  // namespace weir::conformance
