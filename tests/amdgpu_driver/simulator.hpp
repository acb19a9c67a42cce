// SPDX-License-Identifier: Apache-2.0
// Tests in this process run on the HIP simulator: three devices, a gfx90a, a gfx942 and a gfx1100.
#pragma once

#include <condition_variable>
#include <mutex>

#include "compile.hpp"
#include "driver_calls.hpp"
#include "hipsim.h"
#include "kernels.hpp"

namespace amdgpu_test {

using namespace weir::test::driver;

/// Functions of the simulator only, in the library that the driver has opened.
template <class Function>
Function simulator(const char* name) {
  static void* const library = dlopen(WEIR_HIPSIM_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (!library) throw std::runtime_error(dlerror());
  return reinterpret_cast<Function>(dlsym(library, name));
}

/// The next call of a HIP function returns this code and has no effect.
inline void fail_next(const char* function, int code) {
  simulator<decltype(&hipsimFail)>("hipsimFail")(function, 1, 1, code);
}

/// Kernels of the simulator's tests, as machine code.
inline const std::vector<std::uint8_t>& kernels_for(const std::string& architecture) {
  static std::map<std::string, std::vector<std::uint8_t>> made;
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  std::vector<std::uint8_t>& code = made[architecture];
  if (code.empty()) code = weir::hipsim::test::compile_ir(weir::hipsim::test::kernels_ir, architecture);
  return code;
}

/// Blocks a stream until it is opened, at the latest by the destructor.
class Gate {
 public:
  explicit Gate(weir_stream stream) {
    const weir_host_callback wait = [](void* self) { static_cast<Gate*>(self)->wait(); };
    call(table().stream_host_callback, stream, wait, static_cast<void*>(this));
  }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  ~Gate() {
    open();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return passed_; });
  }
  void open() {
    std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

 private:
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return open_; });
    passed_ = true;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false, passed_ = false;
};

/// A device with a stream and the kernels.
class OnDevice {
 public:
  explicit OnDevice(std::uint32_t index) {
    call(table().device_open, index, &device);
    stream = new_stream(device);
    const weir_device_info info = device_info(index);
    const auto& code = kernels_for(info.code_targets[0].target);
    module = load(device, "hsaco", info.code_targets[0].target, code.data(), code.size());
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  ~OnDevice() {
    weir_status status = new_status();
    table().stream_synchronize(stream, &status);
    table().module_unload(module, &status);
    table().stream_destroy(stream, &status);
    table().device_close(device, &status);
  }

  struct AddArguments {
    std::uint64_t out, a, b;
    std::uint32_t count, padding;
  };
  weir_kernel add() const {
    return find(module, "add",
                {{0, 8, WEIR_PARAMETER_BUFFER},
                 {8, 8, WEIR_PARAMETER_BUFFER},
                 {16, 8, WEIR_PARAMETER_BUFFER},
                 {24, 4, WEIR_PARAMETER_VALUE}},
                32);
  }
  void* native() const {
    void* out = nullptr;
    call(table().stream_get_native, stream, &out);
    return out;
  }

  weir_device device = nullptr;
  weir_stream stream = nullptr;
  weir_module module = nullptr;
};

class Simulator : public testing::Test, public OnDevice {
 protected:
  Simulator() : OnDevice(0) {}
  ~Simulator() override { simulator<decltype(&hipsimClear)>("hipsimClear")(); }
};

}  // namespace amdgpu_test
