// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <functional>
#include <limits>
#include <map>

#include "reference.hpp"

namespace weir::test {
namespace {

constexpr long double pi = 3.14159265358979323846264338327950288L;
constexpr long double nan = std::numeric_limits<long double>::quiet_NaN();
constexpr long double infinity = std::numeric_limits<long double>::infinity();

bool whole(long double x) {
  return std::rint(x) == x;
}
bool odd(long double x) {
  return whole(x) && std::fmod(x, 2.0L) != 0;
}

/// x modulo 2 in [-1, 1], exact.
long double turn(long double x) {
  return std::remainder(x, 2.0L);
}

long double sinpi(long double x) {
  if (!std::isfinite(x)) return nan;
  if (whole(x)) return std::copysign(0.0L, x);
  long double r = turn(x);
  if (std::fabs(r) > 0.5L) r = std::copysign(1.0L, r) - r;
  return std::sin(pi * r);
}

long double cospi(long double x) {
  if (!std::isfinite(x)) return nan;
  const long double r = std::fabs(turn(x));
  if (r == 0.5L) return 0.0L;
  return r < 0.25L ? std::cos(pi * r) : std::sin(pi * (0.5L - r));
}

long double tanpi(long double x) {
  if (!std::isfinite(x)) return nan;
  if (whole(x)) return std::copysign(0.0L, odd(x) ? -x : x);
  if (whole(x - 0.5L) && std::fabs(x) < 0x1p60L)
    return std::copysign(infinity, odd(std::floor(x)) ? -1.0L : 1.0L);
  return sinpi(x) / cospi(x);
}

long double rootn(long double x, long double n) {
  if (n == 0 || (x < 0 && !odd(n))) return nan;
  if (x == 0) {
    const long double sign = odd(n) ? std::copysign(1.0L, x) : 1.0L;
    return std::copysign(n < 0 ? infinity : 0.0L, sign);
  }
  return std::copysign(std::pow(std::fabs(x), 1 / n), x);
}

long double powr(long double x, long double y) {
  if (std::isnan(x) || std::isnan(y) || x < 0) return nan;
  if ((x == 0 || std::isinf(x)) && y == 0) return nan;
  if (x == 1 && std::isinf(y)) return nan;
  return std::pow(std::fabs(x), y);
}

long double by_size(long double x, long double y, bool greater) {
  const long double a = std::fabs(x), b = std::fabs(y);
  if (greater ? a > b : a < b) return x;
  if (greater ? b > a : b < a) return y;
  return greater ? std::fmax(x, y) : std::fmin(x, y);
}

using Unary = long double (*)(long double);

const std::map<std::string, std::function<long double(const Operands&)>>& functions() {
  const auto unary = [](Unary f) { return [f](const Operands& o) { return f(o.x); }; };
#define WEIR_UNARY(name)                                                    \
  {                                                                         \
#name, unary([](long double x) -> long double { return std::name(x); }) \
  }
  static const std::map<std::string, std::function<long double(const Operands&)>> table = {
      WEIR_UNARY(acos),
      WEIR_UNARY(acosh),
      WEIR_UNARY(asin),
      WEIR_UNARY(asinh),
      WEIR_UNARY(atan),
      WEIR_UNARY(atanh),
      WEIR_UNARY(cbrt),
      WEIR_UNARY(ceil),
      WEIR_UNARY(cos),
      WEIR_UNARY(cosh),
      WEIR_UNARY(erf),
      WEIR_UNARY(erfc),
      WEIR_UNARY(exp),
      WEIR_UNARY(exp2),
      WEIR_UNARY(expm1),
      WEIR_UNARY(floor),
      WEIR_UNARY(lgamma),
      WEIR_UNARY(log),
      WEIR_UNARY(log2),
      WEIR_UNARY(log10),
      WEIR_UNARY(log1p),
      WEIR_UNARY(logb),
      WEIR_UNARY(rint),
      WEIR_UNARY(round),
      WEIR_UNARY(sin),
      WEIR_UNARY(sinh),
      WEIR_UNARY(tan),
      WEIR_UNARY(tanh),
      WEIR_UNARY(tgamma),
      WEIR_UNARY(trunc),
      WEIR_UNARY(sqrt),
      {"acospi", unary([](long double x) { return std::acos(x) / pi; })},
      {"asinpi", unary([](long double x) { return std::asin(x) / pi; })},
      {"atanpi", unary([](long double x) { return std::atan(x) / pi; })},
      {"exp10", unary([](long double x) { return ::exp10l(x); })},
      {"sinpi", unary(sinpi)},
      {"cospi", unary(cospi)},
      {"tanpi", unary(tanpi)},
      {"rsqrt", unary([](long double x) { return 1 / std::sqrt(x); })},
      {"ilogb", unary([](long double x) {
         if (x == 0 || std::isnan(x))
           return static_cast<long double>(std::numeric_limits<std::int32_t>::min());
         return std::isinf(x) ? static_cast<long double>(std::numeric_limits<std::int32_t>::max())
                              : std::logb(x);
       })},
      {"atan2", [](const Operands& o) { return std::atan2(o.x, o.y); }},
      {"atan2pi", [](const Operands& o) { return std::atan2(o.x, o.y) / pi; }},
      {"copysign", [](const Operands& o) { return std::copysign(o.x, o.y); }},
      {"fdim",
       [](const Operands& o) {
         return o.single ? static_cast<long double>(std::fdim(float(o.x), float(o.y)))
                         : static_cast<long double>(std::fdim(double(o.x), double(o.y)));
       }},
      {"fmod", [](const Operands& o) { return std::fmod(o.x, o.y); }},
      {"hypot", [](const Operands& o) { return std::hypot(o.x, o.y); }},
      {"ldexp", [](const Operands& o) { return std::ldexp(o.x, int(o.y)); }},
      {"maxmag", [](const Operands& o) { return by_size(o.x, o.y, true); }},
      {"minmag", [](const Operands& o) { return by_size(o.x, o.y, false); }},
      {"nextafter",
       [](const Operands& o) {
         return o.single ? static_cast<long double>(std::nextafter(float(o.x), float(o.y)))
                         : static_cast<long double>(std::nextafter(double(o.x), double(o.y)));
       }},
      {"pow", [](const Operands& o) { return std::pow(o.x, o.y); }},
      {"pown", [](const Operands& o) { return std::pow(o.x, o.y); }},
      {"powr", [](const Operands& o) { return powr(o.x, o.y); }},
      {"remainder", [](const Operands& o) { return std::remainder(o.x, o.y); }},
      {"rootn", [](const Operands& o) { return rootn(o.x, o.y); }},
      {"fma",
       [](const Operands& o) {
         return o.single ? static_cast<long double>(std::fma(float(o.x), float(o.y), float(o.z)))
                         : static_cast<long double>(std::fma(double(o.x), double(o.y), double(o.z)));
       }},
  };
#undef WEIR_UNARY
  return table;
}

}  // namespace

const std::vector<MathCase>& math_cases() {
  static const std::vector<MathCase> cases = {
      {"acos", 1, false, false, 4, -1, 1},          {"acosh", 1, false, false, 4, 1, 100},
      {"acospi", 1, false, false, 5, -1, 1},        {"asin", 1, false, false, 4, -1, 1},
      {"asinh", 1, false, false, 4, -100, 100},     {"asinpi", 1, false, false, 5, -1, 1},
      {"atan", 1, false, false, 5, -10, 10},        {"atan2", 2, false, false, 6, -10, 10},
      {"atan2pi", 2, false, false, 6, -10, 10},     {"atanh", 1, false, false, 5, -1, 1},
      {"atanpi", 1, false, false, 5, -10, 10},      {"cbrt", 1, false, false, 2, -100, 100},
      {"ceil", 1, false, false, 0, -1000, 1000},    {"copysign", 2, false, false, 0, -10, 10},
      {"cos", 1, false, false, 4, -70000, 70000},   {"cosh", 1, false, false, 4, -720, 720},
      {"cospi", 1, false, false, 4, -10, 10},       {"erf", 1, false, false, 16, -6, 6},
      {"erfc", 1, false, false, 16, -6, 28},        {"exp", 1, false, false, 3, -110, 95},
      {"exp2", 1, false, false, 3, -155, 130},      {"exp10", 1, false, false, 3, -46, 39},
      {"expm1", 1, false, false, 3, -40, 95},       {"fdim", 2, false, false, 0, -10, 10},
      {"floor", 1, false, false, 0, -1000, 1000},   {"fma", 3, false, false, 0, -10, 10},
      {"fmod", 2, false, false, 0, -1000, 1000},    {"hypot", 2, false, false, 4, -100, 100},
      {"ilogb", 1, false, true, 0, -100, 100},      {"ldexp", 2, true, false, 0, -300, 300},
      {"lgamma", 1, false, false, 0, -20, 40},      {"log", 1, false, false, 3, 0, 3},
      {"log2", 1, false, false, 3, 0, 3},           {"log10", 1, false, false, 3, 0, 3},
      {"log1p", 1, false, false, 2, -1, 3},         {"logb", 1, false, false, 0, -100, 100},
      {"maxmag", 2, false, false, 0, -10, 10},      {"minmag", 2, false, false, 0, -10, 10},
      {"nextafter", 2, false, false, 0, -10, 10},   {"pow", 2, false, false, 16, -60, 60},
      {"pown", 2, true, false, 16, -60, 60},        {"powr", 2, false, false, 16, 0, 60},
      {"remainder", 2, false, false, 0, -1e3, 1e3}, {"rint", 1, false, false, 0, -1000, 1000},
      {"rootn", 2, true, false, 16, -60, 60},       {"round", 1, false, false, 0, -1000, 1000},
      {"rsqrt", 1, false, false, 2, 0, 100},        {"sin", 1, false, false, 4, -70000, 70000},
      {"sinh", 1, false, false, 4, -720, 720},      {"sinpi", 1, false, false, 4, -10, 10},
      {"sqrt", 1, false, false, 0.5, 0, 100},       {"tan", 1, false, false, 5, -100, 100},
      {"tanh", 1, false, false, 5, -20, 20},        {"tanpi", 1, false, false, 6, -10, 10},
      {"tgamma", 1, false, false, 16, -40, 175},    {"trunc", 1, false, false, 0, -1000, 1000},
  };
  return cases;
}

long double quick_reference(const std::string& name, const Operands& operands) {
  return functions().at(name)(operands);
}

double error_in_ulp(bool single, long double expected, long double got) {
  if (std::isnan(expected) || std::isnan(got))
    return std::isnan(expected) && std::isnan(got) ? 0 : std::numeric_limits<double>::infinity();
  const long double top = std::ldexp(1.0L, single ? 128 : 1024);
  const auto bounded = [&](long double v) { return std::fabs(v) > top ? std::copysign(top, v) : v; };
  expected = bounded(expected);
  got = bounded(got);
  const int lowest = single ? -126 : -1022, highest = single ? 127 : 1023, digits = single ? 23 : 52;
  const int exponent = expected == 0 ? lowest : std::clamp(std::ilogb(expected), lowest, highest);
  return double(std::fabs(got - expected) / std::ldexp(1.0L, exponent - digits));
}

}  // namespace weir::test
