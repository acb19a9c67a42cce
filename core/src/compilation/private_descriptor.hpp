// SPDX-License-Identifier: Apache-2.0
// A descriptor that belongs to one process: its forked children close their copies.
#pragma once

#include <cstddef>

namespace weir::compilation {

class PrivateDescriptor {
 public:
  PrivateDescriptor() = default;
  /// Takes what `open` and the like return, an error too. A number below 3 is moved, because programs that
  /// have closed their standard streams still write to these numbers.
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

/// Closes all that are open: for a forked child, whose other threads do not exist. Async-signal-safe.
void close_private_descriptors() noexcept;

}  // namespace weir::compilation
