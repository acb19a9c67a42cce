// SPDX-License-Identifier: Apache-2.0
// The test kernels as the device under test takes them.
#pragma once

#include <cstddef>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <vector>
#include <weir/weir.hpp>

#include "places.hpp"

namespace weir::test {

inline Module load(const Device& device) {
  const std::string& format = device.info().code_targets.at(0).format;
  const bool ptx = format == "ptx";
  const std::filesystem::path path =
      ptx ? source("tests/runtime/support/kernels.ptx") : built("tests/runtime/weir_runtime_test_kernels.so");
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  if (bytes.empty()) throw std::runtime_error("cannot read the test kernels: " + path.string());
  return device.load_module(
      {format, ptx ? "sm_70" : "x86-64", std::as_bytes(std::span(bytes)), "runtime test kernels"});
}

}  // namespace weir::test
