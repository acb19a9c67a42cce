// SPDX-License-Identifier: Apache-2.0
// The interface of tests to the fake libcuda.so.1. Its device memory is host memory, its streams are queues,
// and its kernels only record their arguments. Code objects are text in which ".entry NAME" defines a kernel.
// Text that contains "error" is refused with a log. A kernel called "trap" breaks the devices. A cubin is
// such text after the header of an ELF file.
//
// From the environment, read once: FAKE_CUDA_VERSION (13000), FAKE_CUDA_MISSING (functions, separated by
// commas), FAKE_CUDA_INIT (the result of cuInit), FAKE_CUDA_DEVICES (3), FAKE_CUDA_POOLS (1).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fake_cuda {

struct Call {
  std::string function;
  void* stream = nullptr;
  void* context = nullptr;  ///< current on the calling thread
  std::vector<std::uint64_t> values;
  std::vector<std::uint8_t> bytes;  ///< a launch's arguments
};

class Control {
 public:
  virtual ~Control() = default;
  virtual std::vector<Call> calls() = 0;
  virtual void forget_calls() = 0;
  /// The next call of a function returns this code and has no effect.
  virtual void fail_next(const std::string& function, int code) = 0;
  /// While held, submitted work stays in its stream's queue.
  virtual void hold(bool held) = 0;
  /// The number of live streams, events, modules, allocations, graphs and other objects.
  virtual int living() = 0;
  /// Whether devices that are opened from now on reach the memory of one another. They do at first.
  virtual void reach_peers(bool reach) = 0;
  virtual void* context_of(int device) = 0;
  /// The functions that were looked up, under the names that cuGetProcAddress takes.
  virtual std::vector<std::string> lookups() = 0;
};

}  // namespace fake_cuda

extern "C" fake_cuda::Control* fake_cuda_control();
