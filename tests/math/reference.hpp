// SPDX-License-Identifier: Apache-2.0
// What a math function should give. The first oracle is the C library in double precision, which clears what
// is further from the limit than this oracle can be wrong; where that leaves an f64 open, the C library in
// x87 extended precision, 11 bits more, is the second. MPFR decides wherever the last of them is near a
// limit, and on a sample of everything: of the function, and of how far the first oracle is to be trusted.
#pragma once

#include <mpfr.h>

#include <cstdint>
#include <ostream>
#include <string_view>
#include <vector>

namespace weir::test {

/// One function of ir/math.def and what OpenCL C 3.0 (section 7.4, full profile) allows it, in ULP.
struct MathCase {
  const char* name;
  int operands;
  bool integer_second;  ///< ldexp, pown, rootn
  bool integer_result;  ///< ilogb
  double limit;         ///< 0: exact
  double low, high;     ///< where the function is interesting, beside all bit patterns
};
inline void PrintTo(const MathCase& function, std::ostream* out) {
  *out << function.name;
}
const std::vector<MathCase>& math_cases();

/// Operands as the function gets them; an integer operand is held exactly. `single` says that results are
/// f32.
struct Operands {
  long double x = 0, y = 0, z = 0;
  bool single = false;
};

/// The function `name` in the C library; of Wide = double or long double.
template <class Wide>
using Quick = Wide (*)(const Operands&);
template <class Wide>
Quick<Wide> quick_reference(std::string_view name);

/// How many ULP of the result type quick_reference<double> may be wrong by: above the largest errors known of
/// glibc's functions, and infinity where they say nothing. Sampled against MPFR.
double trust_in_double(std::string_view name, bool single);

/// How many f64 lie between the two: the error in ULP where all of the exact result's neighbourhood has the
/// same exponent, and infinity where it may not have. 0 when both are NaN.
double steps_apart(double expected, double got);

/// |got - expected| in ULP of the result type at `expected`. Infinity counts as the next power of two; 0 when
/// both are NaN, infinity when only one is.
double error_in_ulp_of_f32(double expected, float got);
double error_in_ulp_of_f64(long double expected, double got);

class PreciseReference {
 public:
  explicit PreciseReference(const MathCase& function);
  ~PreciseReference();
  PreciseReference(const PreciseReference&) = delete;
  PreciseReference& operator=(const PreciseReference&) = delete;

  /// Computes the function's value, which error() then compares with.
  void compute(const Operands& operands);
  /// The error of `got` in ULP of the result type; 0 when both are NaN, infinity when only one is.
  double error(long double got);

 private:
  void compute_unrounded(const Operands& operands);
  void bound(mpfr_ptr value) const;

  const MathCase& function_;
  const Quick<long double> exact_;
  bool single_ = false;
  mpfr_t x_, y_, z_, result_, got_, difference_;
};

}  // namespace weir::test
