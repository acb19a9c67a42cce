// SPDX-License-Identifier: Apache-2.0
// Compiles kernels.ll for AMD processors: compile_amd INPUT.ll FOLDER PROCESSOR...
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "compile.hpp"

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  try {
    std::ifstream input(argv[1]);
    const std::string text{std::istreambuf_iterator<char>(input), {}};
    std::filesystem::create_directories(argv[2]);
    for (int i = 3; i < argc; ++i) {
      const auto code = weir::hipsim::test::compile_ir(text, argv[i]);
      std::ofstream output(std::string(argv[2]) + "/" + argv[i] + ".hsaco", std::ios::binary);
      output.write(reinterpret_cast<const char*>(code.data()), static_cast<std::streamsize>(code.size()));
      if (!output.flush()) throw std::runtime_error("cannot write into " + std::string(argv[2]));
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "compile_amd: %s\n", error.what());
    return 1;
  }
  return 0;
}
