// SPDX-License-Identifier: Apache-2.0
// Level 6: control flow, reductions, assertions.
#include <algorithm>
#include <limits>

#include "api.hpp"

namespace weir::conformance {
namespace {

WEIR_REQUIREMENT(6, 40, Language, LoopsAndBranches,
                 "while, if, break and continue control a loop: the lengths of Collatz sequences.") {
  const Device device = api_device();
  const weir::Stream stream = device.create_stream();
  const auto out = device.array<std::int64_t>(3000);
  run_text(R"(weir-ir 1
kernel "collatz"
  param @out : array<i64, 1>
{
  %zero = const 0 : i64
  %one = const 1 : i64
  %two = const 2 : i64
  %three = const 3 : i64
  %n = extent @out, 0 : i64
  parallel (%i) in (%zero to %n) {
    local $x : i64
    local $steps : i64
    %first = add %i, %one : i64
    set $x, %first
    while {
      %x = get $x : i64
      %more = gt %x, %one : bool
      yield %more
    } do {
      %y = get $x : i64
      %s = get $steps : i64
      %t = add %s, %one : i64
      set $steps, %t
      %low = and %y, %one : i64
      %even = eq %low, %zero : bool
      if %even {
        %half = div %y, %two : i64
        set $x, %half
        continue
      }
      %tripled = mul %y, %three : i64
      %next = add %tripled, %one : i64
      set $x, %next
    }
    %steps = get $steps : i64
    store @out[%i], %steps
  }
}
)",
           stream, out);
  const auto seen = out.to_host(stream);
  for (std::int64_t i = 0; i < 3000; ++i) {
    std::int64_t steps = 0;
    for (std::int64_t x = i + 1; x > 1; x = x % 2 ? 3 * x + 1 : x / 2) ++steps;
    ASSERT_EQ(seen[static_cast<std::size_t>(i)], steps) << "of " << i + 1;
  }
}

WEIR_REQUIREMENT(
    6, 41, Language, ArraysOfTwoDimensions,
    "Arrays are stored with the last index fastest, and a loop over two indices covers all of them.") {
  const Device device = api_device();
  const weir::Stream stream = device.create_stream();
  const auto out = device.array<std::int32_t>(37, 53);
  run_text(R"(weir-ir 1
kernel "grid"
  param @out : array<i32, 2>
{
  %zero = const 0 : i64
  %thousand = const 1000 : i64
  %rows = extent @out, 0 : i64
  %columns = extent @out, 1 : i64
  parallel (%i, %j) in (%zero to %rows, %zero to %columns) {
    %row = mul %i, %thousand : i64
    %sum = add %row, %j : i64
    %v = cast %sum : i32
    store @out[%i, %j], %v
  }
}
)",
           stream, out);
  const auto seen = out.to_host(stream);
  for (int i = 0; i < 37; ++i)
    for (int j = 0; j < 53; ++j) ASSERT_EQ(seen[static_cast<std::size_t>(i * 53 + j)], 1000 * i + j);
}

/// The sum in the order that sdk/docs/ir.md defines.
float ordered_sum(const std::vector<float>& values) {
  const std::size_t n = values.size();
  const std::size_t chunk = std::max<std::size_t>(1024, ((n + 32767) / 32768 + 63) / 64 * 64);
  const auto combine = [](std::size_t lane_count, const float* elements, std::size_t count) {
    std::vector<float> lanes(lane_count);
    for (std::size_t i = 0; i < count; ++i) lanes[i % lane_count] += elements[i];
    for (std::size_t width = lane_count / 2; width; width /= 2)
      for (std::size_t l = 0; l < width; ++l) lanes[l] += lanes[l + width];
    return lanes[0];
  };
  std::vector<float> partials;
  for (std::size_t begin = 0; begin < n; begin += chunk)
    partials.push_back(combine(64, &values[begin], std::min(chunk, n - begin)));
  return combine(1024, partials.data(), partials.size());
}

WEIR_REQUIREMENT(6, 42, Language, SumsHaveTheDefinedOrder,
                 "A sum of f32 has the bits that the defined order gives, in many sizes.") {
  const Device device = api_device();
  const weir::Stream stream = device.create_stream();
  for (const std::size_t n : {std::size_t{1}, std::size_t{63}, std::size_t{1000}, std::size_t{1025},
                              std::size_t{70'000}, std::size_t{5'000'000}}) {
    std::vector<float> values(n);
    for (std::size_t i = 0; i < n; ++i)
      values[i] = static_cast<float>((i * 2654435761u) % 1000003u) * 1e-3f - 300.0f;
    const auto x = array_of(device, values);
    const auto out = device.array<float>(1);
    run_text(R"(weir-ir 1
kernel "total"
  param @out : array<f32, 1>
  param @x : array<f32, 1>
{
  %zero = const 0 : i64
  %n = extent @x, 0 : i64
  %sum = reduce.sum (%i) in (%zero to %n) : f32 {
    %v = load @x[%i] : f32
    yield %v
  }
  store @out[%zero], %sum
}
)",
             stream, out, x);
    const float seen = out.to_host(stream).front(), expected = ordered_sum(values);
    EXPECT_EQ(std::memcmp(&seen, &expected, 4), 0)
        << n << " values give " << seen << "; expected " << expected;
  }
}

WEIR_REQUIREMENT(
    6, 46, Language, FailedAssertsAreReported,
    "A failed assert surfaces at a later call on the stream with its message, and the device goes on.") {
  const Device device = api_device();
  const weir::Stream stream = device.create_stream();
  const auto out = array_of(device, std::vector<std::int32_t>(100, 0));
  const std::string text = R"(weir-ir 1
kernel "asserting"
  param @out : array<i32, 1>
  param @limit : i64
{
  %zero = const 0 : i64
  %n = extent @out, 0 : i64
  %limit = arg @limit : i64
  %one = const 1 : i32
  parallel (%i) in (%zero to %n) {
    %small = lt %i, %limit : bool
    assert %small, "too far"
    store @out[%i], %one
  }
}
)";
  try {
    run_text(text, stream, out, std::int64_t{50});
    stream.synchronize();
    FAIL() << "no failure was reported";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::assertion) << error.what();
    EXPECT_NE(std::string(error.what()).find("too far"), std::string::npos) << error.what();
  }
  run_text(text, stream, out, std::int64_t{100});
  stream.synchronize();
  EXPECT_EQ(out.to_host(stream), std::vector<std::int32_t>(100, 1));
}

}  // namespace
}  // namespace weir::conformance
