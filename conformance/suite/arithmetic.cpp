// SPDX-License-Identifier: Apache-2.0
// Level 6: arithmetic as sdk/docs/ir.md defines it, with the same bits on every device.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>

#include "api.hpp"
#include "kernels/gate.hpp"
#include "process/unusual_environment.hpp"

namespace weir::conformance {
namespace {

template <class T>
std::string name_of() {
  return (std::is_floating_point_v<T> ? "f"
          : std::is_signed_v<T>       ? "i"
                                      : "u") +
         std::to_string(8 * sizeof(T));
}

/// out[i] = operation(a[i], b[i]).
template <class T, class R = T>
std::string binary_text(const std::string& operation) {
  const std::string t = name_of<T>(), r = name_of<R>();
  return "weir-ir 1\nkernel \"binary\"\n  param @out : array<" + r + ", 1>\n  param @a : array<" + t +
         ", 1>\n  param @b : array<" + t + ", 1>\n{\n  %zero = const 0 : i64\n  %n = extent @out, 0 : i64\n" +
         "  parallel (%i) in (%zero to %n) {\n    %a = load @a[%i] : " + t + "\n    %b = load @b[%i] : " + t +
         "\n    %v = " + operation + " : " + r + "\n    store @out[%i], %v\n  }\n}\n";
}

template <class T, class R = T>
std::vector<R> binary(const std::string& operation, const std::vector<T>& a, const std::vector<T>& b) {
  const Device device = api_device();
  const weir::Stream stream = device.create_stream();
  const auto x = array_of(device, a), y = array_of(device, b);
  const auto out = device.array<R>(static_cast<std::int64_t>(a.size()));
  run_text(binary_text<T, R>(operation), stream, out, x, y);
  return out.to_host(stream);
}

/// Every pair of the interesting values of T.
template <class T>
void pairs(std::vector<T>& a, std::vector<T>& b) {
  std::vector<T> values = {T(0),
                           T(1),
                           T(2),
                           T(3),
                           T(7),
                           T(100),
                           std::numeric_limits<T>::max(),
                           std::numeric_limits<T>::lowest(),
                           static_cast<T>(std::numeric_limits<T>::max() / 3)};
  if constexpr (std::is_signed_v<T>) values.insert(values.end(), {T(-1), T(-2), T(-7), T(-100)});
  if constexpr (std::is_floating_point_v<T>)
    values.insert(values.end(),
                  {T(-0.0), T(0.1), T(1e-3), T(-2.5), std::numeric_limits<T>::min(),
                   std::numeric_limits<T>::denorm_min(), -std::numeric_limits<T>::denorm_min() * 5,
                   std::numeric_limits<T>::infinity(), -std::numeric_limits<T>::infinity(),
                   std::numeric_limits<T>::epsilon(), T(1) / T(3)});
  for (const T x : values)
    for (const T y : values) a.push_back(x), b.push_back(y);
}

template <class T>
bool same(T x, T y) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(x) && std::isnan(y)) return true;
    return std::memcmp(&x, &y, sizeof x) == 0;
  } else {
    return x == y;
  }
}

template <class T>
void expect_binary(const std::string& operation, const std::function<T(T, T)>& reference) {
  std::vector<T> a, b;
  pairs(a, b);
  const std::vector<T> seen = binary<T>(operation + " %a, %b", a, b);
  for (std::size_t i = 0; i < a.size(); ++i)
    ASSERT_TRUE(same(seen[i], reference(a[i], b[i])))
        << operation << " of " << name_of<T>() << ": " << +a[i] << ", " << +b[i] << " gives " << +seen[i]
        << "; expected " << +reference(a[i], b[i]);
}

template <class T>
void expect_integers() {
  using U = std::make_unsigned_t<T>;
  expect_binary<T>("add", [](T x, T y) { return static_cast<T>(U(x) + U(y)); });
  expect_binary<T>("sub", [](T x, T y) { return static_cast<T>(U(x) - U(y)); });
  expect_binary<T>("mul", [](T x, T y) { return static_cast<T>(static_cast<std::uint64_t>(U(x)) * U(y)); });
  const auto overflows = [](T x, T y) {
    return std::is_signed_v<T> && y == T(-1) && x == std::numeric_limits<T>::min();
  };
  expect_binary<T>("div", [=](T x, T y) {
    return y == 0 ? T(0) : overflows(x, y) ? x : static_cast<T>(x / y);
  });
  expect_binary<T>("rem", [=](T x, T y) { return y == 0 || overflows(x, y) ? T(0) : static_cast<T>(x % y); });
  expect_binary<T>("min", [](T x, T y) { return std::min(x, y); });
  expect_binary<T>("max", [](T x, T y) { return std::max(x, y); });
  expect_binary<T>("and", [](T x, T y) { return static_cast<T>(x & y); });
  expect_binary<T>("xor", [](T x, T y) { return static_cast<T>(x ^ y); });
  constexpr unsigned width = 8 * sizeof(T);
  expect_binary<T>(
      "shl", [](T x, T y) { return static_cast<T>(static_cast<std::uint64_t>(U(x)) << (U(y) % width)); });
  expect_binary<T>("shr", [](T x, T y) { return static_cast<T>(x >> (U(y) % width)); });
}

WEIR_REQUIREMENT(6, 01, Arithmetic, OfSignedIntegers,
                 "Signed integers wrap; division by 0 gives 0, the smallest value by -1 itself; shifts are "
                 "modulo the width.") {
  expect_integers<std::int32_t>();
  expect_integers<std::int64_t>();
}

WEIR_REQUIREMENT(
    6, 02, Arithmetic, OfUnsignedIntegers,
    "Unsigned integers wrap; division by 0 gives 0; shifts are modulo the width and fill with zero.") {
  expect_integers<std::uint32_t>();
  expect_integers<std::uint64_t>();
}

WEIR_REQUIREMENT(6, 03, Arithmetic, OfSmallIntegers, "Integers of 8 and 16 bits wrap in their own width.") {
  expect_integers<std::int8_t>();
  expect_integers<std::uint16_t>();
}

template <class T>
void expect_floats() {
  expect_binary<T>("add", [](T x, T y) { return x + y; });
  expect_binary<T>("sub", [](T x, T y) { return x - y; });
  expect_binary<T>("mul", [](T x, T y) { return x * y; });
  expect_binary<T>("div", [](T x, T y) { return x / y; });
  expect_binary<T>("rem", [](T x, T y) { return std::fmod(x, y); });
}

WEIR_REQUIREMENT(6, 04, Arithmetic, OfFloats,
                 "f32 is IEEE 754, correctly rounded, with denormals, infinities and signed zeros; division "
                 "and remainder are exact.") {
  expect_floats<float>();
}

WEIR_REQUIREMENT(6, 05, Arithmetic, OfDoubles,
                 "f64 is IEEE 754, correctly rounded, with denormals, infinities and signed zeros; division "
                 "and remainder are exact.") {
  expect_floats<double>();
}

// Runs in a process of its own: threads inherit the environment of the thread that starts them.
WEIR_REQUIREMENT(6, 08, FirstCall, KernelsInheritNoFloatingPointEnvironment,
                 "Kernels round to nearest and keep denormals, also if the threads that open the device, "
                 "create the stream, launch and wait use other settings.") {
  const std::vector<float> some = {1.0f, 2.0f, -1.0f, 1e-38f, 7.0f, -1e-38f, 1e10f, -5.0f};
  const Program program = Program::parse(binary_text<float>("div %a, %b"));
  std::optional<Device> device;
  std::optional<weir::Stream> stream;
  {
    const UnusualEnvironment unusual;
    device = api_device();
    stream = device->create_stream();
    stream->synchronize();
  }
  // Few elements run on the thread that waits, in some drivers, and many on several threads.
  for (const std::size_t count : {8u, 1u << 20})
    for (const bool waits : {true, false}) {
      std::vector<float> a, b;
      for (std::size_t i = 0; i < count; ++i) {
        a.push_back(some[i % some.size()]);
        b.push_back(i % 2 ? 3.0f : 10.0f);
      }
      const auto x = array_of(*device, a), y = array_of(*device, b);
      const auto out = device->array<float>(static_cast<std::int64_t>(count));
      const LaunchArgument list[] = {argument_of(out), argument_of(x), argument_of(y)};
      run_program(program, *stream, list);  // compiles it in the default environment
      out.fill(*stream, 0.0f);
      stream->synchronize();
      {
        const UnusualEnvironment unusual;
        run_program(program, *stream, list);
        stream->flush();
        if (waits)
          stream->synchronize();
        else  // a thread of the driver runs it
          (void)eventually([&] { return stream->query(); });
      }
      const std::vector<float> found = out.to_host(*stream);
      for (std::size_t i = 0; i < count; ++i)
        ASSERT_EQ(found[i], a[i] / b[i])
            << "is " << a[i] << " / " << b[i] << " in element " << i << " of " << count
            << ", in a kernel that was launched and " << (waits ? "waited for" : "queried")
            << " on a thread that rounds upward and flushes denormals to zero. Look first at the thread that "
               "ran it, and at what it inherited or kept";
    }
}

WEIR_REQUIREMENT(6, 06, Arithmetic, IsNotContracted,
                 "a * b + c is rounded twice: nothing is contracted, and fma is rounded once.") {
  std::vector<double> a, b;
  for (int i = 1; i <= 1000; ++i) a.push_back(1.0 + i * 0x1p-30), b.push_back(1.0 - i * 0x1p-31);
  const Device device = api_device();
  const weir::Stream stream = device.create_stream();
  const auto x = array_of(device, a), y = array_of(device, b);
  const auto twice = device.array<double>(1000), once = device.array<double>(1000);
  run_text(R"(weir-ir 1
kernel "contract"
  param @twice : array<f64, 1>
  param @once : array<f64, 1>
  param @a : array<f64, 1>
  param @b : array<f64, 1>
{
  %zero = const 0 : i64
  %n = extent @twice, 0 : i64
  %c = const -1.0 : f64
  parallel (%i) in (%zero to %n) {
    %a = load @a[%i] : f64
    %b = load @b[%i] : f64
    %p = mul %a, %b : f64
    %s = add %p, %c : f64
    store @twice[%i], %s
    %f = math.fma %a, %b, %c : f64
    store @once[%i], %f
  }
}
)",
           stream, twice, once, x, y);
  const auto seen_twice = twice.to_host(stream), seen_once = once.to_host(stream);
  for (std::size_t i = 0; i < 1000; ++i) {
    const volatile double product = a[i] * b[i];
    ASSERT_EQ(seen_twice[i], product - 1.0) << "a product was not rounded";
    ASSERT_EQ(seen_once[i], std::fma(a[i], b[i], -1.0)) << "fma was rounded twice";
  }
}

WEIR_REQUIREMENT(6, 07, Arithmetic, CastsSaturate,
                 "Casts from floats to integers truncate and saturate, and NaN becomes 0.") {
  const Device device = api_device();
  const weir::Stream stream = device.create_stream();
  const float infinity = std::numeric_limits<float>::infinity(),
              nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> in = {0.9f,  -0.9f,  1.5f,     -1.5f,     3e9f, -3e9f,
                                 1e20f, -1e20f, infinity, -infinity, nan,  2147483520.0f};
  const auto x = array_of(device, in);
  const auto i32 = device.array<std::int32_t>(12);
  const auto u8 = device.array<std::uint8_t>(12);
  run_text(R"(weir-ir 1
kernel "casts"
  param @i : array<i32, 1>
  param @u : array<u8, 1>
  param @x : array<f32, 1>
{
  %zero = const 0 : i64
  %n = extent @x, 0 : i64
  parallel (%k) in (%zero to %n) {
    %x = load @x[%k] : f32
    %i = cast %x : i32
    store @i[%k], %i
    %u = cast %x : u8
    store @u[%k], %u
  }
}
)",
           stream, i32, u8, x);
  constexpr std::int32_t high = std::numeric_limits<std::int32_t>::max(),
                         low = std::numeric_limits<std::int32_t>::min();
  EXPECT_EQ(i32.to_host(stream),
            (std::vector<std::int32_t>{0, 0, 1, -1, high, low, high, low, high, low, 0, 2147483520}));
  EXPECT_EQ(u8.to_host(stream), (std::vector<std::uint8_t>{0, 0, 1, 0, 255, 0, 255, 0, 255, 0, 0, 255}));
}

}  // namespace
}  // namespace weir::conformance
