// SPDX-License-Identifier: Apache-2.0
// Owners of file descriptors.
#pragma once

#include <unistd.h>

#include <utility>

namespace weir {

/// A file descriptor that is closed with its owner.
class Descriptor {
 public:
  Descriptor() = default;
  /// Takes the result of `open` and similar calls; a negative one is kept as "not open".
  explicit Descriptor(int number) noexcept : number_(number) {}
  Descriptor(Descriptor&& other) noexcept
      : number_(std::exchange(other.number_, -1)), private_(std::exchange(other.private_, false)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this == &other) return *this;
    reset(std::exchange(other.number_, -1));
    private_ = std::exchange(other.private_, false);
    return *this;
  }
  ~Descriptor() { reset(); }

  /// Negative when there is none.
  int get() const noexcept { return number_; }
  void reset(int number = -1) noexcept {
    if (private_)
      close_private();
    else if (number_ >= 0)
      close(number_);
    number_ = number;
    private_ = false;
  }

 private:
  friend struct PrivateDescriptors;
  void close_private() const noexcept;

  int number_ = -1;
  bool private_ = false;  // in the table of descriptors that forked children close
};

/// A descriptor of this process only: children of fork() close their copies. Takes the result of `open` and
/// similar calls, including an error. Moves a number below 3, because programs that have closed their
/// standard streams still write to these numbers. Thread-safe.
Descriptor private_descriptor(int number) noexcept;

/// Two connected descriptors. No child of fork() keeps a copy, not even of a fork during the call. So a
/// reader reaches the end of the data when the writer closes. Both are not open, and errno is set, if the
/// system refuses. Thread-safe.
struct DescriptorPair {
  Descriptor first, second;
};
/// `first` reads and `second` writes.
DescriptorPair private_pipe() noexcept;
/// `type` as for socketpair().
DescriptorPair private_sockets(int type) noexcept;

}  // namespace weir
