// SPDX-License-Identifier: Apache-2.0
// The driver's interface to OpenCL: functions resolved at run time, errors converted to Failures, and counted
// references to objects.
#pragma once

#include <CL/cl.h>

#include <string>
#include <utility>
#include <weir/sdk/status.hpp>

namespace opencl {

namespace sdk = weir::sdk;

/// The loader's result for an empty list of implementations: CL_PLATFORM_NOT_FOUND_KHR of CL/cl_ext.h.
constexpr cl_int platform_not_found = -1001;

/// The functions that the driver calls, all of which exist since OpenCL 1.2.
#define OPENCL_FUNCTIONS(X)       \
  X(clGetPlatformIDs)             \
  X(clGetPlatformInfo)            \
  X(clGetDeviceIDs)               \
  X(clGetDeviceInfo)              \
  X(clCreateContext)              \
  X(clReleaseContext)             \
  X(clCreateCommandQueue)         \
  X(clReleaseCommandQueue)        \
  X(clFlush)                      \
  X(clFinish)                     \
  X(clCreateUserEvent)            \
  X(clSetUserEventStatus)         \
  X(clSetEventCallback)           \
  X(clGetEventInfo)               \
  X(clGetEventProfilingInfo)      \
  X(clRetainEvent)                \
  X(clReleaseEvent)               \
  X(clWaitForEvents)              \
  X(clEnqueueMarkerWithWaitList)  \
  X(clEnqueueBarrierWithWaitList) \
  X(clCreateBuffer)               \
  X(clCreateSubBuffer)            \
  X(clReleaseMemObject)           \
  X(clEnqueueMigrateMemObjects)   \
  X(clEnqueueReadBuffer)          \
  X(clEnqueueWriteBuffer)         \
  X(clEnqueueCopyBuffer)          \
  X(clEnqueueFillBuffer)          \
  X(clCreateProgramWithSource)    \
  X(clBuildProgram)               \
  X(clGetProgramBuildInfo)        \
  X(clGetProgramInfo)             \
  X(clReleaseProgram)             \
  X(clCreateKernel)               \
  X(clReleaseKernel)              \
  X(clGetKernelInfo)              \
  X(clGetKernelArgInfo)           \
  X(clGetKernelWorkGroupInfo)     \
  X(clSetKernelArg)               \
  X(clEnqueueNDRangeKernel)

struct Api {
#define OPENCL_SLOT(function) decltype(&::function) function;
  OPENCL_FUNCTIONS(OPENCL_SLOT)
#undef OPENCL_SLOT
};

/// Complete after open_library() has returned.
extern Api api;

/// Opens libOpenCL.so.1 and fills `api`, or throws a Failure{NO_LIBRARY}. Does nothing after it has
/// succeeded.
void open_library();

// -- errors --

/// "CL_OUT_OF_RESOURCES", or a phrase for codes without a name.
const char* error_name(cl_int code) noexcept;

/// An OpenCL error as a Failure. `doing` completes "OpenCL could not": "create a queue".
sdk::Failure failure_of(cl_int code, const std::string& doing);

[[noreturn, gnu::cold, gnu::noinline]] inline void raise(cl_int code, const std::string& doing) {
  throw failure_of(code, doing);
}

inline void check(cl_int code, const char* doing) {
  if (code != CL_SUCCESS) [[unlikely]]
    raise(code, doing);
}

// -- objects --

inline void release(cl_event object) noexcept {
  api.clReleaseEvent(object);
}
inline void release(cl_mem object) noexcept {
  api.clReleaseMemObject(object);
}
inline void release(cl_kernel object) noexcept {
  api.clReleaseKernel(object);
}
inline void release(cl_program object) noexcept {
  api.clReleaseProgram(object);
}
inline void release(cl_command_queue object) noexcept {
  api.clReleaseCommandQueue(object);
}
inline void release(cl_context object) noexcept {
  api.clReleaseContext(object);
}

/// Owns one reference to an OpenCL object, or none.
template <class T>
class Owned {
 public:
  Owned() = default;
  explicit Owned(T object) noexcept : object_(object) {}
  Owned(Owned&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Owned() { reset(); }

  T get() const noexcept { return object_; }
  explicit operator bool() const noexcept { return object_ != nullptr; }
  /// For OpenCL functions that store a new object. This owner must be empty.
  T* out() noexcept { return &object_; }
  T give_up() noexcept { return std::exchange(object_, nullptr); }
  void reset() noexcept {
    if (T object = give_up()) release(object);
  }

 private:
  T object_ = nullptr;
};

/// Returns another reference to an event; empty if `event` is empty.
inline Owned<cl_event> share(const Owned<cl_event>& event) noexcept {
  if (event) api.clRetainEvent(event.get());
  return Owned<cl_event>(event.get());
}

/// True if an event is reached, false if not yet. Throws the event's failure.
bool is_reached(cl_event event, const std::string& doing);

/// Blocks until an event is reached. Returns CL_SUCCESS or the event's error.
cl_int outcome_of(cl_event event) noexcept;

// -- queries --

/// A value of fixed size; `otherwise` if the device does not support the query.
template <class T>
T device_value(cl_device_id device, cl_device_info what, T otherwise = {}) noexcept {
  T value{};
  return api.clGetDeviceInfo(device, what, sizeof value, &value, nullptr) == CL_SUCCESS ? value : otherwise;
}

/// A text of any length from `query(size, out, out_size)`; "" if there is none.
template <class Query>
std::string text_of(Query&& query) {
  std::size_t size = 0;
  if (query(std::size_t{0}, static_cast<void*>(nullptr), &size) != CL_SUCCESS) return {};
  std::string text(size, '\0');
  if (query(size, static_cast<void*>(text.data()), static_cast<std::size_t*>(nullptr)) != CL_SUCCESS)
    return {};
  while (!text.empty() && (text.back() == '\0' || text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

inline std::string device_text(cl_device_id device, cl_device_info what) {
  return text_of([&](std::size_t size, void* out, std::size_t* out_size) {
    return api.clGetDeviceInfo(device, what, size, out, out_size);
  });
}

inline std::string platform_text(cl_platform_id platform, cl_platform_info what) {
  return text_of([&](std::size_t size, void* out, std::size_t* out_size) {
    return api.clGetPlatformInfo(platform, what, size, out, out_size);
  });
}

}  // namespace opencl
