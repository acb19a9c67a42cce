// SPDX-License-Identifier: Apache-2.0
// Translation of OpenCL's error codes.
#include <weir/sdk/status.hpp>

#include "opencl.hpp"

namespace opencl {
namespace {

struct Meaning {
  cl_int code;
  const char* name;
  weir_result result;
};

#define MEANS(name, result) \
  { name, #name, result }
constexpr Meaning meanings[] = {
    MEANS(CL_DEVICE_NOT_FOUND, WEIR_ERROR_NO_DEVICE),
    {platform_not_found, "CL_PLATFORM_NOT_FOUND_KHR", WEIR_ERROR_NO_DEVICE},
    MEANS(CL_DEVICE_NOT_AVAILABLE, WEIR_ERROR_NO_DEVICE),
    MEANS(CL_COMPILER_NOT_AVAILABLE, WEIR_ERROR_UNSUPPORTED),
    MEANS(CL_MEM_OBJECT_ALLOCATION_FAILURE, WEIR_ERROR_OUT_OF_MEMORY),
    // Either a lack of resources for a queue or kernel, or a failed kernel; OpenCL does not distinguish them.
    MEANS(CL_OUT_OF_RESOURCES, WEIR_ERROR_LAUNCH),
    MEANS(CL_OUT_OF_HOST_MEMORY, WEIR_ERROR_OUT_OF_MEMORY),
    MEANS(CL_PROFILING_INFO_NOT_AVAILABLE, WEIR_ERROR_UNKNOWN),
    MEANS(CL_MEM_COPY_OVERLAP, WEIR_ERROR_INVALID),
    MEANS(CL_BUILD_PROGRAM_FAILURE, WEIR_ERROR_CODE_OBJECT),
    MEANS(CL_MAP_FAILURE, WEIR_ERROR_UNKNOWN),
    MEANS(CL_MISALIGNED_SUB_BUFFER_OFFSET, WEIR_ERROR_UNSUPPORTED),
    // Work that waited for failed work.
    MEANS(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, WEIR_ERROR_LAUNCH),
    MEANS(CL_COMPILE_PROGRAM_FAILURE, WEIR_ERROR_CODE_OBJECT),
    MEANS(CL_LINKER_NOT_AVAILABLE, WEIR_ERROR_UNSUPPORTED),
    MEANS(CL_LINK_PROGRAM_FAILURE, WEIR_ERROR_CODE_OBJECT),
    MEANS(CL_KERNEL_ARG_INFO_NOT_AVAILABLE, WEIR_ERROR_UNSUPPORTED),
    MEANS(CL_INVALID_VALUE, WEIR_ERROR_INVALID),
    MEANS(CL_INVALID_PLATFORM, WEIR_ERROR_INVALID),
    MEANS(CL_INVALID_DEVICE, WEIR_ERROR_INVALID),
    MEANS(CL_INVALID_CONTEXT, WEIR_ERROR_INVALID),
    MEANS(CL_INVALID_COMMAND_QUEUE, WEIR_ERROR_INVALID),
    MEANS(CL_INVALID_MEM_OBJECT, WEIR_ERROR_INVALID),
    MEANS(CL_INVALID_BINARY, WEIR_ERROR_CODE_OBJECT),
    MEANS(CL_INVALID_BUILD_OPTIONS, WEIR_ERROR_CODE_OBJECT),
    MEANS(CL_INVALID_PROGRAM, WEIR_ERROR_CODE_OBJECT),
    MEANS(CL_INVALID_PROGRAM_EXECUTABLE, WEIR_ERROR_CODE_OBJECT),
    MEANS(CL_INVALID_KERNEL_NAME, WEIR_ERROR_NOT_FOUND),
    MEANS(CL_INVALID_KERNEL_DEFINITION, WEIR_ERROR_CODE_OBJECT),
    MEANS(CL_INVALID_KERNEL, WEIR_ERROR_INVALID),
    MEANS(CL_INVALID_ARG_INDEX, WEIR_ERROR_INVALID),
    MEANS(CL_INVALID_ARG_VALUE, WEIR_ERROR_INVALID),
    MEANS(CL_INVALID_ARG_SIZE, WEIR_ERROR_INVALID),
    MEANS(CL_INVALID_KERNEL_ARGS, WEIR_ERROR_INVALID),
    MEANS(CL_INVALID_WORK_DIMENSION, WEIR_ERROR_INVALID),
    MEANS(CL_INVALID_WORK_GROUP_SIZE, WEIR_ERROR_INVALID),
    MEANS(CL_INVALID_WORK_ITEM_SIZE, WEIR_ERROR_INVALID),
    MEANS(CL_INVALID_GLOBAL_OFFSET, WEIR_ERROR_INVALID),
    MEANS(CL_INVALID_EVENT_WAIT_LIST, WEIR_ERROR_INVALID),
    MEANS(CL_INVALID_EVENT, WEIR_ERROR_INVALID),
    MEANS(CL_INVALID_OPERATION, WEIR_ERROR_INVALID),
    MEANS(CL_INVALID_BUFFER_SIZE, WEIR_ERROR_OUT_OF_MEMORY),
    MEANS(CL_INVALID_GLOBAL_WORK_SIZE, WEIR_ERROR_INVALID),
    MEANS(CL_INVALID_PROPERTY, WEIR_ERROR_INVALID),
    MEANS(CL_INVALID_COMPILER_OPTIONS, WEIR_ERROR_CODE_OBJECT),
};
#undef MEANS

const Meaning* meaning_of(cl_int code) noexcept {
  for (const Meaning& meaning : meanings)
    if (meaning.code == code) return &meaning;
  return nullptr;
}

}  // namespace

const char* error_name(cl_int code) noexcept {
  const Meaning* meaning = meaning_of(code);
  return meaning ? meaning->name : "an error without a name";
}

sdk::Failure failure_of(cl_int code, const std::string& doing) {
  const Meaning* meaning = meaning_of(code);
  return {meaning ? meaning->result : WEIR_ERROR_UNKNOWN,
          sdk::format_text("OpenCL could not %.800s: %s (%d)", doing.c_str(), error_name(code), code), code,
          meaning ? meaning->name : ""};
}

bool is_reached(cl_event event, const std::string& doing) {
  cl_int status = 0;
  check(api.clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr),
        "ask about an event");
  if (status < 0) raise(status, doing);
  return status == CL_COMPLETE;
}

cl_int outcome_of(cl_event event) noexcept {
  const cl_int code = api.clWaitForEvents(1, &event);
  if (code != CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST) return code;
  // The event's status is more specific than the wait's result.
  cl_int status = 0;
  const cl_int asked =
      api.clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr);
  return asked == CL_SUCCESS && status < 0 ? status : code;
}

}  // namespace opencl
