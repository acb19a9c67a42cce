// SPDX-License-Identifier: Apache-2.0
// A pipe with a path at each end, for libraries that read and write only paths. Unlike a file it needs no
// disk space and is not subject to limits of file sizes.
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
  /// A path that opens the same end again; valid until this end is closed.
  std::string path(End end) const { return "/proc/self/fd/" + std::to_string(ends_[end]); }
  void do_not_block(End end) noexcept;
  /// A reader reaches the end of the data when every writing descriptor is closed. Forked children hold none.
  void close(End end) noexcept;

 private:
  int ends_[2] = {-1, -1};
  Pipe* next_ = nullptr;  // in the list of all open pipes
  friend struct OpenPipes;
};

}  // namespace weir::codegen
