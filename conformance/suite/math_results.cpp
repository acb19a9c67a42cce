// SPDX-License-Identifier: Apache-2.0
// Level 6: every math function of the language gives the portable results.
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>

#include "api.hpp"

namespace weir::conformance {
namespace {

/// One function, and digests of its results for the operands below.
struct Row {
  const char* name;
  int operands;
  bool integer_last;         ///< the last operand is an i32
  const char* integer_type;  ///< of the result if it is not floating point, else empty
  std::uint64_t f32, f64;
};
constexpr Row rows[] = {
#define WEIR_MATH_RESULTS(name, operands, integer_last, integer_type, f32, f64) \
  {#name, operands, integer_last, integer_type, f32, f64},
#include "math_results.def"
#undef WEIR_MATH_RESULTS
};

constexpr std::int64_t calls = 2048;

/// splitmix64 of Steele, Lea and Flood.
std::uint64_t mixed(std::uint64_t number) {
  number += 0x9e3779b97f4a7c15;
  number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9;
  number = (number ^ (number >> 27)) * 0x94d049bb133111eb;
  return number ^ (number >> 31);
}

/// Operand `which` of each call: the limits of a function's domain, in all pairs; arbitrary bits, which
/// include denormals, infinities and NaN; and ordinary values.
template <class T>
std::vector<T> operands(int which) {
  using Limits = std::numeric_limits<T>;
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  const T ends[] = {0,
                    T(-0.0),
                    1,
                    -1,
                    T(0.5),
                    T(-0.5),
                    2,
                    -2,
                    3,
                    T(1.5),
                    10,
                    100,
                    T(1e-5),
                    Limits::min(),
                    -Limits::denorm_min(),
                    Limits::max(),
                    Limits::lowest(),
                    Limits::infinity(),
                    -Limits::infinity(),
                    Limits::quiet_NaN(),
                    1 + Limits::epsilon(),
                    1 - Limits::epsilon(),
                    T(88.7),
                    T(-745)};
  constexpr std::int64_t pairs = std::size(ends) * std::size(ends);
  std::vector<T> values;
  for (std::int64_t i = 0; i < calls; ++i) {
    const std::uint64_t random = mixed(static_cast<std::uint64_t>(i * 3 + which));
    if (i < pairs)
      values.push_back(
          ends[which == 0 ? i % std::size(ends) : (i / std::size(ends) + which - 1) % std::size(ends)]);
    else if (i % 2)
      values.push_back(std::bit_cast<T>(static_cast<Bits>(random)));
    else
      values.push_back(static_cast<T>(static_cast<double>(random >> 11) * 0x1p-53 * 40 - 20));
  }
  return values;
}

/// Exponents, powers and roots.
std::vector<std::int32_t> integers() {
  const std::int32_t ends[] = {0,
                               1,
                               -1,
                               2,
                               -2,
                               3,
                               -3,
                               31,
                               127,
                               -149,
                               1023,
                               -1074,
                               5000,
                               -5000,
                               std::numeric_limits<std::int32_t>::max(),
                               std::numeric_limits<std::int32_t>::min()};
  std::vector<std::int32_t> values;
  for (std::int64_t i = 0; i < calls; ++i)
    values.push_back(i % 3 ? static_cast<std::int32_t>(mixed(static_cast<std::uint64_t>(i)) % 41) - 20
                           : ends[i / 3 % std::size(ends)]);
  return values;
}

/// FNV-1a of the results' bits; all NaNs count as equal.
template <class T>
std::uint64_t digest(std::span<const T> results) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (T value : results) {
    if (std::isnan(value)) value = std::numeric_limits<T>::quiet_NaN();
    std::array<unsigned char, sizeof(T)> bytes;
    std::memcpy(bytes.data(), &value, sizeof value);
    for (const unsigned char byte : bytes) hash = (hash ^ byte) * 0x100000001b3;
  }
  return hash;
}

std::string number(std::int64_t value) {
  return std::to_string(value);
}

/// A loop that stores the results of several functions in sequence, `calls` of each.
std::string text_of(std::span<const Row> functions, const std::string& type) {
  std::string body, constants;
  for (std::size_t f = 0; f < functions.size(); ++f) {
    const Row& row = functions[f];
    const std::string n = number(static_cast<std::int64_t>(f)),
                      result = *row.integer_type ? row.integer_type : type;
    const char* const names[] = {"%x", "%y", "%z"};
    std::string list;
    for (int o = 0; o < row.operands; ++o)
      list += std::string(o ? ", " : "") + (row.integer_last && o == row.operands - 1 ? "%k" : names[o]);
    constants += "  %base" + n + " = const " + number(static_cast<std::int64_t>(f) * calls) + " : i64\n";
    body += "    %v" + n + " = math." + row.name + " " + list + " : " + result + "\n";
    std::string stored = "%v" + n;
    if (*row.integer_type) {
      body += "    %f" + n + " = cast %v" + n + " : " + type + "\n";
      stored = "%f" + n;
    }
    body += "    %at" + n + " = add %i, %base" + n + " : i64\n    store @out[%at" + n + "], " + stored + "\n";
  }
  return "weir-ir 1\nkernel \"math\"\n  param @out : array<" + type + ", 1>\n  param @x : array<" + type +
         ", 1>\n  param @y : array<" + type + ", 1>\n  param @z : array<" + type +
         ", 1>\n  param @k : array<i32, 1>\n{\n  %zero = const 0 : i64\n  %n = extent @x, 0 : i64\n" +
         constants + "  parallel (%i) in (%zero to %n) {\n    %x = load @x[%i] : " + type +
         "\n    %y = load @y[%i] : " + type + "\n    %z = load @z[%i] : " + type +
         "\n    %k = load @k[%i] : i32\n" + body + "  }\n}\n";
}

template <class T>
void expect_portable_results(std::uint64_t Row::*expected) {
  constexpr std::size_t at_once = 8;  // functions in one kernel
  const Device device = api_device();
  const weir::Stream stream = device.create_stream();
  const auto x = array_of(device, operands<T>(0)), y = array_of(device, operands<T>(1)),
             z = array_of(device, operands<T>(2));
  const auto k = array_of(device, integers());
  for (std::size_t first = 0; first < std::size(rows); first += at_once) {
    const std::span<const Row> functions(rows + first, std::min(at_once, std::size(rows) - first));
    const auto out = device.array<T>(calls * static_cast<std::int64_t>(functions.size()));
    run_text(text_of(functions, sizeof(T) == 4 ? "f32" : "f64"), stream, out, x, y, z, k);
    const std::vector<T> results = out.to_host(stream);
    for (std::size_t f = 0; f < functions.size(); ++f) {
      const std::uint64_t found = digest(std::span<const T>(results).subspan(f * calls, calls)),
                          portable = functions[f].*expected;
      EXPECT_TRUE(found == portable) << functions[f].name
                                     << " does not give the portable results: their digest is 0x" << std::hex
                                     << found << "; expected 0x" << portable
                                     << ". C6.20 and C6.21 name single operands";
    }
  }
}

WEIR_REQUIREMENT(
    6, 47, Math, GivesThePortableResultsOfSinglePrecision,
    "Every math function of f32 gives the portable results, bit for bit, denormals, infinities and NaN "
    "among its operands.") {
  expect_portable_results<float>(&Row::f32);
}

WEIR_REQUIREMENT(
    6, 48, Math, GivesThePortableResultsOfDoublePrecision,
    "Every math function of f64 gives the portable results, bit for bit, denormals, infinities and NaN "
    "among its operands.") {
  expect_portable_results<double>(&Row::f64);
}

}  // namespace
}  // namespace weir::conformance
