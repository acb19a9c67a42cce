// SPDX-License-Identifier: Apache-2.0
// NCCL and the functions of the CUDA driver that belong to it.
#include "../collectives/vendor.hpp"

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <weir/sdk/library.hpp>

namespace weir::collectives {
namespace {

constexpr std::array libraries{"libnccl.so.2"};

struct Api {
  int (*error_string)(int, const char**);
  int (*context_get)(void**);
  int (*context_set)(void*);
  int (*context_get_device)(int*);
  int (*stream_get_context)(void*, void**);
  int (*device_get_bus_id)(char*, int, int);
  int (*stream_create)(void**, unsigned);
  int (*stream_destroy)(void*);
  int (*memory_allocate)(std::uint64_t*, std::size_t);
  int (*memory_free)(std::uint64_t);
  int (*event_create)(void**, unsigned);
  int (*event_destroy)(void*);
  int (*event_record)(void*, void*);
  int (*event_query)(void*);
};

using sdk::EntryPoint;
#define FUNCTION(member, symbol) \
  { offsetof(Api, member), symbol, 9020, symbol }
constexpr EntryPoint entry_points[] = {
    FUNCTION(error_string, "cuGetErrorString"),     FUNCTION(context_get, "cuCtxGetCurrent"),
    FUNCTION(context_set, "cuCtxSetCurrent"),       FUNCTION(context_get_device, "cuCtxGetDevice"),
    FUNCTION(stream_get_context, "cuStreamGetCtx"), FUNCTION(device_get_bus_id, "cuDeviceGetPCIBusId"),
    FUNCTION(stream_create, "cuStreamCreate"),      FUNCTION(stream_destroy, "cuStreamDestroy_v2"),
    FUNCTION(memory_allocate, "cuMemAlloc_v2"),     FUNCTION(memory_free, "cuMemFree_v2"),
    FUNCTION(event_create, "cuEventCreate"),        FUNCTION(event_destroy, "cuEventDestroy_v2"),
    FUNCTION(event_record, "cuEventRecord"),        FUNCTION(event_query, "cuEventQuery"),
};
#undef FUNCTION

constexpr int not_ready = 600;
constexpr unsigned non_blocking = 1, without_time = 2;

/// The library that the driver cuda has opened.
Api open_library() {
  const char* const named = secure_getenv("WEIR_CUDA_LIBRARY");
  void* const handle = dlopen(named && *named ? named : "libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (!handle)
    sdk::fail(
        WEIR_ERROR_INVALID,
        "the stream is of no CUDA device: libcuda is not loaded in this process; join with a stream of the "
        "driver cuda");
  Api api{};
  const EntryPoint* missing = sdk::fill_entry_points(
      api, entry_points, [&](const EntryPoint& row) { return dlsym(handle, row.symbol); });
  if (missing)
    sdk::fail(WEIR_ERROR_UNSUPPORTED, "libcuda has no %s; expected a driver for CUDA 9.2 or newer",
              missing->symbol);
  return api;
}

const Api& cuda() {
  static const Api opened = open_library();
  return opened;
}

void check(int code, const char* what) {
  if (code == 0) return;
  const char* words = nullptr;
  cuda().error_string(code, &words);
  throw sdk::Failure{WEIR_ERROR_SYSTEM,
                     sdk::format_text("CUDA cannot %s: %s", what, words ? words : "unknown error"), code, ""};
}

}  // namespace

const Vendor vendor{"cuda", "NCCL", "WEIR_NCCL_LIBRARY", libraries,
                    "NVIDIA's package libnccl2, or PyTorch's nvidia-nccl, provides libnccl.so.2"};

DeviceOfStream device_of_stream(void* stream) {
  void* context = nullptr;
  check(cuda().stream_get_context(stream, &context), "name the device of the stream");
  const Current current(context);
  int device = 0;
  check(cuda().context_get_device(&device), "name the current device");
  char location[64] = "";
  check(cuda().device_get_bus_id(location, sizeof location, device), "name a device's PCI address");
  return {context, location};
}

Current::Current(void* context) {
  check(cuda().context_get(&before_), "name the current device");
  check(cuda().context_set(context), "select a device");
}

Current::~Current() {
  cuda().context_set(before_);
}

void* create_stream() {
  void* stream = nullptr;
  check(cuda().stream_create(&stream, non_blocking), "create a stream");
  return stream;
}

void destroy_stream(void* stream) noexcept {
  cuda().stream_destroy(stream);
}

void* allocate(std::size_t bytes) {
  std::uint64_t memory = 0;
  check(cuda().memory_allocate(&memory, bytes), "allocate memory");
  return reinterpret_cast<void*>(memory);
}

void release(void* memory) noexcept {
  cuda().memory_free(reinterpret_cast<std::uint64_t>(memory));
}

void* create_event() {
  void* event = nullptr;
  check(cuda().event_create(&event, without_time), "create an event");
  return event;
}

void destroy_event(void* event) noexcept {
  cuda().event_destroy(event);
}

void record_event(void* event, void* stream) {
  check(cuda().event_record(event, stream), "record an event");
}

EventState query_event(void* event) noexcept {
  const int code = cuda().event_query(event);
  return code == 0 ? EventState::complete : code == not_ready ? EventState::pending : EventState::failed;
}

}  // namespace weir::collectives
