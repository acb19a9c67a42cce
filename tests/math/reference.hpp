// SPDX-License-Identifier: Apache-2.0
// Expected results of math functions. The first oracle is the C library in double precision. It suffices if
// the error is further from the limit than the oracle's own error. For undecided f64 results, the second
// oracle is the C library in x87 extended precision, with 11 more bits. MPFR decides if the last of them is
// near a limit. On a sample of all operands, it also checks the function and the assumed accuracy of the
// first oracle.
#pragma once

#include <mpfr.h>

#include <cstdint>
#include <ostream>
#include <string_view>
#include <vector>

namespace weir::test {

/// One function of ir/math.def and the error that OpenCL C 3.0 (section 7.4, full profile) permits, in ULP.
struct MathCase {
  const char* name;
  int operands;
  bool integer_second;  ///< ldexp, pown, rootn
  bool integer_result;  ///< ilogb
  double limit;         ///< 0: exact
  double low, high;     ///< significant range, tested besides all bit patterns
};
inline void PrintTo(const MathCase& function, std::ostream* out) {
  *out << function.name;
}
const std::vector<MathCase>& math_cases();

/// Operands as passed to the function; an integer operand is exact. `single`: results are f32.
struct Operands {
  long double x = 0, y = 0, z = 0;
  bool single = false;
};

/// The function `name` in the C library; of Wide = double or long double.
template <class Wide>
using Quick = Wide (*)(const Operands&);
template <class Wide>
Quick<Wide> quick_reference(std::string_view name);

/// Error bound of quick_reference<double> in ULP of the result type: above the largest known errors of
/// glibc's functions, and infinity if glibc states none. Sampled against MPFR.
double trust_in_double(std::string_view name, bool single);

/// Number of f64 values between the two. It is the error in ULP if the exact result's neighbourhood has one
/// exponent, and infinity if it may not. 0 if both are NaN.
double steps_apart(double expected, double got);

/// |got - expected| in ULP of the result type at `expected`. Infinity counts as the next power of two. 0 if
/// both are NaN, infinity if only one is.
double error_in_ulp_of_f32(double expected, float got);
double error_in_ulp_of_f64(long double expected, double got);

class PreciseReference {
 public:
  /// Throws std::logic_error if the function is not exact by definition and no function of MPFR is known.
  explicit PreciseReference(const MathCase& function);
  ~PreciseReference();
  PreciseReference(const PreciseReference&) = delete;
  PreciseReference& operator=(const PreciseReference&) = delete;

  /// Computes the function's value for error().
  void compute(const Operands& operands);
  /// The error of `got` in ULP of the result type; 0 if both are NaN, infinity if only one is.
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
