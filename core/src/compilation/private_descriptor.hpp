// SPDX-License-Identifier: Apache-2.0
// A descriptor of one process: its forked children close their copies.
#pragma once

#include <cstddef>

namespace weir::compilation {

class PrivateDescriptor {
 public:
  PrivateDescriptor() = default;
  /// Takes the result of `open` and similar calls, including an error. Moves a number below 3, because
  /// programs that have closed their standard streams still write to these numbers.
  explicit PrivateDescriptor(int number) noexcept;
  PrivateDescriptor(PrivateDescriptor&& other) noexcept;
  PrivateDescriptor& operator=(PrivateDescriptor&& other) noexcept;
  ~PrivateDescriptor() { reset(); }

  /// Negative when it was not opened.
  int get() const noexcept { return number_; }
  void reset() noexcept;

 private:
  int number_ = -1;
  std::size_t slot_ = 0;  // in the table that a forked child closes
};

/// Closes all open private descriptors: for a forked child, which has no other threads. Async-signal-safe.
void close_private_descriptors() noexcept;

}  // namespace weir::compilation
