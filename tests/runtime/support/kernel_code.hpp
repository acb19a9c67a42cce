// SPDX-License-Identifier: Apache-2.0
// The test kernels in a format of the device under test.
#pragma once

#include <cstddef>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <utility>
#include <vector>
#include <weir/weir.hpp>

#include "places.hpp"

namespace weir::test {

/// The folder of the kernels in the device's first format, and the target that they are compiled for.
inline std::pair<std::filesystem::path, std::string> kernel_code(const CodeTarget& own) {
  if (own.format == "ptx") return {source("tests/runtime/support/kernels.ptx"), "sm_70"};
  if (own.format == "hsaco") return {built("tests/runtime/amd/" + own.target + ".hsaco"), own.target};
  return {built("tests/runtime/weir_runtime_test_kernels.so"), "x86-64"};
}

/// Whether the test kernels exist for the device.
inline bool has_test_kernels(const Device& device) {
  return device.driver() != "vulkan";
}

inline Module load(const Device& device) {
  const CodeTarget& own = device.info().code_targets.at(0);
  const auto [path, target] = kernel_code(own);
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  if (bytes.empty()) throw std::runtime_error("cannot read the test kernels: " + path.string());
  return device.load_module({own.format, target, std::as_bytes(std::span(bytes)), "runtime test kernels"});
}

}  // namespace weir::test
