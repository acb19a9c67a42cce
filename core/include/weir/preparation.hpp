// SPDX-License-Identifier: Apache-2.0
// Compilation in the background, before a kernel's first launch.
#pragma once

#include <memory>
#include <weir/export.hpp>

namespace weir {

namespace detail {
struct PreparationState;
}

/// A compilation that Kernel::prepare or Program::prepare has started. Launches find the code without this
/// handle, so it may be ignored. Copies refer to the same compilation. All functions may be called from
/// several threads.
class WEIR_API Preparation {
 public:
  /// Refers to no compilation: always ready.
  Preparation() = default;
  explicit Preparation(std::shared_ptr<detail::PreparationState> state) noexcept : state_(std::move(state)) {}

  /// Returns immediately; true if wait() would not wait.
  bool ready() const noexcept;
  /// Waits until the code of all devices is ready, or has failed. Throws the first failure, each time. A
  /// launch that does not find the code compiles again, and throws its own failure. Throws Error{system} in a
  /// forked child.
  void wait() const;

 private:
  std::shared_ptr<detail::PreparationState> state_;
};

}  // namespace weir
