// SPDX-License-Identifier: Apache-2.0
// One random kernel on devices and in the interpreter.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "coverage.hpp"
#include "launcher.hpp"

namespace weir::test {

struct Comparison {
  bool ran = false;        ///< false: the interpreter gave up, and nothing was compared
  std::string difference;  ///< on which device, and what; "" where all agree
};

/// Compares kernels on each of some devices with the interpreter. For one thread.
class Comparer {
 public:
  explicit Comparer(std::vector<Device> devices, const Device& cpu)
      : devices_(std::move(devices)), math_(cpu) {}

  /// `seed` decides the arguments. What the kernel was compiled to goes into `coverage`, if given.
  Comparison compare(const RunnableKernel& runnable, std::uint64_t seed, Coverage* coverage);

 private:
  std::vector<Device> devices_;
  CompiledMath math_;
};

/// The kernel with as few statements as `differs` stays true for, found by leaving out one after the other.
RunnableKernel reduced(RunnableKernel runnable, const std::function<bool(const RunnableKernel&)>& differs);

}  // namespace weir::test
