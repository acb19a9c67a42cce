// SPDX-License-Identifier: Apache-2.0
#include "process/diverted.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace weir::conformance {
namespace {

long printed = -1;  ///< bytes that take_printed() has returned; -1 without a SharedOutput

std::string text_from(int descriptor, long& offset) {
  std::string text;
  char some[4096];
  for (ssize_t count; (count = pread(descriptor, some, sizeof some, offset)) > 0; offset += count)
    text.append(some, static_cast<std::size_t>(count));
  return text;
}

}  // namespace

SharedOutput::SharedOutput() : descriptor_(memfd_create("weir-conformance-output", MFD_CLOEXEC)) {
  // Each write goes to the end, whichever process and descriptor it comes from.
  if (descriptor_ < 0 || fcntl(descriptor_, F_SETFL, O_APPEND) != 0)
    throw std::system_error(errno, std::generic_category(), "memfd_create");
}

SharedOutput::~SharedOutput() {
  pass_on();
  close(descriptor_);
}

void SharedOutput::take_over() const {
  dup2(descriptor_, STDOUT_FILENO);
  dup2(descriptor_, STDERR_FILENO);
}

bool SharedOutput::pass_on() {
  const std::string text = text_from(descriptor_, passed_on_);
  std::fwrite(text.data(), 1, text.size(), stderr);
  return !text.empty();
}

long SharedOutput::size() const {
  struct stat state {};
  return fstat(descriptor_, &state) == 0 ? static_cast<long>(state.st_size) : 0;
}

void use_shared_output() {
  setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);  // the last lines before a crash must not be lost
  printed = 0;
}

std::string take_printed() {
  if (printed < 0) return {};
  std::fflush(nullptr);
  return text_from(STDOUT_FILENO, printed);
}

long bytes_taken() {
  return printed;
}

Diverted::Diverted() {
  if (!file_) throw std::runtime_error("cannot make a temporary file");
  std::fflush(nullptr);
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    kept_[i] = dup(static_cast<int>(i) + STDOUT_FILENO);
    dup2(fileno(file_), static_cast<int>(i) + STDOUT_FILENO);
  }
}

Diverted::~Diverted() {
  restore();
  std::fclose(file_);
}

std::string Diverted::end() {
  restore();
  std::rewind(file_);
  std::string text;
  for (int c; (c = std::fgetc(file_)) != EOF;) text += static_cast<char>(c);
  return text;
}

void Diverted::restore() {
  std::fflush(nullptr);
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    if (kept_[i] < 0) continue;
    dup2(kept_[i], static_cast<int>(i) + STDOUT_FILENO);
    close(std::exchange(kept_[i], -1));
  }
}

}  // namespace weir::conformance
