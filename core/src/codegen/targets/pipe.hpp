// SPDX-License-Identifier: Apache-2.0
// A pipe with a path at each end, for code of others that reads and writes paths only. Unlike a file it takes
// no space on a disk and counts towards no limit of file sizes.
#pragma once

#include <string>

namespace weir::codegen {

class Pipe {
 public:
  enum End { reading, writing };

  /// Throws Error{system} when the process has no descriptors left.
  Pipe();
  ~Pipe();
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  int get(End end) const noexcept { return ends_[end]; }
  /// Another opening of the same end; valid until this one is closed.
  std::string path(End end) const { return "/proc/self/fd/" + std::to_string(ends_[end]); }
  void do_not_block(End end) noexcept;
  /// A reader sees the end of the data once every opening for writing is closed. Children of a fork hold
  /// none.
  void close(End end) noexcept;

 private:
  int ends_[2] = {-1, -1};
  Pipe* next_ = nullptr;  // in the list of all open pipes
  friend struct OpenPipes;
};

}  // namespace weir::codegen
