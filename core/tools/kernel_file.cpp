// SPDX-License-Identifier: Apache-2.0
#include "kernel_file.hpp"

#include <weir/error.hpp>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

namespace weir::tool {

Program read_kernel(const std::string& file) {
  std::ostringstream text;
  if (file == "-") {
    text << std::cin.rdbuf();
    return Program::parse(text.str(), "<standard input>");
  }
  // A folder can be opened as a stream and reads as empty, which would be reported as an empty kernel.
  std::ifstream in(file);
  if (!in || std::filesystem::is_directory(file))
    throw Error(ErrorCode::system, file + ": cannot read the file; expected a kernel in IR text form");
  text << in.rdbuf();
  return Program::parse(text.str(), file);
}

}  // namespace weir::tool
