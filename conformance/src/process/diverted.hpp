// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdio>
#include <string>

namespace weir::conformance {

/// Redirects standard output and standard error to a file during its lifetime. Throws std::runtime_error
/// without a temporary file.
class Diverted {
 public:
  Diverted();
  Diverted(const Diverted&) = delete;
  Diverted& operator=(const Diverted&) = delete;
  ~Diverted();

  /// Ends the redirection and returns the text that was written.
  std::string end();

 private:
  void restore();

  std::FILE* file_ = std::tmpfile();
  std::array<int, 2> kept_{-1, -1};
};

}  // namespace weir::conformance
