// SPDX-License-Identifier: Apache-2.0
#include "devices.hpp"
#include "driver.hpp"

namespace opencl {

void Device::open() {
  const FoundDevice& found = all_devices().devices[index];
  id = found.device;
  total_memory = device_value<cl_ulong>(id, CL_DEVICE_GLOBAL_MEM_SIZE);
  largest_buffer = device_value<cl_ulong>(id, CL_DEVICE_MAX_MEM_ALLOC_SIZE, total_memory);
  const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM,
                                              reinterpret_cast<cl_context_properties>(found.platform), 0};
  cl_int code = CL_SUCCESS;
  Owned<cl_context> made(api.clCreateContext(properties, 1, &id, nullptr, nullptr, &code));
  check(code, "make a context");
  context = std::move(made);
  housekeeping = create_queue();
}

void Device::close() {
  callbacks.stop();
  housekeeping.reset();
  context.reset();
}

void Device::get_memory(std::uint64_t& free, std::uint64_t& total) const noexcept {
  total = total_memory;
  free = total - std::min(total, used_memory.load(std::memory_order_relaxed));
}

Owned<cl_command_queue> Device::create_queue() {
  const cl_command_queue_properties properties =
      capabilities & WEIR_CAP_TIMED_EVENTS ? CL_QUEUE_PROFILING_ENABLE : 0;
  cl_int code = CL_SUCCESS;
  Owned<cl_command_queue> queue(api.clCreateCommandQueue(context.get(), id, properties, &code));
  check(code, "make a command queue");
  return queue;
}

}  // namespace opencl
