// SPDX-License-Identifier: Apache-2.0
// Kernels compute in the default floating-point environment, whatever the program's threads use.
#include <bit>
#include <cfenv>
#include <cstring>

#include "support.hpp"

#if defined(__SSE__)
#include <immintrin.h>
#endif

namespace weir::test {
namespace {

/// During its lifetime, this thread rounds upward and flushes denormals to zero, as in programs built with
/// -ffast-math.
class OtherEnvironment {
 public:
  OtherEnvironment() {
    std::fegetenv(&before_);
    std::fesetround(FE_UPWARD);
#if defined(__SSE__)
    _mm_setcsr(_mm_getcsr() | 0x8040u);
#endif
  }
  OtherEnvironment(const OtherEnvironment&) = delete;
  OtherEnvironment& operator=(const OtherEnvironment&) = delete;
  ~OtherEnvironment() {
    std::fesetenv(&before_);
  }

 private:
  std::fenv_t before_;
};

using Numbers = std::vector<float>;

/// Comparisons of numbers depend on the environment, too.
bool have_same_bits(const Numbers& a, const Numbers& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

/// Sums and quotients of one loop.
Numbers of_loop(const Stream& stream, const ArrayView<float>& x) {
  static const Kernel kernel{"loop", [](View<const float> x, View<float> y) {
                               range_for(x.size(), [&](Index i) {
                                 y[i] = select(i % 2 == 0, x[i] * 1e-38f / 10.0f, x[i] + 1e-10f);
                               });
                             }};
  const auto y = tested().array<float>(stream, x.extent(0));
  kernel(stream, x, y);
  return y.to_host(stream);
}

/// Statements, a reduction, and repetitions whose number the host computes.
Numbers of_statements(const Stream& stream, const ArrayView<float>& x) {
  static const Kernel kernel{"statements", [](View<const float> x, View<float> y, Value<float> a) {
                               y[0] = x[0] * 1e-38f / 10.0f;
                               y[1] = x[0] + 1e-10f;
                               y[2] = reduce_sum(x.size(), [&](Index i) { return x[i] * 0.1f; });
                               repeat(cast<std::int32_t>((a + 1e-10f) * 8388608.0f - 8388607.0f),
                                      [&](Index) { y[3] += 1.0f; });
                             }};
  const auto y = tested().array<float>(stream, 4);
  y.fill(stream, 0.0f);
  kernel(stream, x, y, 1.0f);
  return y.to_host(stream);
}

// The thread that waits runs the smallest, all threads run the largest. Whether it does depends on time, so
// that each is run often.
TEST(FloatingPoint, OfTheCallingThreadHasNoEffectOnKernels) {
  const Stream stream = tested().create_stream();
  for (const std::int64_t n : {2, 1000, 300'000}) {
    std::vector<float> numbers(static_cast<std::size_t>(n), 1.0f);
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] += 0.01f * static_cast<float>(i % 7);
    const auto x = upload(numbers);
    const Numbers loop = of_loop(stream, x), statements = of_statements(stream, x);
    EXPECT_EQ(statements[3], 1.0f);
    bool same = true;
    {
      const OtherEnvironment other;
      for (int round = 0; round < 50 && same; ++round)
        same =
            have_same_bits(of_loop(stream, x), loop) && have_same_bits(of_statements(stream, x), statements);
    }
    EXPECT_TRUE(same) << "for " << n << " elements";
  }
}

/// Host numbers of other types than the kernel's, as constants and as arguments, and functions of constants.
/// A kernel with a new name is compiled anew.
std::vector<std::uint64_t> of_host_numbers(const Stream& stream, const char* name) {
  volatile double tenth = 0.1, tiny = 1e-41, large = 1e-310;
  volatile float small = 1e-41f;
  volatile std::int64_t odd = 16777219;
  volatile std::uint64_t high = 0xffffffffffffffff;
  const Kernel kernel{
      name, with_constants([tenth = double(tenth), tiny = double(tiny), small = float(small)](
                               View<float> x, View<double> y, Value<float> a, Value<float> b, Value<float> c,
                               Value<float> d, Value<double> e, Value<double> f) {
        x[0] = a, x[1] = b, x[2] = c, x[3] = d, y[0] = e, y[1] = f;
        x[4] = tenth;
        x[5] = Value<float>(tiny);
        y[2] = y[2] + small;
        x[6] = radians(x[6]);
        x[7] = degrees(x[7]);
        x[8] = sqrt(Value<float>(2.0f));
        y[3] = exp(Value<double>(0.1));
      })};
  const auto x = tested().array<float>(stream, 9);
  const auto y = tested().array<double>(stream, 4);
  x.fill(stream, 1.0f);
  y.fill(stream, 0.0);
  kernel(stream, x, y, double(tenth), double(tiny), std::int64_t(odd), std::uint64_t(high), float(small),
         double(large));
  std::vector<std::uint64_t> bits;
  for (const float value : x.to_host(stream)) bits.push_back(std::bit_cast<std::uint32_t>(value));
  for (const double value : y.to_host(stream)) bits.push_back(std::bit_cast<std::uint64_t>(value));
  return bits;
}

TEST(FloatingPoint, OfTheCallingThreadHasNoEffectOnHostNumbersAndOnTexts) {
  const Stream stream = tested().create_stream();
  const std::string text =
      "weir-ir 1\nkernel \"numbers\"\n{\n  %0 = const 0.1 : f32\n  %1 = const 0.3 : f64\n"
      "  %2 = const 1e-41 : f32\n  %3 = const 1e23 : f64\n}\n";
  const auto numbers = of_host_numbers(stream, "host_numbers");
  EXPECT_EQ(numbers[0], 0x3dcccccdu);
  EXPECT_EQ(numbers[1], 0x1be0u);
  EXPECT_EQ(numbers[2], 0x4b800002u);
  EXPECT_EQ(numbers[3], 0x5f800000u);
  const std::string parsed = Program::parse(text).text();
  const OtherEnvironment other;
  EXPECT_EQ(of_host_numbers(stream, "host_numbers_again"), numbers);
  EXPECT_EQ(Program::parse(text).text(), parsed);
}

}  // namespace
}  // namespace weir::test
