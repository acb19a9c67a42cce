// SPDX-License-Identifier: Apache-2.0
// The floating-point environment of callbacks, and of kernels that a CPU runs. Programs change that of their
// threads: those built with -ffast-math flush denormals to zero.
#pragma once

#if !defined(__x86_64__)
#include <cfenv>
#endif

namespace weir::sdk {

/// Gives this thread the default environment until the destructor restores the one before: rounding to
/// nearest, denormals, no traps. Takes a few nanoseconds where nothing changes.
class DefaultFloatingPoint {
 public:
  /// What the code does that runs in this environment. Functions keep it by the System V ABI for x86-64; a
  /// program's callback may set rounding for the rest of its thread. A second look at it takes as long as the
  /// first.
  enum class Inside { may_change, keeps };

  DefaultFloatingPoint(const DefaultFloatingPoint&) = delete;
  DefaultFloatingPoint& operator=(const DefaultFloatingPoint&) = delete;

#if defined(__x86_64__)
  // Instructions change each control word alone. Loading one takes longer than comparing both.
  explicit DefaultFloatingPoint(Inside inside = Inside::may_change) noexcept
      : sse_(__builtin_ia32_stmxcsr()), x87_(x87_now()), look_(inside == Inside::may_change) {
    if (!differ(sse_, default_sse) && x87_ == default_x87) return;
    set(default_sse, default_x87);
    look_ = true;
  }
  ~DefaultFloatingPoint() {
    if (look_ && (differ(__builtin_ia32_stmxcsr(), sse_) || x87_now() != x87_)) set(sse_, x87_);
  }

 private:
  // The state after reset, as the System V ABI for x86-64 demands it at the start of a process.
  static constexpr unsigned default_sse = 0x1f80;
  static constexpr unsigned short default_x87 = 0x037f;

  /// Flags of exceptions that have occurred do not count.
  static constexpr bool differ(unsigned a, unsigned b) noexcept {
    return ((a ^ b) & ~0x3fu) != 0;
  }
  static unsigned short x87_now() noexcept {
    unsigned short now;
    __asm__ volatile("fnstcw %0" : "=m"(now));
    return now;
  }
  static void set(unsigned sse, unsigned short x87) noexcept {
    __builtin_ia32_ldmxcsr(sse);
    __asm__ volatile("fldcw %0" : : "m"(x87));
  }

  unsigned sse_;
  unsigned short x87_;
  bool look_;  ///< whether the environment may differ at the end
#else
  explicit DefaultFloatingPoint(Inside = Inside::may_change) noexcept {
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
