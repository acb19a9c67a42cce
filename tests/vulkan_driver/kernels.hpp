// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <fstream>
#include <iterator>
#include <thread>

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

/// Holds a stream until it is opened.
struct Gate {
  std::atomic<bool> is_open{false};
  void hold(weir_stream stream) {
    call(table().stream_host_callback, stream, static_cast<weir_host_callback>([](void* user) {
           while (!static_cast<Gate*>(user)->is_open.load()) std::this_thread::yield();
         }),
         static_cast<void*>(this));
  }
};

inline void fill_int(weir_stream stream, weir_allocation to, int value) {
  call(table().fill, stream, to, 0ull, 4ull, static_cast<const void*>(&value), 4u);
}

}  // namespace vulkan_test
