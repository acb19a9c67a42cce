// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdio>
#include <string>

namespace weir::conformance {

/// Standard output and standard error of a worker: a file in memory that it shares with its supervisor.
class SharedOutput {
 public:
  /// Throws std::system_error.
  SharedOutput();
  SharedOutput(const SharedOutput&) = delete;
  SharedOutput& operator=(const SharedOutput&) = delete;
  ~SharedOutput();

  /// Makes it this process's standard output and standard error.
  void take_over() const;
  /// Writes the output since the last call to standard error; returns whether there was any.
  bool pass_on();
  /// Bytes that were written so far.
  long size() const;

 private:
  int descriptor_ = -1;
  long passed_on_ = 0;
};

/// States that this process writes to a SharedOutput.
void use_shared_output();
/// The text that this process has written to its SharedOutput since the last call; "" without one.
std::string take_printed();
/// The bytes of the SharedOutput that take_printed() has returned; -1 without one.
long bytes_taken();

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
