// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>

#include "reference.hpp"

namespace weir::test {
namespace {

constexpr mpfr_prec_t precision = 128;
constexpr mpfr_rnd_t nearest = MPFR_RNDN;

using MpfrUnary = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);
using MpfrBinary = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t);

struct NamedUnary {
  std::string_view name;
  MpfrUnary compute;
};
constexpr NamedUnary unary[] = {
    {"acos", mpfr_acos},     {"acosh", mpfr_acosh},   {"acospi", mpfr_acospi}, {"asin", mpfr_asin},
    {"asinh", mpfr_asinh},   {"asinpi", mpfr_asinpi}, {"atan", mpfr_atan},     {"atanh", mpfr_atanh},
    {"atanpi", mpfr_atanpi}, {"cbrt", mpfr_cbrt},     {"cos", mpfr_cos},       {"cosh", mpfr_cosh},
    {"cospi", mpfr_cospi},   {"erf", mpfr_erf},       {"erfc", mpfr_erfc},     {"exp", mpfr_exp},
    {"exp2", mpfr_exp2},     {"exp10", mpfr_exp10},   {"expm1", mpfr_expm1},   {"log", mpfr_log},
    {"log2", mpfr_log2},     {"log10", mpfr_log10},   {"log1p", mpfr_log1p},   {"sin", mpfr_sin},
    {"sinh", mpfr_sinh},     {"sinpi", mpfr_sinpi},   {"tan", mpfr_tan},       {"tanh", mpfr_tanh},
    {"tanpi", mpfr_tanpi},   {"tgamma", mpfr_gamma},  {"sqrt", mpfr_sqrt},     {"rsqrt", mpfr_rec_sqrt},
};

struct NamedBinary {
  std::string_view name;
  MpfrBinary compute;
};
constexpr NamedBinary binary[] = {
    {"atan2", mpfr_atan2}, {"atan2pi", mpfr_atan2pi}, {"fdim", mpfr_dim}, {"fmod", mpfr_fmod},
    {"hypot", mpfr_hypot}, {"pow", mpfr_pow},         {"pown", mpfr_pow}, {"remainder", mpfr_remainder},
};

/// Functions that compute_unrounded() passes to MPFR by name.
constexpr std::string_view handled[] = {"fma", "lgamma", "rootn", "powr"};

bool is_in_mpfr(std::string_view name) {
  const auto same = [&](std::string_view other) { return other == name; };
  return std::ranges::any_of(unary, same, &NamedUnary::name) ||
         std::ranges::any_of(binary, same, &NamedBinary::name) || std::ranges::any_of(handled, same);
}

}  // namespace

PreciseReference::PreciseReference(const MathCase& function)
    : function_(function), exact_(quick_reference<long double>(function.name)) {
  if (function.limit != 0 && !is_in_mpfr(function.name))
    throw std::logic_error("the math function '" + std::string(function.name) +
                           "' has no exact reference; add its MPFR function to the tables in "
                           "tests/math/precise_reference.cpp, or its name to `handled`");
  for (mpfr_ptr v : {x_, y_, z_, got_}) mpfr_init2(v, 64);
  for (mpfr_ptr v : {result_, difference_}) mpfr_init2(v, precision);
}

PreciseReference::~PreciseReference() {
  for (mpfr_ptr v : {x_, y_, z_, got_, result_, difference_}) mpfr_clear(v);
}

void PreciseReference::compute_unrounded(const Operands& o) {
  const std::string_view name = function_.name;
  mpfr_set_ld(x_, o.x, nearest);
  mpfr_set_ld(y_, o.y, nearest);
  mpfr_set_ld(z_, o.z, nearest);
  for (const NamedUnary& f : unary)
    if (f.name == name) {
      f.compute(result_, x_, nearest);
      return;
    }
  for (const NamedBinary& f : binary)
    if (f.name == name) {
      f.compute(result_, x_, y_, nearest);
      return;
    }
  if (name == "fma") {
    mpfr_fma(result_, x_, y_, z_, nearest);
  } else if (name == "lgamma") {
    int sign;
    mpfr_lgamma(result_, &sign, x_, nearest);
  } else if (name == "rootn" && o.y != 0 && o.x != 0 && std::isfinite(o.x)) {
    mpfr_rootn_si(result_, x_, long(o.y), nearest);
  } else if (name == "powr" && o.x > 0 && !(o.x == 1 && std::isinf(o.y)) && !(std::isinf(o.x) && o.y == 0)) {
    mpfr_pow(result_, x_, y_, nearest);
  } else {
    // Special cases by definition, and functions that select, round or scale, are exact in the first oracle.
    mpfr_set_ld(result_, exact_(o), nearest);
  }
}

void PreciseReference::compute(const Operands& o) {
  single_ = o.single;
  compute_unrounded(o);
  bound(result_);
}

// Infinity counts as the next power of two after the largest finite number.
void PreciseReference::bound(mpfr_ptr v) const {
  const int top = single_ ? 128 : 1024;
  if (!mpfr_nan_p(v) && !mpfr_zero_p(v) && (mpfr_inf_p(v) || mpfr_get_exp(v) > top))
    mpfr_set_si_2exp(v, mpfr_sgn(v), top, nearest);
}

double PreciseReference::error(long double got) {
  if (mpfr_nan_p(result_) || std::isnan(got))
    return mpfr_nan_p(result_) && std::isnan(got) ? 0 : std::numeric_limits<double>::infinity();
  const int lowest = single_ ? -126 : -1022, highest = single_ ? 127 : 1023, digits = single_ ? 23 : 52;
  mpfr_set_ld(got_, got, nearest);
  bound(got_);
  long exponent = mpfr_zero_p(result_) ? lowest : mpfr_get_exp(result_) - 1;
  exponent = std::min<long>(std::max<long>(exponent, lowest), highest);
  mpfr_sub(difference_, result_, got_, nearest);
  mpfr_mul_2si(difference_, difference_, digits - exponent, nearest);
  return std::fabs(mpfr_get_d(difference_, nearest));
}

}  // namespace weir::test
