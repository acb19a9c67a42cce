// SPDX-License-Identifier: Apache-2.0
// Level 6: math functions within OpenCL's limits, random numbers, and the same bits as on the CPU.
#include <algorithm>
#include <cmath>
#include <limits>

#include "api.hpp"

namespace weir::conformance {
namespace {

struct Function {
  const char* name;
  double (*reference)(double);
  double low, high;
  double limit;  ///< units in the last place of f32, from the full profile's table in OpenCL C
};

const Function functions[] = {
    {"sin", std::sin, -1000, 1000, 4},     {"cos", std::cos, -1000, 1000, 4},
    {"tan", std::tan, -100, 100, 5},       {"asin", std::asin, -1, 1, 4},
    {"acos", std::acos, -1, 1, 4},         {"atan", std::atan, -1e4, 1e4, 5},
    {"sinh", std::sinh, -80, 80, 4},       {"cosh", std::cosh, -80, 80, 4},
    {"tanh", std::tanh, -20, 20, 5},       {"exp", std::exp, -80, 80, 3},
    {"exp2", std::exp2, -120, 120, 3},     {"expm1", std::expm1, -50, 80, 3},
    {"log", std::log, 1e-30, 1e30, 3},     {"log2", std::log2, 1e-30, 1e30, 3},
    {"log10", std::log10, 1e-30, 1e30, 3}, {"log1p", std::log1p, -0.99, 1e10, 2},
    {"sqrt", std::sqrt, 0, 1e30, 0.5},     {"cbrt", std::cbrt, -1e30, 1e30, 2},
    {"erf", std::erf, -4, 4, 16},          {"floor", std::floor, -1e6, 1e6, 0},
    {"ceil", std::ceil, -1e6, 1e6, 0},     {"trunc", std::trunc, -1e6, 1e6, 0},
    {"rint", std::rint, -1e6, 1e6, 0},     {"round", std::round, -1e6, 1e6, 0},
};

constexpr std::int64_t count = 20'000;

std::vector<float> inputs(const Function& function) {
  std::vector<float> values(count);
  for (std::int64_t i = 0; i < count; ++i)
    values[static_cast<std::size_t>(i)] = static_cast<float>(
        function.low + (function.high - function.low) * static_cast<double>(i) / (count - 1));
  return values;
}

std::vector<float> computed(const Device& device, const std::string& name, const std::vector<float>& in) {
  const weir::Stream stream = device.create_stream();
  const auto x = array_of(device, in);
  const auto out = device.array<float>(count);
  run_text(
      "weir-ir 1\nkernel \"unary\"\n  param @out : array<f32, 1>\n  param @x : array<f32, 1>\n{\n"
      "  %zero = const 0 : i64\n  %n = extent @out, 0 : i64\n  parallel (%i) in (%zero to %n) {\n"
      "    %x = load @x[%i] : f32\n    %v = math." +
          name + " %x : f32\n    store @out[%i], %v\n  }\n}\n",
      stream, out, x);
  return out.to_host(stream);
}

WEIR_REQUIREMENT(6, 20, Math, IsWithinOpenCLsLimits,
                 "Math functions of f32 are within the error limits of OpenCL C on normal results.") {
  for (const Function& function : functions) {
    const std::vector<float> in = inputs(function), out = computed(api_device(), function.name, in);
    for (std::size_t i = 0; i < in.size(); ++i) {
      const double expected = function.reference(in[i]);
      if (std::fabs(expected) < std::numeric_limits<float>::min()) continue;
      const double unit = std::ldexp(1.0, std::ilogb(expected) - 23);
      ASSERT_LE(std::fabs(out[i] - expected) / unit, function.limit + 1e-6)
          << function.name << "(" << in[i] << ") gives " << out[i] << "; expected " << expected;
    }
  }
}

WEIR_REQUIREMENT(6, 21, Math, HasTheSameBitsAsOnTheCpu,
                 "Math functions of f32 give the same bits as on the CPU driver.") {
  const Device judged_device = api_device();
  if (judged_device.driver() == "cpu") throw Skipped("this is the CPU driver");
  std::vector<Device> present = devices();
  const auto cpu =
      std::ranges::find_if(present, [](const Device& device) { return device.driver() == "cpu"; });
  if (cpu == present.end()) throw Skipped("the CPU driver is not installed");
  for (const Function& function : functions) {
    const std::vector<float> in = inputs(function);
    const std::vector<float> here = computed(judged_device, function.name, in),
                             there = computed(*cpu, function.name, in);
    for (std::size_t i = 0; i < in.size(); ++i)
      ASSERT_EQ(std::memcmp(&here[i], &there[i], sizeof(float)), 0)
          << function.name << "(" << in[i] << ") gives " << here[i] << ", on the CPU " << there[i];
  }
}

WEIR_REQUIREMENT(6, 22, Math, PhiloxIsThePublishedOne,
                 "philox gives the published results of Philox 4x32-10.") {
  const Device device = api_device();
  const weir::Stream stream = device.create_stream();
  // Key, counter, result: the known answers of Salmon et al.
  const std::vector<std::uint32_t> keys = {0, 0, ~0u, ~0u, 0xa4093822, 0x299f31d0};
  const std::vector<std::uint32_t> counters = {0,   0,   0,          0,          ~0u,        ~0u,
                                               ~0u, ~0u, 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344};
  const std::vector<std::uint32_t> expected = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8,
                                               0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd,
                                               0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1};
  const auto k = array_of(device, keys), c = array_of(device, counters);
  const auto out = device.array<std::uint32_t>(12);
  std::string words;
  for (int w = 0; w < 4; ++w) {
    const std::string n = std::to_string(w);
    words += "    %o" + n + " = const " + n + " : i64\n    %at" + n + " = add %base, %o" + n +
             " : i64\n    %c" + n + " = load @c[%at" + n + "] : u32\n";
  }
  for (int w = 0; w < 4; ++w) {
    const std::string n = std::to_string(w);
    words += "    %r" + n + " = philox." + n + " %k0, %k1, %c0, %c1, %c2, %c3 : u32\n    store @out[%at" + n +
             "], %r" + n + "\n";
  }
  run_text(R"(weir-ir 1
kernel "philox"
  param @out : array<u32, 1>
  param @k : array<u32, 1>
  param @c : array<u32, 1>
{
  %zero = const 0 : i64
  %one = const 1 : i64
  %two = const 2 : i64
  %three = const 3 : i64
  %four = const 4 : i64
  parallel (%i) in (%zero to %three) {
    %base = mul %i, %four : i64
    %first = mul %i, %two : i64
    %second = add %first, %one : i64
    %k0 = load @k[%first] : u32
    %k1 = load @k[%second] : u32
)" + words + "  }\n}\n",
           stream, out, k, c);
  EXPECT_EQ(out.to_host(stream), expected);
}

}  // namespace
}  // namespace weir::conformance
