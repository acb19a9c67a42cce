// SPDX-License-Identifier: Apache-2.0
// The common part of every entry point: scheduled failures, device checks and the last error.
#pragma once
#include <exception>
#include <new>

#include "runtime/runtime.hpp"
#include "runtime/work.hpp"

#define HIPSIM_EXPORT extern "C" __attribute__((visibility("default")))

namespace weir::hipsim {

/// The calling thread's last error, for hipGetLastError.
hipError_t& last_error();

/// Runs the body of an entry point, unless a failure is scheduled for it.
template <class F>
hipError_t entry(const char* name, F body) noexcept {
  hipError_t result;
  try {
    const Runtime::Failure failure = Runtime::instance().scheduled_failure(name);
    if (failure.late) Device::late_failure() = failure.error;
    const auto lock = Runtime::instance().lock_call(name);
    result = failure.late || failure.error == hipSuccess ? body(Runtime::instance()) : failure.error;
    // A call that has enqueued no work fails itself.
    if (failure.late && Device::late_failure() != hipSuccess && result == hipSuccess) result = failure.error;
  } catch (const std::bad_alloc&) {
    result = hipErrorOutOfMemory;
  } catch (const std::exception& error) {
    Runtime::instance().report(std::string(name) + ": " + error.what());
    result = hipErrorUnknown;
  }
  Device::late_failure() = hipSuccess;
  if (result != hipSuccess && result != hipErrorNotReady) last_error() = result;
  return result;
}

/// The same for entry points that need a working device: a missing or broken device is an error.
template <class F>
hipError_t device_entry(const char* name, F body) noexcept {
  return entry(name, [&](Runtime& runtime) {
    if (runtime.devices.empty()) return hipErrorNoDevice;
    Device& device = runtime.current();
    if (device.error() != hipSuccess) return device.error();
    return body(runtime, device);
  });
}

/// The stream of a handle; null for an invalid handle. A null handle means the current device's null stream.
inline std::shared_ptr<Stream> stream_of(Runtime& runtime, hipStream_t handle) {
  if (!handle) return runtime.current().null_stream();
  return runtime.streams.find(handle);
}

inline void* pointer_of(const std::shared_ptr<Allocation>& block) {
  return reinterpret_cast<void*>(block->begin);
}

/// Enqueues work on a stream.
inline void enqueue(Runtime& runtime, const std::shared_ptr<Stream>& stream, Work work) {
  Device& device = *runtime.devices[std::size_t(stream->device)];
  device.enqueue(stream, [&device, work = std::move(work)] { perform(device, work); });
}

}  // namespace weir::hipsim
