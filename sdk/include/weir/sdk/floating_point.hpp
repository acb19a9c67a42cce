// SPDX-License-Identifier: Apache-2.0
// The floating-point environment of callbacks, and of kernels that a CPU runs. Programs change that of their
// threads: those built with -ffast-math flush denormals to zero.
#pragma once

#if !defined(__x86_64__)
#include <cfenv>
#endif

namespace weir::sdk {

/// Gives this thread the default environment until the destructor restores the one before: rounding to
/// nearest, denormals, no traps. Takes a few cycles where nothing changes.
class DefaultFloatingPoint {
 public:
  DefaultFloatingPoint(const DefaultFloatingPoint&) = delete;
  DefaultFloatingPoint& operator=(const DefaultFloatingPoint&) = delete;

#if defined(__x86_64__)
  DefaultFloatingPoint() noexcept : sse_(__builtin_ia32_stmxcsr()) {
    __asm__ volatile("fnstcw %0" : "=m"(x87_));
    if ((sse_ & ~sse_flags) != default_sse) __builtin_ia32_ldmxcsr(default_sse);
    if (x87_ != default_x87) __asm__ volatile("fldcw %0" : : "m"(default_x87));
  }
  ~DefaultFloatingPoint() {
    const unsigned now = __builtin_ia32_stmxcsr();
    if ((now & ~sse_flags) != (sse_ & ~sse_flags)) __builtin_ia32_ldmxcsr(sse_);
    unsigned short control;
    __asm__ volatile("fnstcw %0" : "=m"(control));
    if (control != x87_) __asm__ volatile("fldcw %0" : : "m"(x87_));
  }

 private:
  // The state after reset, as the System V ABI for x86-64 demands it at the start of a process.
  static constexpr unsigned default_sse = 0x1f80, sse_flags = 0x3f;
  static constexpr unsigned short default_x87 = 0x037f;

  unsigned sse_;
  unsigned short x87_;
#else
  DefaultFloatingPoint() noexcept {
    std::fegetenv(&before_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~DefaultFloatingPoint() {
    std::fesetenv(&before_);
  }

 private:
  std::fenv_t before_;
#endif
};

}  // namespace weir::sdk
