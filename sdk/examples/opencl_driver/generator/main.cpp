// SPDX-License-Identifier: Apache-2.0
// opencl-generator [--print] FILE: compiles a program of the small language in program.hpp to OpenCL C, runs
// it through Weir on a device that loads OpenCL C, and compares every value with the host's results. With
// --print it prints the OpenCL C instead.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>
#include <stdexcept>

#include "run.hpp"

using namespace generator;

static std::string read_file(const char* path) {
  std::ifstream file(path);
  if (!file) throw std::invalid_argument(std::string(path) + " cannot be read");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// The largest difference of two values of a variable, relative to its largest value.
static double largest_error(const std::vector<float>& seen, const std::vector<float>& expected) {
  double error = 0, scale = 1e-30;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    error = std::max(error, std::fabs(double{seen[i]} - expected[i]));
    scale = std::max(scale, std::fabs(double{expected[i]}));
    if (!std::isfinite(seen[i])) return INFINITY;
  }
  return error / scale;
}

int main(int count, char** words) try {
  const bool print = count == 3 && std::strcmp(words[1], "--print") == 0;
  if (count != 2 && !print) {
    std::fprintf(stderr, "usage: opencl-generator [--print] FILE\n");
    return 2;
  }
  const Program program = parse_program(read_file(words[count - 1]));
  const Code code = generate(program);
  if (print) {
    std::cout << code.text;
    return 0;
  }
  const weir::Device device = find_device();
  const auto expected = run_on_host(program);
  const auto seen = run_on_device(device, program, code, 3);
  bool right = true;
  for (const Statement& statement : program.statements) {
    const double error = largest_error(seen.at(statement.name), expected.at(statement.name));
    std::printf("%-16s = %-12g largest error %.1e\n", statement.name.c_str(),
                double{seen.at(statement.name).back()}, error);
    right = right && error < 1e-5;
  }
  std::printf("%zu tasks on %s, %s: %s\n", code.tasks.size(), device.name().c_str(),
              device.info().name.c_str(), right ? "right" : "WRONG");
  return right ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "opencl-generator: %s\n", error.what());
  return 1;
}
