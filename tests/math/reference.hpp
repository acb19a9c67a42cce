// SPDX-License-Identifier: Apache-2.0
// What a math function should give. The first oracle is the C library in x87 extended precision, 11 bits more
// than f64 and 40 more than f32; MPFR decides wherever that is near a limit, and checks a sample of
// everything else.
#pragma once

#include <mpfr.h>

#include <cstdint>
#include <ostream>
#include <string>
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

long double quick_reference(const std::string& name, const Operands& operands);

class PreciseReference {
 public:
  explicit PreciseReference(const MathCase& function);
  ~PreciseReference();
  PreciseReference(const PreciseReference&) = delete;
  PreciseReference& operator=(const PreciseReference&) = delete;

  /// The error of `got` in ULP of the result type; 0 when both are NaN, infinity when only one is.
  double error(const Operands& operands, long double got);

 private:
  void compute(const Operands& operands);

  const MathCase& function_;
  mpfr_t x_, y_, z_, result_, got_;
};

/// |got - expected| in ULP of f32 or f64 at `expected`. Infinity counts as the next power of two.
double error_in_ulp(bool single, long double expected, long double got);

}  // namespace weir::test
