// SPDX-License-Identifier: Apache-2.0
// RCCL and the functions of HIP that belong to it.
#include "../collectives/vendor.hpp"

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <weir/sdk/library.hpp>

namespace weir::collectives {
namespace {

constexpr std::array libraries{"librccl.so.1", "/opt/rocm/lib/librccl.so.1"};

struct Api {
  const char* (*error_string)(int);
  int (*get_device)(int*);
  int (*set_device)(int);
  int (*stream_get_device)(void*, int*);
  int (*device_get_bus_id)(char*, int, int);
  int (*stream_create)(void**, unsigned);
  int (*stream_destroy)(void*);
  int (*memory_allocate)(void**, std::size_t);
  int (*memory_free)(void*);
  int (*event_create)(void**, unsigned);
  int (*event_destroy)(void*);
  int (*event_record)(void*, void*);
  int (*event_query)(void*);
};

using sdk::EntryPoint;
#define FUNCTION(member, symbol) \
  { offsetof(Api, member), symbol, 506, symbol }
constexpr EntryPoint entry_points[] = {
    FUNCTION(error_string, "hipGetErrorString"),
    FUNCTION(get_device, "hipGetDevice"),
    FUNCTION(set_device, "hipSetDevice"),
    FUNCTION(stream_get_device, "hipStreamGetDevice"),
    FUNCTION(device_get_bus_id, "hipDeviceGetPCIBusId"),
    FUNCTION(stream_create, "hipStreamCreateWithFlags"),
    FUNCTION(stream_destroy, "hipStreamDestroy"),
    FUNCTION(memory_allocate, "hipMalloc"),
    FUNCTION(memory_free, "hipFree"),
    FUNCTION(event_create, "hipEventCreateWithFlags"),
    FUNCTION(event_destroy, "hipEventDestroy"),
    FUNCTION(event_record, "hipEventRecord"),
    FUNCTION(event_query, "hipEventQuery"),
};
#undef FUNCTION

constexpr int not_ready = 600;
constexpr unsigned non_blocking = 1, without_time = 2;

/// The library that the driver amdgpu has opened: two HIPs in one process do not share streams.
Api open_library() {
  void* handle = nullptr;
  if (const char* named = secure_getenv("WEIR_AMDGPU_LIBRARY"); named && *named)
    handle = dlopen(named, RTLD_NOW | RTLD_NOLOAD);
  for (const char* name : {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"})
    if (!handle) handle = dlopen(name, RTLD_NOW | RTLD_NOLOAD);
  if (!handle)
    sdk::fail(
        WEIR_ERROR_INVALID,
        "the stream is of no HIP device: libamdhip64 is not loaded in this process; join with a stream of "
        "the driver amdgpu");
  Api api{};
  const EntryPoint* missing = sdk::fill_entry_points(
      api, entry_points, [&](const EntryPoint& row) { return dlsym(handle, row.symbol); });
  if (missing)
    sdk::fail(WEIR_ERROR_UNSUPPORTED, "libamdhip64 has no %s; expected HIP 5.6 or newer", missing->symbol);
  return api;
}

const Api& hip() {
  static const Api opened = open_library();
  return opened;
}

void check(int code, const char* what) {
  if (code != 0)
    throw sdk::Failure{WEIR_ERROR_SYSTEM,
                       sdk::format_text("HIP cannot %s: %s", what, hip().error_string(code)), code, ""};
}

int ordinal(void* context) {
  return static_cast<int>(reinterpret_cast<std::intptr_t>(context)) - 1;
}

void* context_of(int device) {
  return reinterpret_cast<void*>(static_cast<std::intptr_t>(device) + 1);  // never null
}

}  // namespace

const Vendor vendor{"amdgpu", "RCCL", "WEIR_RCCL_LIBRARY", libraries,
                    "ROCm's package rccl provides librccl.so.1"};

DeviceOfStream device_of_stream(void* stream) {
  int device = 0;
  check(hip().stream_get_device(stream, &device), "name the device of the stream");
  char location[64] = "";
  check(hip().device_get_bus_id(location, sizeof location, device), "name a device's PCI address");
  return {context_of(device), location};
}

Current::Current(void* context) {
  int before = 0;
  check(hip().get_device(&before), "name the current device");
  before_ = context_of(before);
  check(hip().set_device(ordinal(context)), "select a device");
}

Current::~Current() {
  hip().set_device(ordinal(before_));
}

void* create_stream() {
  void* stream = nullptr;
  check(hip().stream_create(&stream, non_blocking), "create a stream");
  return stream;
}

void destroy_stream(void* stream) noexcept {
  hip().stream_destroy(stream);
}

void* allocate(std::size_t bytes) {
  void* memory = nullptr;
  check(hip().memory_allocate(&memory, bytes), "allocate memory");
  return memory;
}

void release(void* memory) noexcept {
  hip().memory_free(memory);
}

void* create_event() {
  void* event = nullptr;
  check(hip().event_create(&event, without_time), "create an event");
  return event;
}

void destroy_event(void* event) noexcept {
  hip().event_destroy(event);
}

void record_event(void* event, void* stream) {
  check(hip().event_record(event, stream), "record an event");
}

EventState query_event(void* event) noexcept {
  const int code = hip().event_query(event);
  return code == 0 ? EventState::complete : code == not_ready ? EventState::pending : EventState::failed;
}

}  // namespace weir::collectives
