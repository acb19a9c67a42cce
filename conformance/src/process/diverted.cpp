// SPDX-License-Identifier: Apache-2.0
#include "process/diverted.hpp"

#include <unistd.h>

#include <stdexcept>
#include <utility>

namespace weir::conformance {

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
