// SPDX-License-Identifier: Apache-2.0
// Programs in OpenCL C.
#include <cstring>
#include <string_view>

#include "driver.hpp"

namespace opencl {
namespace {

/// True for "CL1.2" and similar values of -cl-std.
bool is_language(std::string_view target) {
  const auto digit = [&](std::size_t at) { return target[at] >= '0' && target[at] <= '9'; };
  return target.size() == 5 && target.starts_with("CL") && digit(2) && target[3] == '.' && digit(4);
}

void check_object(const weir_code_object& object) {
  const std::string_view format = object.format, target = object.target;
  if (format != "opencl-c" || !(target.empty() || is_language(target)))
    sdk::fail(
        WEIR_ERROR_CODE_OBJECT,
        "code object '%.64s' is of format '%.32s' for target '%.64s'; this device loads format 'opencl-c' "
        "for a version of the language such as 'CL1.2', or for '', which leaves it to the compiler",
        object.name, object.format, object.target);
  if (const void* zero = std::memchr(object.data, 0, object.size))
    sdk::fail(
        WEIR_ERROR_CODE_OBJECT,
        "code object '%.64s' is no text: its byte %zu is 0; format 'opencl-c' is source text", object.name,
        static_cast<std::size_t>(static_cast<const char*>(zero) - static_cast<const char*>(object.data)));
}

std::string build_log(cl_program program, cl_device_id device) {
  return text_of([&](std::size_t size, void* out, std::size_t* out_size) {
    return api.clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, size, out, out_size);
  });
}

std::string kernel_names(cl_program program) {
  return text_of([&](std::size_t size, void* out, std::size_t* out_size) {
    return api.clGetProgramInfo(program, CL_PROGRAM_KERNEL_NAMES, size, out, out_size);
  });
}

}  // namespace

Module& Device::load_module(const weir_code_object& object) {
  check_object(object);
  sdk::Fresh<Module> module;
  cl_int code = CL_SUCCESS;
  const char* text = static_cast<const char*>(object.data);
  const std::size_t size = object.size;
  Owned<cl_program> program(api.clCreateProgramWithSource(context.get(), 1, &text, &size, &code));
  check(code, "take a program");
  std::string options = "-cl-kernel-arg-info";
  if (*object.target) options += std::string(" -cl-std=") + object.target;
  code = api.clBuildProgram(program.get(), 1, &id, options.c_str(), nullptr, nullptr);
  if (code != CL_SUCCESS) {
    sdk::Failure failure = failure_of(code, sdk::format_text("build code object '%.64s'", object.name));
    failure.code = WEIR_ERROR_CODE_OBJECT;
    if (const std::string log = build_log(program.get(), id); !log.empty()) failure.message += "\n" + log;
    throw failure;
  }
  if (kernel_names(program.get()).empty())
    sdk::fail(WEIR_ERROR_CODE_OBJECT, "code object '%.64s' has no kernel in it", object.name);
  module->device = this;
  module->name = object.name;
  module->kernels.clear();
  module->program = std::move(program);
  return module.publish();
}

void Module::unload() noexcept {
  program.reset();
  sdk::Pool<Module>::of().give(*this);
}

void Module::find_kernel(Kernel& kernel) {
  cl_int code = CL_SUCCESS;
  Owned<cl_kernel> object(api.clCreateKernel(program.get(), kernel.name.c_str(), &code));
  if (code == CL_INVALID_KERNEL_NAME)
    throw sdk::Failure{WEIR_ERROR_NOT_FOUND,
                       sdk::format_text("module '%.64s' has no kernel '%.128s'; it has %.512s", name.c_str(),
                                        kernel.name.c_str(), kernel_names(program.get()).c_str()),
                       code, error_name(code)};
  if (code != CL_SUCCESS) raise(code, sdk::format_text("make kernel '%.128s'", kernel.name.c_str()));
  kernel.program = program.get();
  kernel.describe(std::move(object));
}

}  // namespace opencl
