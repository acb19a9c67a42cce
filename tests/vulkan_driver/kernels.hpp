// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fstream>
#include <iterator>

#include "../driver_calls.hpp"

namespace vulkan_test {

using namespace weir::test::driver;

/// An open device, closed at the end.
class Open : public testing::Test {
 protected:
  void SetUp() override { call(table().device_open, 0u, &device); }
  void TearDown() override { call(table().device_close, device); }
  weir_device device = nullptr;
};

inline std::vector<char> kernel_file(const std::string& name) {
  std::ifstream file(std::string(WEIR_VULKAN_KERNELS "/") + name + ".spv", std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// A module with one of the conformance suite's kernels.
inline weir_module load_kernel(weir_device device, const std::string& name) {
  const std::vector<char> bytes = kernel_file(name);
  return load(device, "spirv-vulkan", "vulkan1.3", bytes.data(), bytes.size());
}

}  // namespace vulkan_test
