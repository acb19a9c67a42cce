// SPDX-License-Identifier: Apache-2.0
// Kernels and their arguments. OpenCL binds buffers, not addresses, and only at offsets that are multiples of
// the device's alignment. A kernel therefore has one of two forms: just the parameters of its layout, or an
// additional ulong after each array, the array's offset in bytes. Only the second form accepts arrays that
// begin anywhere.
#include <cstring>

#include "driver.hpp"

namespace opencl {
namespace {

std::uint32_t array_count(const Kernel& kernel) {
  return static_cast<std::uint32_t>(std::ranges::count_if(
      kernel.parameters, [](const weir_parameter& p) { return p.kind == WEIR_PARAMETER_BUFFER; }));
}

cl_kernel_arg_address_qualifier memory_of(cl_kernel object, cl_uint at) {
  cl_kernel_arg_address_qualifier found = 0;
  check(api.clGetKernelArgInfo(object, at, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof found, &found, nullptr),
        "describe a kernel's parameter");
  return found;
}

bool is_array(cl_kernel object, cl_uint at) {
  const cl_kernel_arg_address_qualifier memory = memory_of(object, at);
  return memory == CL_KERNEL_ARG_ADDRESS_GLOBAL || memory == CL_KERNEL_ARG_ADDRESS_CONSTANT;
}

template <class T>
std::uint32_t group_value(cl_kernel object, cl_device_id device, cl_kernel_work_group_info what) {
  T value{};
  check(api.clGetKernelWorkGroupInfo(object, device, what, sizeof value, &value, nullptr),
        "describe a kernel");
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(value, 0xffffffffu));
}

}  // namespace

/// Determines the kernel's form. Returns the number of its parameters without local memory.
cl_uint Kernel::find_form(cl_kernel object) {
  cl_uint taken = 0;
  check(api.clGetKernelInfo(object, CL_KERNEL_NUM_ARGS, sizeof taken, &taken, nullptr), "describe a kernel");
  takes_local = taken > 0 && memory_of(object, taken - 1) == CL_KERNEL_ARG_ADDRESS_LOCAL;
  if (takes_local) --taken;
  const auto given = static_cast<cl_uint>(parameters.size());
  const cl_uint arrays = array_count(*this);
  takes_offsets = arrays > 0 && taken == given + arrays;
  if (taken != given && !takes_offsets)
    sdk::fail(
        WEIR_ERROR_INVALID,
        "kernel '%.128s' takes %u parameters%s; expected the %u of its layout, or %u with an ulong after "
        "each array",
        name.c_str(), taken, takes_local ? " and local memory" : "", given, given + arrays);
  return taken;
}

/// Checks that the kernel's parameters match its layout. OpenCL does not report sizes; they are checked by
/// setting a value.
void Kernel::check_parameters(cl_kernel object, cl_uint taken) const {
  const auto takes = [&](cl_uint at, std::size_t size) {
    const std::vector<std::byte> zeros(size);
    return api.clSetKernelArg(object, at, size, zeros.data()) == CL_SUCCESS;
  };
  cl_uint at = 0;
  for (std::uint32_t i = 0; i < parameters.size(); ++i, ++at) {
    const bool array = parameters[i].kind == WEIR_PARAMETER_BUFFER;
    if (array != is_array(object, at))
      sdk::fail(WEIR_ERROR_INVALID, "kernel '%.128s', parameter %u: the layout says %s, the kernel takes %s",
                name.c_str(), i, array ? "an array" : "a value", array ? "something else" : "an array");
    if (array && takes_offsets && !takes(++at, sizeof(cl_ulong)))
      sdk::fail(
          WEIR_ERROR_INVALID,
          "kernel '%.128s' takes %u parameters for a layout of %zu, but no ulong after parameter %u, an "
          "array",
          name.c_str(), taken, parameters.size(), i);
    if (!array && !takes(at, parameters[i].size))
      sdk::fail(WEIR_ERROR_INVALID, "kernel '%.128s', parameter %u: it does not take a value of %u bytes",
                name.c_str(), i, parameters[i].size);
  }
}

void Kernel::describe(Owned<cl_kernel> object) {
  check_parameters(object.get(), find_form(object.get()));
  cl_device_id on = device->id;
  info.max_block_threads = group_value<std::size_t>(object.get(), on, CL_KERNEL_WORK_GROUP_SIZE);
  info.shared_bytes = group_value<cl_ulong>(object.get(), on, CL_KERNEL_LOCAL_MEM_SIZE);
  info.local_bytes = group_value<cl_ulong>(object.get(), on, CL_KERNEL_PRIVATE_MEM_SIZE);
  info.lanes = device->limits.lanes;
  give(std::move(object));
}

void Kernel::unload() noexcept {
  std::lock_guard lock(mutex_);
  idle_.clear();
}

Owned<cl_kernel> Kernel::take() {
  {
    std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      Owned<cl_kernel> object = std::move(idle_.back());
      idle_.pop_back();
      return object;
    }
  }
  cl_int code = CL_SUCCESS;
  Owned<cl_kernel> object(api.clCreateKernel(program, name.c_str(), &code));
  if (code != CL_SUCCESS) raise(code, sdk::format_text("make kernel '%.128s' once more", name.c_str()));
  return object;
}

void Kernel::give(Owned<cl_kernel> object) noexcept {
  try {
    std::lock_guard lock(mutex_);
    idle_.push_back(std::move(object));
  } catch (const std::bad_alloc&) {
    // On failure the object is released, and the next launch creates another one.
  }
}

Kernel::Views Kernel::bind(const Lease& lease, const weir_launch& launch) {
  const auto set = [&](cl_uint at, std::size_t size, const void* value) {
    if (const cl_int code = api.clSetKernelArg(lease.get(), at, size, value); code != CL_SUCCESS) [[unlikely]]
      raise(code, sdk::format_text("set argument %u of kernel '%.128s'", at, name.c_str()));
  };
  Views views;
  cl_uint at = 0;
  for (std::uint32_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].kind == WEIR_PARAMETER_VALUE) {
      set(at++, parameters[i].size, static_cast<const std::byte*>(launch.arguments) + parameters[i].offset);
      continue;
    }
    const auto array = sdk::array_argument<Allocation>(*this, launch, i);
    cl_mem buffer = array.allocation->buffer.get();
    if (!takes_offsets && array.offset != 0 && array.offset != array.allocation->size) {
      views.push_back(view_of(array, i));
      buffer = views.back().get();
    }
    set(at++, sizeof buffer, &buffer);
    const cl_ulong offset = array.offset;
    if (takes_offsets) set(at++, sizeof offset, &offset);
  }
  if (takes_local && launch.dynamic_shared_bytes == 0)
    sdk::fail(WEIR_ERROR_INVALID, "launch.dynamic_shared_bytes is 0; kernel '%.128s' takes local memory",
              name.c_str());
  if (!takes_local && launch.dynamic_shared_bytes != 0)
    sdk::fail(WEIR_ERROR_INVALID,
              "launch.dynamic_shared_bytes is %u; kernel '%.128s' has no pointer to local memory as its last "
              "parameter",
              launch.dynamic_shared_bytes, name.c_str());
  if (takes_local) set(at, launch.dynamic_shared_bytes, nullptr);
  return views;
}

/// The part of a buffer from an offset on, for kernels without offsets.
Owned<cl_mem> Kernel::view_of(const sdk::ArrayArgument<Allocation>& array, std::uint32_t parameter) const {
  const cl_buffer_region region{array.offset, array.allocation->size - array.offset};
  cl_int code = CL_SUCCESS;
  Owned<cl_mem> view(api.clCreateSubBuffer(array.allocation->buffer.get(), CL_MEM_READ_WRITE,
                                           CL_BUFFER_CREATE_TYPE_REGION, &region, &code));
  if (code == CL_MISALIGNED_SUB_BUFFER_OFFSET)
    throw sdk::Failure{
        WEIR_ERROR_UNSUPPORTED,
        sdk::format_text("kernel '%.128s', parameter %u: the array begins at byte %zu of its memory; "
                         "OpenCL binds arrays of this device at multiples of %u only. Let the kernel "
                         "take an ulong after each array, the byte at which it begins",
                         name.c_str(), parameter, region.origin, device->limits.memory_alignment),
        code, error_name(code)};
  if (code != CL_SUCCESS)
    raise(code, sdk::format_text("bind parameter %u of kernel '%.128s'", parameter, name.c_str()));
  return view;
}

}  // namespace opencl
