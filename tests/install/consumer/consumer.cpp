// SPDX-License-Identifier: Apache-2.0
// A program that knows nothing but the installed package.
#include <cstdio>
#include <string>
#include <weir/error.hpp>

int main() {
  const std::string words(weir::to_string(weir::ErrorCode::out_of_memory));
  std::printf("%s\n", words.c_str());
  return words == "out of memory" ? 0 : 1;
}
