// SPDX-License-Identifier: Apache-2.0
// Buffers.
#include "driver.hpp"

namespace opencl {
namespace {

/// A reservation of device memory, released unless it is kept.
class Reservation {
 public:
  Reservation(Device& device, std::uint64_t size) : device_(device), size_(size) {
    std::uint64_t used = device.used_memory.load();
    do {
      if (used > device.total_memory || size > device.total_memory - used)
        sdk::fail(WEIR_ERROR_OUT_OF_MEMORY,
                  "%llu bytes were asked for; %llu of the device's %llu bytes are in use already",
                  static_cast<unsigned long long>(size), static_cast<unsigned long long>(used),
                  static_cast<unsigned long long>(device.total_memory));
    } while (!device.used_memory.compare_exchange_weak(used, used + size));
  }
  Reservation(const Reservation&) = delete;
  ~Reservation() { device_.used_memory -= size_; }
  void keep() noexcept { size_ = 0; }

 private:
  Device& device_;
  std::uint64_t size_;
};

/// Implementations report a lack of memory with several codes.
[[noreturn]] void raise_for(cl_int code, std::uint64_t size) {
  sdk::Failure failure = failure_of(
      code, sdk::format_text("make a buffer of %llu bytes", static_cast<unsigned long long>(size)));
  if (code == CL_OUT_OF_RESOURCES) failure.code = WEIR_ERROR_OUT_OF_MEMORY;
  throw failure;
}

/// Waits until the device has allocated the buffer. Implementations may delay the allocation to the first
/// use, where a failure would be unexpected.
cl_int place(const Device& device, cl_mem buffer) {
  Owned<cl_event> there;
  cl_int code =
      api.clEnqueueMigrateMemObjects(device.housekeeping.get(), 1, &buffer,
                                     CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED, 0, nullptr, there.out());
  if (code == CL_SUCCESS) code = outcome_of(there.get());
  return code;
}

}  // namespace

Allocation& Device::allocate(const weir_memory_options& options) {
  if (options.alignment > limits.memory_alignment)
    sdk::fail(WEIR_ERROR_UNSUPPORTED,
              "an alignment of %llu bytes was asked for; OpenCL aligns buffers of this device to %u",
              static_cast<unsigned long long>(options.alignment), limits.memory_alignment);
  if (options.size > largest_buffer)
    sdk::fail(WEIR_ERROR_OUT_OF_MEMORY,
              "%llu bytes were asked for; OpenCL makes buffers of at most %llu bytes on this device",
              static_cast<unsigned long long>(options.size), static_cast<unsigned long long>(largest_buffer));
  Reservation reservation(*this, options.size);
  sdk::Fresh<Allocation> allocation;
  cl_int code = CL_SUCCESS;
  Owned<cl_mem> buffer(api.clCreateBuffer(context.get(), CL_MEM_READ_WRITE, options.size, nullptr, &code));
  if (code == CL_SUCCESS) code = place(*this, buffer.get());
  if (code != CL_SUCCESS) raise_for(code, options.size);
  allocation->device = this;
  allocation->memory_kind = options.kind;
  allocation->size = options.size;
  allocation->buffer = std::move(buffer);
  reservation.keep();
  return allocation.publish();
}

void Allocation::free() noexcept {
  buffer.reset();
  device->used_memory -= size;
  sdk::Pool<Allocation>::of().give(*this);
}

}  // namespace opencl
