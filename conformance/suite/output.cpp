// SPDX-License-Identifier: Apache-2.0
// Level 1: a driver's effects outside of its device.
#include <unistd.h>

#include <array>
#include <cstdio>
#include <stdexcept>

#include "objects.hpp"

namespace weir::conformance {
namespace {

/// Redirects standard output and standard error to a file during its lifetime.
class Diverted {
 public:
  Diverted() {
    if (!file_) throw std::runtime_error("cannot make a temporary file");
    std::fflush(nullptr);
    for (std::size_t i = 0; i < kept_.size(); ++i) {
      kept_[i] = dup(static_cast<int>(i) + STDOUT_FILENO);
      dup2(fileno(file_), static_cast<int>(i) + STDOUT_FILENO);
    }
  }
  Diverted(const Diverted&) = delete;
  ~Diverted() {
    restore();
    std::fclose(file_);
  }

  /// Ends the redirection and returns the text that was written.
  std::string end() {
    restore();
    std::rewind(file_);
    std::string text;
    for (int c; (c = std::fgetc(file_)) != EOF;) text += static_cast<char>(c);
    return text;
  }

 private:
  void restore() {
    std::fflush(nullptr);
    for (std::size_t i = 0; i < kept_.size(); ++i) {
      if (kept_[i] < 0) continue;
      dup2(kept_[i], static_cast<int>(i) + STDOUT_FILENO);
      close(std::exchange(kept_[i], -1));
    }
  }

  std::FILE* file_ = std::tmpfile();
  std::array<int, 2> kept_{-1, -1};
};

WEIR_REQUIREMENT(1, 51, Output, NothingIsPrinted,
                 "Nothing is printed while memory is allocated, written, filled, copied, read and freed.") {
  Diverted output;
  {
    const Memory from(4096), to(4096);
    from.write(pattern(4096));
    const Stream stream;
    fill<std::uint32_t>(stream, to, 0, 4096, 7);
    call(table().copy_on_device, weir_stream(stream), weir_allocation(to), std::uint64_t{0},
         weir_allocation(from), std::uint64_t{0}, std::uint64_t{4096});
    stream.synchronize();
    (void)to.read();
    const Event event;
    event.record(stream);
    event.synchronize();
  }
  EXPECT_EQ(output.end(), "");
}

}  // namespace
}  // namespace weir::conformance
