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
  bool ran = false;        ///< false: the interpreter stopped, and nothing was compared
  std::string difference;  ///< the device and the difference; "" if all agree
};

/// Compares kernels on several devices with the interpreter. Not thread-safe.
class Comparer {
 public:
  explicit Comparer(std::vector<Device> devices, const Device& cpu)
      : devices_(std::move(devices)), math_(cpu) {}

  /// `seed` determines the arguments. The kernel's compiled forms are added to `coverage`, if given.
  Comparison compare(const RunnableKernel& runnable, std::uint64_t seed, Coverage* coverage);

 private:
  std::vector<Device> devices_;
  CompiledMath math_;
};

/// The kernel reduced to as few statements as keep `differs` true, by removing one after the other.
RunnableKernel reduced(RunnableKernel runnable, const std::function<bool(const RunnableKernel&)>& differs);

}  // namespace weir::test
