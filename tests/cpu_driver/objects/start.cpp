// SPDX-License-Identifier: Apache-2.0
// An object with start files: initialisation, termination, and an exception that passes through its frames.
#include <execinfo.h>
#include <weir/sdk/cpu_kernel.h>

#include <stdexcept>

#define KERNEL extern "C" __attribute__((visibility("default"))) void

namespace {

std::uint32_t* ended = nullptr;

struct Life {
  std::uint32_t begun = 5;
  ~Life() {
    if (ended) *ended = 6;
  }
} life;

__attribute__((noinline)) void thrower(std::uint32_t value) {
  if (value == 5) throw std::runtime_error("caught by the kernel");
}

}  // namespace

struct Arguments {
  std::uint32_t* out;
};

KERNEL remember(const void* opaque, const weir_cpu_run*) {
  ended = static_cast<const Arguments*>(opaque)->out;
  *ended = life.begun;
}

KERNEL catches(const void* opaque, const weir_cpu_run*) {
  std::uint32_t& out = *static_cast<const Arguments*>(opaque)->out;
  try {
    thrower(life.begun);
  } catch (const std::runtime_error&) {
    out = 8;
  }
}

// The number of frames from this one to the start of the thread.
KERNEL depth(const void* opaque, const weir_cpu_run*) {
  void* frames[64];
  *static_cast<const Arguments*>(opaque)->out = static_cast<std::uint32_t>(backtrace(frames, 64));
}
