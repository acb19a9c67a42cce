// SPDX-License-Identifier: Apache-2.0
// A floating-point environment that is not the default one.
#pragma once

#include <cfenv>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace weir::conformance {

#if defined(__x86_64__)
inline void set_x87(unsigned short control) {
  __asm__ volatile("fldcw %0" : : "m"(control));
}
#endif

/// From now on, this thread rounds upward. On x86-64 it also flushes denormals to zero, and computes long double
/// with 24 bits and rounds it to zero.
inline void leave_the_default_environment() {
  std::fesetround(FE_UPWARD);
#if defined(__x86_64__)
  _mm_setcsr(_mm_getcsr() | 0x8040u);
  set_x87(0x0c7f);
#endif
}

/// The same during its lifetime.
class UnusualEnvironment {
 public:
  UnusualEnvironment() {
    std::fegetenv(&before_);
    leave_the_default_environment();
  }
  UnusualEnvironment(const UnusualEnvironment&) = delete;
  UnusualEnvironment& operator=(const UnusualEnvironment&) = delete;
  ~UnusualEnvironment() { std::fesetenv(&before_); }

 private:
  std::fenv_t before_;
};

}  // namespace weir::conformance
