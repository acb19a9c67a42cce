// SPDX-License-Identifier: Apache-2.0
// The driver through its raw table, with the minimum of C++ around it for tests.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <weir/driver.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "kernel_arguments.hpp"
#include "places.hpp"

namespace cpu_test {

inline weir_status new_status() {
  weir_status status{};
  status.struct_size = sizeof status;
  return status;
}

inline weir_driver_entry_function entry() {
  static void* const library = dlopen(weir::test::built(WEIR_CPU_DRIVER).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) throw std::runtime_error(dlerror());
  return reinterpret_cast<weir_driver_entry_function>(dlsym(library, WEIR_DRIVER_ENTRY_NAME));
}

inline const weir_driver_table& table() {
  static const weir_driver_table* const found = [] {
    const weir_host host{sizeof(weir_host), WEIR_ABI_VERSION(1, 0), WEIR_ABI_VERSION(1, 0)};
    const weir_driver_table* out = nullptr;
    weir_status status = new_status();
    if (entry()(&host, &out, &status) != WEIR_OK) throw std::runtime_error(status.message);
    return out;
  }();
  return *found;
}

/// Calls a slot; on failure throws the driver's message, which fails the test.
template <class Slot, class... Arguments>
void call(Slot slot, Arguments... arguments) {
  weir_status status = new_status();
  if (const weir_result result = slot(arguments..., &status); result != WEIR_OK)
    throw std::runtime_error("result " + std::to_string(result) + ": " + status.message);
}

/// Calls a slot that must refuse; returns the message.
template <class Slot, class... Arguments>
std::string refusal(weir_result expected, Slot slot, Arguments... arguments) {
  weir_status status = new_status();
  const weir_result result = slot(arguments..., &status);
  EXPECT_EQ(result, expected) << status.message;
  EXPECT_EQ(status.code, result);
  if (result != WEIR_ERROR_SYSTEM) {  // without a vendor's number
    EXPECT_EQ(status.vendor_code, 0);
    EXPECT_STREQ(status.vendor_name, "");
  }
  return status.message;
}

inline std::vector<char> kernel_bytes() {
  std::ifstream file(weir::test::built("tests/cpu_driver/weir_cpu_test_kernels.so"), std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline weir_code_object code_object(const std::vector<char>& bytes) {
  return {sizeof(weir_code_object), "elf-x86_64", "x86-64", bytes.data(), bytes.size(), "test kernels"};
}

inline weir_device device(std::uint32_t index = 0) {
  weir_device out = nullptr;
  call(table().device_open, index, &out);
  return out;
}

/// Device 0, open for the lifetime of the program.
inline weir_device first_device() {
  static const weir_device opened = device();
  return opened;
}

inline weir_device_info device_info() {
  weir_device_info info{};
  info.struct_size = sizeof info;
  call(table().device_get_info, 0u, &info);
  return info;
}

inline weir_module load(weir_device device) {
  const std::vector<char> bytes = kernel_bytes();
  const weir_code_object object = code_object(bytes);
  weir_module module = nullptr;
  call(table().module_load, device, &object, &module);
  return module;
}

template <class Arguments>
weir_kernel kernel_of(weir_module module, const char* name) {
  const weir_parameter parameter{0, sizeof(Arguments), WEIR_PARAMETER_VALUE};
  const weir_kernel_layout layout{sizeof layout, sizeof(Arguments), 1, &parameter};
  weir_kernel kernel = nullptr;
  call(table().module_get_kernel, module, name, &layout, &kernel);
  return kernel;
}

inline weir_kernel plain_kernel(weir_module module, const char* name) {
  const weir_kernel_layout layout{sizeof layout, 0, 0, nullptr};
  weir_kernel kernel = nullptr;
  call(table().module_get_kernel, module, name, &layout, &kernel);
  return kernel;
}

/// The test kernels on device 0.
struct Kernels {
  weir_module module = load(first_device());
  weir_kernel nothing = plain_kernel(module, "nothing");
  weir_kernel add = kernel_of<AddArguments>(module, "add");
  weir_kernel append = kernel_of<AppendArguments>(module, "append");
  weir_kernel gate = kernel_of<GateArguments>(module, "gate");
  weir_kernel meet = kernel_of<MeetArguments>(module, "meet");
  weir_kernel spin = kernel_of<SpinArguments>(module, "spin");
  weir_kernel sleep = kernel_of<SleepArguments>(module, "sleep_once");
  weir_kernel see_run = kernel_of<RunArguments>(module, "see_run");
  weir_kernel tell_thread = kernel_of<ThreadArguments>(module, "tell_thread");
  weir_kernel sum_large = kernel_of<LargeArguments>(module, "sum_large");
  weir_kernel triad = kernel_of<TriadArguments>(module, "triad");
};
inline const Kernels& kernels() {
  static const Kernels* const all = new Kernels;
  return *all;
}

inline weir_launch launch_of(weir_kernel kernel, std::uint32_t blocks) {
  weir_launch launch{};
  launch.struct_size = sizeof launch;
  launch.kernel = kernel;
  launch.grid[0] = blocks;
  launch.grid[1] = launch.grid[2] = launch.block[0] = launch.block[1] = launch.block[2] = 1;
  return launch;
}

class Stream {
 public:
  explicit Stream(weir_device device = first_device()) {
    const weir_stream_options options{sizeof options, 0};
    call(table().stream_create, device, &options, &stream_);
  }
  ~Stream() { destroy(); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  operator weir_stream() const { return stream_; }

  void destroy() {
    if (stream_) call(table().stream_destroy, stream_);
    stream_ = nullptr;
  }
  void synchronize() { call(table().stream_synchronize, stream_); }
  bool done() { return table().stream_query(stream_, nullptr) == WEIR_OK; }
  void wait(weir_event event) { call(table().stream_wait_event, stream_, event); }
  template <class Arguments>
  void launch(weir_kernel kernel, const Arguments& arguments, std::uint32_t blocks = 1) {
    weir_launch launch = launch_of(kernel, blocks);
    launch.arguments = &arguments;
    launch.argument_bytes = sizeof arguments;
    call(table().kernel_launch, stream_, &launch);
  }
  void launch(weir_kernel kernel, std::uint32_t blocks = 1) {
    const weir_launch launch = launch_of(kernel, blocks);
    call(table().kernel_launch, stream_, &launch);
  }

 private:
  weir_stream stream_ = nullptr;
};

class Event {
 public:
  explicit Event(std::uint32_t flags = WEIR_EVENT_PLAIN, weir_device device = first_device()) {
    call(table().event_create, device, flags, &event_);
  }
  ~Event() { destroy(); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  operator weir_event() const { return event_; }

  void destroy() {
    if (event_) call(table().event_destroy, event_);
    event_ = nullptr;
  }
  void record(weir_stream stream) { call(table().event_record, event_, stream); }
  void synchronize() { call(table().event_synchronize, event_); }
  bool done() { return table().event_query(event_, nullptr) == WEIR_OK; }

 private:
  weir_event event_ = nullptr;
};

inline weir_memory_options memory_options(std::uint64_t size, std::uint32_t kind = WEIR_MEMORY_DEVICE) {
  return {sizeof(weir_memory_options), kind, size, 0};
}

class Memory {
 public:
  explicit Memory(std::uint64_t size, weir_device device = first_device(),
                  std::uint32_t kind = WEIR_MEMORY_DEVICE) {
    const weir_memory_options options = memory_options(size, kind);
    call(table().memory_allocate, device, &options, &allocation_);
  }
  ~Memory() { call(table().memory_free, allocation_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  operator weir_allocation() const { return allocation_; }
  template <class T>
  T* as() const {
    weir_memory_info info{};
    info.struct_size = sizeof info;
    call(table().memory_get_info, allocation_, &info);
    return static_cast<T*>(info.host_pointer);
  }

 private:
  weir_allocation allocation_ = nullptr;
};

/// Submits `body` as a host callback in the stream's order; it must live until then.
inline void submit_callback(Stream& stream, std::function<void()>& body) {
  call(table().stream_host_callback, weir_stream(stream),
       weir_host_callback{[](void* user) { (*static_cast<std::function<void()>*>(user))(); }},
       static_cast<void*>(&body));
}

/// Shared variables that host and kernels use as flags.
inline void raise(std::uint32_t& flag, std::uint32_t value = 1) {
  __atomic_store_n(&flag, value, __ATOMIC_RELEASE);
}
inline std::uint32_t read(const std::uint32_t& flag) {
  return __atomic_load_n(&flag, __ATOMIC_ACQUIRE);
}

/// Submits a kernel that adds 1 to `flag`, which others may read at the same time.
inline void launch_raise(Stream& stream, std::uint32_t& flag) {
  static std::uint32_t open = 1;
  stream.launch(kernels().gate, GateArguments{&open, 1, &flag});
}

/// Blocks streams until it is opened, at the latest by the destructor. The destructor then waits for its
/// kernels, which read its flags.
class Gate {
 public:
  ~Gate() {
    open();
    for (const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
         passed() < closings_ && std::chrono::steady_clock::now() < limit;)
      std::this_thread::yield();
  }
  void close(Stream& stream) {
    ++closings_;
    stream.launch(kernels().gate, GateArguments{&flag_, 1, &passed_});
  }
  void open() { raise(flag_); }
  std::uint32_t passed() const { return read(passed_); }

 private:
  std::uint32_t flag_ = 0, passed_ = 0, closings_ = 0;
};

/// Runs a check in a new process, where a setting is read for the first time.
template <class Check>
void in_fresh_process(const char* setting, const char* value, Check check) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  auto run = [&] {
    setenv(setting, value, 1);
    try {
      check();
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
    std::fflush(nullptr);
    std::_Exit(testing::Test::HasFailure() ? 1 : 0);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
}

}  // namespace cpu_test
