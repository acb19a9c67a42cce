// SPDX-License-Identifier: Apache-2.0
// Tests in this process run on the fake libcuda.
#pragma once

#include <algorithm>

#include "calls.hpp"
#include "fake_cuda.hpp"

namespace cuda_test {

inline std::string fake_library() {
  return weir::test::built("tests/cuda_driver/fake-cuda.so");
}

inline fake_cuda::Control& fake() {
  static fake_cuda::Control* const control = [] {
    setenv("WEIR_CUDA_LIBRARY", fake_library().c_str(), 1);
    void* library = dlopen(fake_library().c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) throw std::runtime_error(dlerror());
    return reinterpret_cast<fake_cuda::Control* (*)()>(dlsym(library, "fake_cuda_control"))();
  }();
  return *control;
}

/// A device of the fake, with a stream, and the calls that a test makes.
class Fake : public testing::Test {
 protected:
  Fake() {
    fake();
    call(table().device_open, std::uint32_t{0}, &device);
    stream = new_stream(device);
    native = native_of(stream);
    fake().forget_calls();
  }
  ~Fake() override {
    fake().hold(false);
    weir_status status = new_status();
    table().stream_destroy(stream, &status);
    table().device_close(device, &status);
  }

  static void* native_of(weir_stream stream) {
    void* out = nullptr;
    call(table().stream_get_native, stream, &out);
    return out;
  }

  /// All calls of one function since the test began.
  static std::vector<fake_cuda::Call> calls_of(const std::string& function) {
    std::vector<fake_cuda::Call> out;
    for (const fake_cuda::Call& one : fake().calls())
      if (one.function == function) out.push_back(one);
    return out;
  }

  weir_device device = nullptr;
  weir_stream stream = nullptr;
  void* native = nullptr;
};

}  // namespace cuda_test
