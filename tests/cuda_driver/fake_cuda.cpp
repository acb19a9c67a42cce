// SPDX-License-Identifier: Apache-2.0
// The functions of the fake libcuda, under the names that a library before cuGetProcAddress exports.
#include <elf.h>

#include <cstring>
#include <weir/sdk/vendor/pool.hpp>

#include "fake_functions.hpp"

using namespace fake_cuda;

extern "C" __attribute__((visibility("default"))) Control* fake_cuda_control() {
  return &runtime();
}

EXPORT cuInit(unsigned) {
  return std::atoi(setting("FAKE_CUDA_INIT", "0").c_str());
}
EXPORT cuDriverGetVersion(int* out) {
  return *out = runtime().version, 0;
}
EXPORT cuGetErrorName(int code, const char** out) {
  static const std::map<int, const char*> names = {
      {1, "CUDA_ERROR_INVALID_VALUE"},
      {2, "CUDA_ERROR_OUT_OF_MEMORY"},
      {34, "CUDA_ERROR_STUB_LIBRARY"},
      {100, "CUDA_ERROR_NO_DEVICE"},
      {209, "CUDA_ERROR_NO_BINARY_FOR_GPU"},
      {218, "CUDA_ERROR_INVALID_PTX"},
      {500, "CUDA_ERROR_NOT_FOUND"},
      {600, "CUDA_ERROR_NOT_READY"},
      {700, "CUDA_ERROR_ILLEGAL_ADDRESS"},
      {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"},
  };
  const auto found = names.find(code);
  if (found == names.end()) return 1;
  return *out = found->second, 0;
}
EXPORT cuGetErrorString(int code, const char** out) {
  if (code != 700 && code != 2) return 1;
  return *out = code == 700 ? "an illegal memory access was encountered" : "out of memory", 0;
}

EXPORT cuDeviceGetCount(int* out) {
  return *out = static_cast<int>(runtime().devices.size()), 0;
}
EXPORT cuDeviceGetName(char* out, int bytes, int device) {
  return std::snprintf(out, static_cast<std::size_t>(bytes), "Fake GPU %d", device), 0;
}
EXPORT cuDeviceGetAttribute(int* out, int attribute, int) {
  static const std::map<int, int> values = {
      {1, 1024}, {2, 1024},   {3, 1024}, {4, 64},      {5, 2147483647}, {6, 65535},    {7, 65535}, {8, 49152},
      {10, 32},  {12, 65536}, {16, 132}, {18, 0},      {31, 1},         {36, 2619000}, {37, 6144}, {39, 2048},
      {75, 9},   {76, 0},     {78, 1},   {81, 233472}, {82, 65536},     {95, 1},       {97, 232448},  {106, 32},
  };
  if (attribute == 115) return *out = std::atoi(setting("FAKE_CUDA_POOLS", "1").c_str()), 0;
  const auto found = values.find(attribute);
  if (found == values.end()) return 1;
  return *out = found->second, 0;
}
EXPORT cuDeviceTotalMem_v2(std::size_t* out, int) {
  return *out = std::size_t{1} << 37, 0;
}
EXPORT cuDeviceGetPCIBusId(char* out, int bytes, int device) {
  return std::snprintf(out, static_cast<std::size_t>(bytes), "0000:%02x:00.0", device), 0;
}
EXPORT cuDeviceGetUuid_v2(std::uint8_t* out, int device) {
  return std::memset(out, device + 1, 16), 0;
}
EXPORT cuDeviceGetUuid(std::uint8_t* out, int device) {
  return cuDeviceGetUuid_v2(out, device);
}
EXPORT cuDeviceCanAccessPeer(int* out, int, int) {
  return *out = runtime().peers, 0;
}
EXPORT cuDevicePrimaryCtxRetain(void** out, int device) {
  std::lock_guard lock(runtime().mutex);
  return *out = &runtime().devices[static_cast<std::size_t>(device)], 0;
}
EXPORT cuCtxGetCurrent(void** out) {
  return *out = Runtime::current, 0;
}
EXPORT cuCtxSetCurrent(void* context) {
  Runtime::current = context;
  runtime().begin(__func__, nullptr, {number(context)});
  return 0;
}
EXPORT cuCtxSynchronize() {
  BEGIN(nullptr);
  std::unique_lock lock(runtime().mutex);
  runtime().changed.wait(lock, [] {
    return std::all_of(runtime().streams.begin(), runtime().streams.end(), [](const auto& stream) {
      return stream->device != &now() || (stream->queue.empty() && !stream->busy);
    });
  });
  return runtime().error;
}

EXPORT cuStreamCreateWithPriority(void** out, unsigned flags, int priority) {
  BEGIN(nullptr, {flags, static_cast<std::uint64_t>(priority)});
  std::lock_guard lock(runtime().mutex);
  auto stream = std::make_shared<Stream>();
  stream->device = &now();
  stream->flags = flags;
  stream->priority = priority;
  runtime().streams.push_back(stream);
  ++runtime().objects;
  return *out = stream.get(), 0;
}
EXPORT cuStreamDestroy_v2(void* stream) {
  BEGIN(stream);
  // Destroyed once its work has completed.
  runtime().submit(as_stream(stream),
                   {nullptr,
                    [stream] {
                      runtime().streams.remove_if([&](const auto& s) { return s.get() == stream; });
                      --runtime().objects;
                    },
                    false});
  return 0;
}
EXPORT cuStreamQuery(void* stream) {
  BEGIN(stream);
  std::lock_guard lock(runtime().mutex);
  return as_stream(stream)->queue.empty() && !as_stream(stream)->busy ? runtime().error : 600;
}
EXPORT cuStreamSynchronize(void* stream) {
  BEGIN(stream);
  std::unique_lock lock(runtime().mutex);
  runtime().changed.wait(lock, [&] { return as_stream(stream)->queue.empty() && !as_stream(stream)->busy; });
  return runtime().error;
}
EXPORT cuStreamWaitEvent(void* stream, void* event, unsigned) {
  BEGIN(stream, {number(event)});
  std::shared_ptr<Mark> mark = static_cast<Event*>(event)->mark;
  runtime().submit(as_stream(stream), {[mark] { return !mark || mark->reached; }, [] {}, false});
  return 0;
}
EXPORT cuStreamGetCtx(void* stream, void** out) {
  return *out = as_stream(stream)->device, 0;
}
EXPORT cuLaunchHostFunc(void* stream, weir_host_callback callback, void* user) {
  BEGIN(stream);
  runtime().submit(as_stream(stream), {nullptr, [=] { callback(user); }, true});
  return 0;
}

EXPORT cuEventCreate(void** out, unsigned flags) {
  BEGIN(nullptr, {flags});
  return *out = make<Event>(&now(), flags, std::shared_ptr<Mark>()), 0;
}
EXPORT cuEventDestroy_v2(void* event) {
  BEGIN(nullptr);
  return end<Event>(event), 0;
}
EXPORT cuEventRecord(void* event, void* stream) {
  BEGIN(stream, {number(event)});
  auto mark = std::make_shared<Mark>();
  {
    std::lock_guard lock(runtime().mutex);
    static_cast<Event*>(event)->mark = mark;
  }
  runtime().submit(as_stream(stream), {nullptr, [mark] { mark->reached = true; }, false});
  return 0;
}
EXPORT cuEventQuery(void* event) {
  BEGIN(nullptr);
  std::lock_guard lock(runtime().mutex);
  const auto& mark = static_cast<Event*>(event)->mark;
  return !mark || mark->reached ? 0 : 600;
}
EXPORT cuEventSynchronize(void* event) {
  BEGIN(nullptr);
  std::unique_lock lock(runtime().mutex);
  const std::shared_ptr<Mark> mark = static_cast<Event*>(event)->mark;
  runtime().changed.wait(lock, [&] { return !mark || mark->reached; });
  return runtime().error;
}
EXPORT cuEventElapsedTime(float* out, void*, void*) {
  BEGIN(nullptr);
  return *out = 1.5f, 0;
}

EXPORT cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  BEGIN(nullptr);
  return *free = std::size_t{1} << 36, *total = std::size_t{1} << 37, 0;
}
EXPORT cuMemAlloc_v2(Address* out, std::size_t size) {
  BEGIN(nullptr, {size});
  if (size > std::size_t{1} << 36) return 2;
  count(1);
  return *out = new_block(size), 0;
}
EXPORT cuMemFree_v2(Address address) {
  BEGIN(nullptr, {address});
  {
    std::lock_guard lock(runtime().mutex);
    runtime().blocks.erase(address);
  }
  std::free(pointer<void>(address));
  return count(-1), 0;
}
EXPORT cuMemHostAlloc(void** out, std::size_t size, unsigned flags) {
  BEGIN(nullptr, {size, flags});
  *out = std::aligned_alloc(4096, (size + 4095) / 4096 * 4096);
  std::lock_guard lock(runtime().mutex);
  ++runtime().objects;
  return runtime().pinned[number(*out)] = size, 0;
}
EXPORT cuMemFreeHost(void* memory) {
  BEGIN(nullptr);
  {
    std::lock_guard lock(runtime().mutex);
    runtime().pinned.erase(number(memory));
  }
  std::free(memory);
  return count(-1), 0;
}
EXPORT cuPointerGetAttribute(void* out, int attribute, Address address) {
  std::lock_guard lock(runtime().mutex);
  constexpr int device_ordinal = 9;
  if (attribute == device_ordinal) {
    const auto next = runtime().blocks.upper_bound(address);
    if (next == runtime().blocks.begin()) return 1;
    const auto& [begin, block] = *std::prev(next);
    if (address >= begin + block.size) return 1;
    return *static_cast<int*>(out) = block.device, 0;
  }
  const auto after = runtime().pinned.upper_bound(address);
  if (after == runtime().pinned.begin()) return 1;
  const auto& [begin, size] = *std::prev(after);
  if (address >= begin + size) return 1;
  return *static_cast<unsigned*>(out) = 1, 0;
}
EXPORT cuMemHostGetDevicePointer_v2(Address* out, void* memory, unsigned) {
  BEGIN(nullptr);
  return *out = number(memory), 0;
}
EXPORT cuMemPoolCreate(void** out, const weir::sdk::vendor::PoolProperties*) {
  count(1);
  return *out = new int, 0;
}
EXPORT cuMemPoolDestroy(void* pool) {
  count(-1);
  return delete static_cast<int*>(pool), 0;
}
EXPORT cuMemPoolSetAttribute(void*, int attribute, void* value) {
  const bool wide = attribute == weir::sdk::vendor::pool_release_threshold;
  std::uint64_t given = 0;
  std::memcpy(&given, value, wide ? 8 : 4);
  runtime().begin(__func__, nullptr, {static_cast<std::uint64_t>(attribute), given});
  return 0;
}
/// The pool holds 4 MiB more than is in use.
EXPORT cuMemPoolGetAttribute(void*, int attribute, void* value) {
  runtime().begin(__func__, nullptr, {static_cast<std::uint64_t>(attribute)});
  const std::uint64_t bytes = attribute == weir::sdk::vendor::pool_reserved_bytes ? 7 << 20
                              : attribute == weir::sdk::vendor::pool_used_bytes   ? 3 << 20
                                                                                  : 0;
  std::memcpy(value, &bytes, sizeof bytes);
  return bytes ? 0 : 1;
}
EXPORT cuMemPoolSetAccess(void*, const weir::sdk::vendor::PoolAccess* access, std::size_t) {
  runtime().begin(__func__, nullptr, {static_cast<std::uint64_t>(access->location.id)});
  return 0;
}
EXPORT cuMemPoolTrimTo(void*, std::size_t) {
  runtime().begin(__func__, nullptr);
  return 0;
}
EXPORT cuMemAllocFromPoolAsync(Address* out, std::size_t size, void*, void* stream) {
  BEGIN(stream, {size});
  if (size > std::size_t{1} << 36) return 2;
  count(1);
  return *out = new_block(size), 0;
}
EXPORT cuMemFreeAsync(Address address, void* stream) {
  BEGIN(stream, {address});
  runtime().submit(as_stream(stream), {nullptr,
                                       [address] {
                                         runtime().blocks.erase(address);
                                         std::free(pointer<void>(address));
                                         --runtime().objects;
                                       },
                                       false});
  return 0;
}

EXPORT cuMemcpyHtoDAsync_v2(Address to, const void* from, std::size_t size, void* stream) {
  BEGIN(stream, {size});
  runtime().submit(as_stream(stream), {nullptr, [=] { std::memcpy(pointer<void>(to), from, size); }, false});
  return 0;
}
EXPORT cuMemcpyDtoHAsync_v2(void* to, Address from, std::size_t size, void* stream) {
  BEGIN(stream, {size});
  runtime().submit(as_stream(stream), {nullptr, [=] { std::memcpy(to, pointer<void>(from), size); }, false});
  return 0;
}
EXPORT cuMemcpyDtoDAsync_v2(Address to, Address from, std::size_t size, void* stream) {
  BEGIN(stream, {size});
  runtime().submit(as_stream(stream),
                   {nullptr, [=] { std::memcpy(pointer<void>(to), pointer<void>(from), size); }, false});
  return 0;
}
EXPORT cuMemcpyPeerAsync(Address to, void* to_context, Address from, void* from_context, std::size_t size,
                         void* stream) {
  BEGIN(stream, {number(to_context), number(from_context), size});
  runtime().submit(as_stream(stream),
                   {nullptr, [=] { std::memcpy(pointer<void>(to), pointer<void>(from), size); }, false});
  return 0;
}
#define FILL(name, type, bytes)                                                                              \
  EXPORT name(Address to, type value, std::size_t count, void* stream) {                                     \
    BEGIN(stream, {value, count});                                                                           \
    runtime().submit(as_stream(stream), {nullptr, [=] { run_fill(to, 0, value, bytes, count, 1); }, false}); \
    return 0;                                                                                                \
  }
FILL(cuMemsetD8Async, unsigned char, 1)
FILL(cuMemsetD16Async, unsigned short, 2)
FILL(cuMemsetD32Async, unsigned, 4)
#undef FILL
EXPORT cuMemsetD2D32Async(Address to, std::size_t pitch, unsigned value, std::size_t width,
                          std::size_t height, void* stream) {
  BEGIN(stream, {pitch, value, width, height});
  runtime().submit(as_stream(stream),
                   {nullptr, [=] { run_fill(to, pitch, value, 4, width, height); }, false});
  return 0;
}

// The sizes of the parameters of the entry whose name is at `at`. A hand-written entry without parameters has
// as many of 8 bytes as its name has characters after its last '_'.
static std::vector<std::size_t> parameters_of(const std::string& text, std::size_t at) {
  const std::size_t open = text.find('(', at), close = text.find(')', at);
  std::vector<std::size_t> sizes;
  for (std::size_t p = open; (p = text.find(".param .", p)) < close; p += 8)
    sizes.push_back(std::stoul(text.substr(p + 9)) / 8);  // after a letter: u64, b32
  const std::string name = text.substr(at, open - at);
  const std::size_t number = name.rfind('_') + 1;
  if (sizes.empty() && number != 0) sizes.assign(std::stoul(name.substr(number)), 8);
  return sizes;
}

// The compiler: fails with a log for text that contains "error".
static int compile(const std::string& text, const int* options, void** values) {
  if (text.find("error") == text.npos) return 0;
  for (int i = 0; i < 4; ++i) {
    if (options[i] == weir::cuda::jit_error_log)
      std::strcpy(static_cast<char*>(values[i]), "line 7: no such word\n");
    if (options[i] == weir::cuda::jit_info_log) std::strcpy(static_cast<char*>(values[i]), "compiling 'x'");
  }
  return 218;
}

EXPORT cuModuleLoadDataEx(void** out, const void* image, unsigned, int* options, void** values) {
  const bool cubin = std::strncmp(static_cast<const char*>(image), ELFMAG, SELFMAG) == 0;
  BEGIN(nullptr, {cubin});
  const std::string text = static_cast<const char*>(image) + (cubin ? sizeof(Elf64_Ehdr) : 0);
  if (!cubin)
    if (const int code = compile(text, options, values)) return code;
  auto* module = static_cast<Module*>(make<Module>());
  for (std::size_t at = 0; (at = text.find(".entry ", at)) != text.npos;) {
    at += 7;
    module->functions.push_back(
        {text.substr(at, text.find_first_of("( \n", at) - at), parameters_of(text, at), 48 * 1024});
  }
  return *out = module, 0;
}
EXPORT cuModuleUnload(void* module) {
  BEGIN(nullptr);
  return end<Module>(module), 0;
}
EXPORT cuModuleGetFunction(void** out, void* module, const char* name) {
  BEGIN(nullptr);
  for (Function& function : static_cast<Module*>(module)->functions)
    if (function.name == name) return *out = &function, 0;
  return 500;
}
EXPORT cuFuncGetAttribute(int* out, int attribute, void*) {
  BEGIN(nullptr);
  return *out = attribute == 0 ? 512 : attribute == 1 ? 1024 : attribute == 4 ? 40 : 16, 0;
}
EXPORT cuFuncSetAttribute(void* function, int attribute, int value) {
  BEGIN(nullptr, {static_cast<std::uint64_t>(attribute), static_cast<std::uint64_t>(value)});
  if (attribute == 8) static_cast<Function*>(function)->dynamic_limit = value;
  return 0;
}
EXPORT cuFuncLoad(void*) {
  BEGIN(nullptr);
  return 0;
}
EXPORT cuFuncGetParamInfo(void* function, std::size_t index, std::size_t* offset, std::size_t* size) {
  const std::vector<std::size_t>& sizes = static_cast<Function*>(function)->parameters;
  if (index >= sizes.size()) return 1;
  *offset = argument_offset(*static_cast<Function*>(function), index);
  return *size = sizes[index], 0;
}
EXPORT cuLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                      unsigned bz, unsigned shared, void* stream, void**, void** extra) {
  BEGIN(stream, {gx, gy, gz, bx, by, bz, shared}, argument_bytes(extra));
  auto& called = *static_cast<Function*>(function);
  if (static_cast<int>(shared) > called.dynamic_limit) return 1;
  runtime().submit(as_stream(stream), {nullptr, [&called] { run_kernel(called); }, false});
  return 0;
}
// Kernels have 40 registers a thread: 65536 hold 51 warps of 32 threads, in whole blocks.
static int resident_blocks(int threads, std::size_t shared) {
  const int warps = (threads + 31) / 32;
  const int by_registers = 65536 / (40 * 32) / warps, by_threads = 64 / warps;
  const int by_shared = static_cast<int>(233472 / (shared + 2048));  // 1 KiB of the kernel, 1 KiB reserved
  return std::min({by_registers, by_threads, by_shared, 32});
}
EXPORT cuOccupancyMaxActiveBlocksPerMultiprocessor(int* out, void*, int threads, std::size_t shared) {
  BEGIN(nullptr, {static_cast<std::uint64_t>(threads), shared});
  return *out = resident_blocks(threads, shared), 0;
}
EXPORT cuLaunchKernelEx(const weir::cuda::LaunchConfiguration* c, void* function, void**, void** extra) {
  const bool cooperative = c->attribute_count == 1 &&
                           c->attributes[0].number == weir::cuda::launch_is_cooperative &&
                           c->attributes[0].value.cooperative;
  BEGIN(c->stream,
        {c->grid[0], c->grid[1], c->grid[2], c->block[0], c->block[1], c->block[2], c->shared_bytes, cooperative},
        argument_bytes(extra));
  auto& called = *static_cast<Function*>(function);
  if (static_cast<int>(c->shared_bytes) > called.dynamic_limit) return 1;
  const std::uint64_t blocks = std::uint64_t{c->grid[0]} * c->grid[1] * c->grid[2];
  const int threads = static_cast<int>(c->block[0] * c->block[1] * c->block[2]);
  if (cooperative && blocks > std::uint64_t(resident_blocks(threads, c->shared_bytes)) * 132) return 720;
  runtime().submit(as_stream(c->stream), {nullptr, [&called] { run_kernel(called); }, false});
  return 0;
}
