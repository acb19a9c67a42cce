// SPDX-License-Identifier: Apache-2.0
// Every math function of the kernel language, in f32 and f64, on 2^20 inputs within OpenCL's error limits.
// WEIR_MATH_INPUTS=N takes N; `ctest -C matrix` has 2^22.
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <random>
#include <stdexcept>
#include <string_view>

#include "harness.hpp"
#include "reference.hpp"

namespace weir::test {
namespace {

std::size_t input_count() {
  const char* set = std::getenv("WEIR_MATH_INPUTS");
  return set ? std::strtoull(set, nullptr, 10) : std::size_t{1} << 20;
}

template <class T>
struct Inputs {
  std::vector<T> x, y, z;
  std::vector<std::int32_t> n;
};

template <class T>
std::vector<T> special_values() {
  using L = std::numeric_limits<T>;
  std::vector<T> values;
  for (T v : {T(0),
              L::denorm_min(),
              L::min(),
              std::nextafter(L::min(), T(0)),
              L::epsilon(),
              T(0.5),
              T(1),
              std::nextafter(T(1), T(0)),
              std::nextafter(T(1), T(2)),
              T(1.5),
              T(2),
              T(2.5),
              T(3),
              T(10),
              T(0.25),
              T(M_PI),
              T(M_PI_2),
              T(M_PI_4),
              T(M_LN2),
              T(8192),
              T(32768),
              T(65536),
              T(1048576),
              T(16777217),
              T(4503599627370497.0),
              L::max(),
              L::infinity(),
              L::quiet_NaN(),
              T(171.6),
              T(35.04),
              T(88.7),
              T(103.97),
              T(709.78),
              T(745.13),
              T(127),
              T(128),
              T(1023),
              T(1024),
              T(149),
              T(1074)}) {
    values.push_back(v);
    values.push_back(-v);
  }
  return values;
}

/// Half of the operands are spread over all bit patterns, half over the function's significant range.
template <class T>
Inputs<T> make_inputs(const MathCase& function, std::size_t count) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  std::mt19937_64 random(20240607);
  const std::vector<T> special = special_values<T>();
  std::uniform_real_distribution<T> near{T(function.low), T(function.high)};
  std::uniform_real_distribution<T> base{T(0.7), T(1.5)};
  std::uniform_real_distribution<T> exponent{T(std::numeric_limits<T>::min_exponent),
                                             T(std::numeric_limits<T>::max_exponent)};
  const auto pattern = [&] { return std::bit_cast<T>(Bits(random())); };
  Inputs<T> in;
  in.x.resize(count);
  if (function.operands > 1 && !function.integer_second) in.y.resize(count);
  if (function.operands > 2) in.z.resize(count);
  if (function.integer_second) in.n.resize(count);
  const std::int32_t counts[] = {0,  1,    -1,  2,   -2,   3,    -3,    5,          7,
                                 10, -126, 127, 150, -150, 2000, -2000, 2147483647, -2147483647 - 1};
  for (std::size_t i = 0; i < count; ++i) {
    const bool wide = i % 2 == 0;
    in.x[i] = wide ? pattern() : near(random);
    if (!in.y.empty()) in.y[i] = i % 4 < 2 ? near(random) : pattern();
    // Results near both ends of the range depend most on the digits of pow's logarithm.
    if (std::string_view(function.name).starts_with("pow") && !in.y.empty() && i % 8 == 7) {
      in.x[i] = base(random);
      in.y[i] = exponent(random) / std::log2(in.x[i]);
    }
    if (!in.z.empty()) in.z[i] = i % 4 == 1 ? -in.x[i] * in.y[i] : pattern();
    if (!in.n.empty()) in.n[i] = std::int32_t(i % 8 == 7 ? random() : random() % 401 - 200);
  }
  const std::size_t seconds = !in.n.empty() ? std::size(counts) : in.y.empty() ? 1 : special.size();
  for (std::size_t i = 0; i < special.size() * seconds && i < count; ++i) {
    in.x[i] = special[i / seconds];
    if (!in.y.empty()) in.y[i] = special[i % seconds];
    if (!in.n.empty()) in.n[i] = counts[i % seconds];
  }
  return in;
}

std::string kernel_of(const MathCase& function, const std::string& type, bool fast) {
  const std::string second = function.integer_second ? "i32" : type;
  const std::string result = function.integer_result ? "i32" : type;
  std::string parameters = "param @r: array<" + result + ", 1>\nparam @x: array<" + type + ", 1>\n";
  std::string loads = "    %x = load @x[%i] : " + type + "\n", operands = "%x";
  if (function.operands > 1) {
    parameters += "param @y: array<" + second + ", 1>\n";
    loads += "    %y = load @y[%i] : " + second + "\n";
    operands += ", %y";
  }
  if (function.operands > 2) {
    parameters += "param @z: array<" + type + ", 1>\n";
    loads += "    %z = load @z[%i] : " + type + "\n";
    operands += ", %z";
  }
  return std::string("weir-ir 1\nkernel \"map\"\n") + (fast ? "fast_math\n" : "") + parameters +
         "{\n  %zero = const 0 : i64\n  %n = extent @r, 0 : i64\n  parallel (%i) in (%zero to %n) {\n" +
         loads + "    %v = math." + function.name + " " + operands + " : " + result +
         "\n    store @r[%i], %v\n  }\n}\n";
}

// OpenCL leaves lgamma's error unspecified; near its zeros only the absolute error is meaningful.
double allowed(const MathCase& function, bool single, long double expected) {
  if (std::string_view(function.name) != "lgamma") return function.limit;
  return std::fabs(expected) > 1
             ? 16
             : 16 * std::ldexp(1.0, single ? -23 : -52) /
                   std::ldexp(1.0, std::max(std::ilogb(double(expected)), single ? -126 : -1022) -
                                       (single ? 23 : 52));
}

// One function's results, judged by the fastest oracle that suffices.
template <class T>
class Judge {
 public:
  static constexpr bool single = sizeof(T) == 4;

  explicit Judge(const MathCase& function)
      : function_(function),
        name_(function.name),
        quick_(quick_reference<double>(name_)),
        extended_(quick_reference<long double>(name_)),
        trust_(trust_in_double(name_, single)),
        precise_(function) {}

  struct Verdict {
    double error, limit;     ///< in ULP
    long double expected;    ///< rounded by the oracle used
    double reference_error;  ///< of the first oracle, if computed by MPFR; otherwise 0
  };

  Verdict operator()(const Operands& o, T got, bool sampled) {
    const double quick = quick_(o);
    Verdict v{0, allowed(function_, single, quick), quick, 0};
    if constexpr (single) {
      v.error = error_in_ulp_of_f32(quick, got);
    } else {
      v.error = steps_apart(quick, got);
      if (!(v.error <= v.limit - trust_)) {
        v.expected = extended_(o);
        v.limit = allowed(function_, single, v.expected);
        v.error = error_in_ulp_of_f64(v.expected, got);
      }
    }
    if (v.error > v.limit - 0.1 || sampled) {
      precise_.compute(o);
      v.error = precise_.error(got);
      v.reference_error = std::isinf(trust_) ? 0 : precise_.error(quick);
    }
    return v;
  }

  // Exact: the oracle rounds to the result type, including ties.
  Verdict exact(const Operands& o, long double got) const {
    const double quick = quick_(o);
    const double rounded = function_.integer_result ? quick : double(T(quick));
    const bool same = rounded == got || (std::isnan(rounded) && std::isnan(got));
    const bool either_zero = function_.integer_result || name_.ends_with("mag");
    bool right = same && (got != 0 || std::signbit(rounded) == std::signbit(got) || either_zero);
    // FP_ILOGBNAN may be the largest or the smallest integer.
    if (function_.integer_result && std::isnan(o.x)) right = std::fabs(got) >= 2147483647.0L;
    return {right ? 0 : INFINITY, 0, quick, 0};
  }

  bool is_exact() const { return function_.limit == 0 && name_ != "lgamma"; }
  double trust() const { return trust_; }

 private:
  const MathCase& function_;
  const std::string_view name_;
  const Quick<double> quick_;
  const Quick<long double> extended_;
  const double trust_;
  PreciseReference precise_;
};

template <class T>
void check(const MathCase& function, bool fast = false) {
  constexpr bool single = sizeof(T) == 4;
  const std::size_t count = input_count();
  Inputs<T> in = make_inputs<T>(function, count);
  std::vector<T> results(count);
  std::vector<std::int32_t> integers(function.integer_result ? count : 0);
  Code code(kernel_of(function, single ? "f32" : "f64", fast));
  code.array("x", in.x);
  if (function.integer_result)
    code.array("r", integers);
  else
    code.array("r", results);
  if (!in.y.empty()) code.array("y", in.y);
  if (!in.n.empty()) code.array("y", in.n);
  if (!in.z.empty()) code.array("z", in.z);
  code.run(3);

  Judge<T> judge(function);
  double worst = 0, worst_reference = 0;
  Operands worst_at;
  int failures = 0;
  for (std::size_t i = 0; i < count; ++i) {
    Operands o{in.x[i], in.y.empty() ? (in.n.empty() ? 0.0L : in.n[i]) : in.y[i],
               in.z.empty() ? 0.0L : in.z[i], single};
    const long double got = function.integer_result ? (long double)integers[i] : (long double)results[i];
    const auto v = judge.is_exact() ? judge.exact(o, got) : judge(o, T(got), i % 256 == 0);
    if (v.error > worst) {
      worst = v.error;
      worst_at = o;
    }
    worst_reference = std::max(worst_reference, v.reference_error);
    if (v.error > v.limit && ++failures <= 5)
      ADD_FAILURE() << function.name << (single ? " f32" : " f64") << " of " << std::hexfloat << o.x << ", "
                    << o.y << ", " << o.z << " is " << got << ", expected " << v.expected << ": "
                    << std::defaultfloat << v.error << " ULP, allowed " << v.limit;
  }
  EXPECT_EQ(failures, 0) << "of " << count;
  EXPECT_LE(worst_reference, judge.trust())
      << "ULP by which the C library, which clears results of " << function.name << ", is wrong by MPFR";
  std::printf("%-10s %s worst %.3f ULP, known to %.1f, at %La %La\n", function.name, single ? "f32" : "f64",
              worst, single || judge.is_exact() || std::isinf(judge.trust()) ? 0.1 : judge.trust(),
              worst_at.x, worst_at.y);
}

TEST(PreciseReference, RefusesInexactFunctionsWithoutAnMpfrFunction) {
  const MathCase rounds{"ceil", 1, false, false, 0, -10, 10};
  EXPECT_NO_THROW(PreciseReference{rounds});
  const MathCase unknown{"ceil", 1, false, false, 4, -10, 10};
  try {
    PreciseReference reference(unknown);
    FAIL() << "no MPFR function computes ceil";
  } catch (const std::logic_error& error) {
    EXPECT_NE(std::string_view(error.what()).find("'ceil' has no exact reference; add"), std::string::npos);
  }
}

class MathFunctions : public testing::TestWithParam<MathCase> {};

TEST_P(MathFunctions, F32IsWithinOpenClLimits) {
  check<float>(GetParam());
}
TEST_P(MathFunctions, F64IsWithinOpenClLimits) {
  check<double>(GetParam());
}

INSTANTIATE_TEST_SUITE_P(OpenCl, MathFunctions, testing::ValuesIn(math_cases()),
                         [](const auto& info) { return std::string(info.param.name); });

// Fast mode permits contraction of products and sums inside these functions, and nothing else.
class FastMathFunctions : public MathFunctions {};

TEST_P(FastMathFunctions, AreWithinOpenClLimits) {
  check<float>(GetParam(), true);
  check<double>(GetParam(), true);
}

std::vector<MathCase> common_cases() {
  std::vector<MathCase> cases;
  for (const MathCase& function : math_cases())
    for (const char* name : {"sin", "cos", "exp", "log", "pow"})
      if (std::string_view(function.name) == name) cases.push_back(function);
  return cases;
}

INSTANTIATE_TEST_SUITE_P(OpenCl, FastMathFunctions, testing::ValuesIn(common_cases()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace weir::test
