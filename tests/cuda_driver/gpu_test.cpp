// SPDX-License-Identifier: Apache-2.0
// Every slot of the driver on the real libcuda.
#include "gpu.hpp"

#include <numeric>

namespace cuda_test {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;

constexpr std::uint64_t millisecond = 1'000'000;

TEST_F(Gpu, DescribesItself) {
  const weir_device_info info = device_info();
  std::printf("%s, %s, %s, %s, %s, %u multiprocessors, %.0f GB/s, notes '%s'\n", info.name,
              info.driver_version, info.location, info.code_targets[0].target, info.target_features,
              info.multiprocessors, static_cast<double>(info.memory_bandwidth) * 1e-9, info.notes);
  EXPECT_EQ(info.lanes, 32u);
  EXPECT_GE(info.max_shared_bytes, 48u * 1024);
  EXPECT_GE(info.max_block_threads, 512u);
  EXPECT_GT(info.max_registers_per_multiprocessor, 0u);
  std::uint64_t free = 0, total = 0;
  call(table().device_get_memory, device, &free, &total);
  EXPECT_LE(free, total);
  EXPECT_LE(total, info.total_memory);
}

TEST_F(Gpu, CopiesAndLaunchesInTheStreamsOrder) {
  const std::uint32_t n = 100'000;
  std::vector<float> in(n);
  std::iota(in.begin(), in.end(), 0.0f);
  const weir_allocation memory = allocate(device, n * 4), other = allocate_async(stream, n * 4);
  call(table().copy_to_device, stream, memory, 0ull, static_cast<const void*>(in.data()),
       std::uint64_t{n * 4});
  const AddArguments arguments{address(memory), n, 0.5f};
  const weir_launch launch = launch_of(add(), &arguments, sizeof arguments, (n + 255) / 256, 256);
  call(table().kernel_launch, stream, &launch);
  call(table().copy_on_device, stream, other, 0ull, memory, 0ull, std::uint64_t{n * 4});
  const std::vector<float> out = read<float>(stream, other, n);
  for (std::uint32_t i = 0; i < n; ++i) ASSERT_EQ(out[i], in[i] + 0.5f);
  call(table().memory_free_async, stream, other);
  call(table().memory_free_async, stream, memory);
}

TEST_F(Gpu, FillsWithEveryPatternSize) {
  const weir_allocation memory = allocate(device, 4096 + 16);
  const auto fill = [&](auto value) {
    constexpr std::uint32_t size = sizeof value;
    call(table().fill, stream, memory, 16ull, 4096ull, static_cast<const void*>(&value), size);
    const auto bytes = read<std::uint8_t>(stream, memory, 4096, 16);
    for (std::size_t i = 0; i < 4096; i += size)
      ASSERT_EQ(std::memcmp(bytes.data() + i, &value, size), 0) << size;
  };
  struct Wide {
    std::uint32_t words[4];
  };
  fill(std::uint8_t{0xab});
  fill(std::uint16_t{0xabcd});
  fill(std::uint32_t{0x12345678});
  fill(std::uint64_t{0x123456789abcdef0});
  fill(Wide{{1, 2, 3, 4}});
  call(table().memory_free, memory);
}

TEST_F(Gpu, PinnedMemoryIsReachableFromBothSides) {
  const weir_allocation pinned = allocate(device, 4096, WEIR_MEMORY_PINNED), memory = allocate(device, 4096);
  auto* host = static_cast<float*>(memory_info(pinned).host_pointer);
  std::fill_n(host, 1024, 1.0f);
  const AddArguments arguments{address(pinned), 1024, 2.0f};
  const weir_launch launch = launch_of(add(), &arguments, sizeof arguments, 8, 128);
  call(table().kernel_launch, stream, &launch);
  call(table().copy_on_device, stream, memory, 0ull, pinned, 0ull, 4096ull);
  EXPECT_THAT(read<float>(stream, memory, 1024), Each(3.0f));
  EXPECT_EQ(host[1023], 3.0f);
  const std::vector<float> fives(1024, 5.0f);
  call(table().copy_to_device, stream, pinned, 0ull, static_cast<const void*>(fives.data()), 4096ull);
  EXPECT_THAT(read<float>(stream, pinned, 1024), Each(5.0f));
  const float six = 6.0f;
  call(table().fill, stream, pinned, 0ull, 4096ull, static_cast<const void*>(&six), 4u);
  call(table().stream_synchronize, stream);
  EXPECT_EQ(host[0], 6.0f);
  call(table().memory_free_async, stream, pinned);
  call(table().memory_free, memory);
}

TEST_F(Gpu, ArgumentsFromNoneTo4096Bytes) {
  const weir_allocation memory = allocate(device, 4);
  const weir_launch none = launch_of(find(module, "nothing", 0), nullptr, 0);
  call(table().kernel_launch, stream, &none);
  std::vector<std::uint8_t> block(4096);
  const std::uint64_t to = address(memory);
  const std::uint32_t last = 0xfeedbeef;
  std::memcpy(block.data(), &to, 8);
  std::memcpy(block.data() + 4092, &last, 4);
  const weir_launch launch = launch_of(find(module, "last", 4096), block.data(), 4096, 1, 1);
  call(table().kernel_launch, stream, &launch);
  std::fill(block.begin(), block.end(), std::uint8_t{0});
  EXPECT_EQ(read<std::uint32_t>(stream, memory, 1).at(0), last);
  call(table().memory_free, memory);
}

TEST_F(Gpu, ABlockMayHaveAllSharedMemoryOfTheDevice) {
  struct {
    std::uint64_t out;
    std::uint32_t bytes;
    std::uint32_t padding;
  } arguments{};
  const weir_allocation memory = allocate(device, 4);
  const weir_kernel share =
      find(module, "share", {{0, 8, WEIR_PARAMETER_BUFFER}, {8, 4, WEIR_PARAMETER_VALUE}}, 12);
  for (const std::uint32_t bytes : {1024u, 48u * 1024, device_info().max_shared_bytes}) {
    arguments = {address(memory), bytes, 0};
    weir_launch launch = launch_of(share, &arguments, 12, 1, 1);
    launch.dynamic_shared_bytes = bytes;
    call(table().kernel_launch, stream, &launch);
    EXPECT_EQ(read<std::uint32_t>(stream, memory, 1).at(0), 77u);
  }
  call(table().memory_free, memory);
}

TEST_F(Gpu, EventsOrderStreamsAndMeasure) {
  const weir_stream other = new_stream(device, device_info().max_priority);
  const weir_event start = new_event(device, WEIR_EVENT_TIMED), end = new_event(device, WEIR_EVENT_TIMED);
  call(table().stream_wait_event, other, start);  // never recorded
  call(table().event_record, start, stream);
  spin(stream, 5 * millisecond);
  call(table().event_record, end, stream);
  call(table().stream_wait_event, other, end);
  EXPECT_EQ(table().stream_query(other, nullptr), WEIR_NOT_READY);
  EXPECT_EQ(table().event_query(end, nullptr), WEIR_NOT_READY);
  call(table().stream_synchronize, other);
  EXPECT_EQ(table().event_query(end, nullptr), WEIR_OK);
  double nanoseconds = 0;
  call(table().event_elapsed, start, end, &nanoseconds);
  EXPECT_GE(nanoseconds, 4.9e6);
  call(table().event_synchronize, end);
  call(table().event_destroy, start);
  call(table().event_destroy, end);
  call(table().stream_destroy, other);
}

// proves R6
TEST_F(Gpu, DestroyingWithWorkInFlightDoesNotBlock) {
  const weir_allocation memory = allocate(device, 4);
  const weir_stream dying = new_stream(device);
  const weir_event event = new_event(device);
  const std::uint32_t value = 42;
  spin(dying, 20 * millisecond);
  call(table().fill, dying, memory, 0ull, 4ull, static_cast<const void*>(&value), 4u);
  call(table().event_record, event, dying);
  call(table().stream_wait_event, stream, event);
  call(table().event_destroy, event);
  call(table().stream_destroy, dying);
  EXPECT_EQ(table().stream_query(stream, nullptr), WEIR_NOT_READY);
  EXPECT_EQ(read<std::uint32_t>(stream, memory, 1).at(0), 42u);
  call(table().memory_free, memory);
}

TEST_F(Gpu, HostCallbackRunsAfterEarlierWork) {
  const weir_allocation pinned = allocate(device, 4, WEIR_MEMORY_PINNED);
  struct Seen {
    const volatile std::uint32_t* memory;
    std::uint32_t value;
  } seen{static_cast<std::uint32_t*>(memory_info(pinned).host_pointer), 0};
  const std::uint32_t value = 9;
  call(table().fill, stream, pinned, 0ull, 4ull, static_cast<const void*>(&value), 4u);
  const weir_host_callback callback = [](void* user) {
    auto* s = static_cast<Seen*>(user);
    s->value = *s->memory;
  };
  call(table().stream_host_callback, stream, callback, static_cast<void*>(&seen));
  call(table().stream_synchronize, stream);
  EXPECT_EQ(seen.value, 9u);
  call(table().memory_free, pinned);
}

// proves R12
TEST_F(Gpu, CopiesOfOrdinaryMemoryDoNotWaitForTheStream) {
  constexpr std::uint64_t size = 5 << 20;
  const weir_allocation memory = allocate(device, size);
  std::vector<std::uint32_t> in(size / 4), out(size / 4);
  std::iota(in.begin(), in.end(), 1u);
  spin(stream, 100 * millisecond);
  call(table().copy_to_device, stream, memory, 0ull, static_cast<const void*>(in.data()), size);
  call(table().copy_to_host, stream, static_cast<void*>(out.data()), memory, 0ull, size);
  EXPECT_EQ(table().stream_query(stream, nullptr), WEIR_NOT_READY);
  EXPECT_EQ(out[0], 0u);
  call(table().stream_synchronize, stream);
  EXPECT_EQ(out, in);
  call(table().memory_free, memory);
}

TEST_F(Gpu, WrapsAForeignStream) {
  void* native = nullptr;
  call(table().stream_get_native, stream, &native);
  weir_stream wrapped = nullptr;
  call(table().stream_wrap, device, native, &wrapped);
  spin(wrapped, millisecond);
  EXPECT_EQ(table().stream_query(stream, nullptr), WEIR_NOT_READY);
  call(table().stream_destroy, wrapped);
  call(table().stream_synchronize, stream);
}

TEST_F(Gpu, RefusesCodeWithTheLogOfTheCompiler) {
  std::string broken = gpu_kernels();
  broken.replace(broken.find("mad.lo.u32"), 10, "mud.lo.u32");
  const weir_code_object object{sizeof object, "ptx", "sm_70", broken.data(), broken.size(), "broken"};
  weir_module out = nullptr;
  const weir_status status = refused(WEIR_ERROR_CODE_OBJECT, table().module_load, device, &object, &out);
  std::printf("%s\n", status.message);
  EXPECT_THAT(status.message, AllOf(HasSubstr("CUDA_ERROR_INVALID_PTX"), HasSubstr("mud")));
  weir_kernel kernel = nullptr;
  const weir_kernel_layout none{sizeof none, 0, 0, nullptr};
  EXPECT_THAT(refusal(WEIR_ERROR_NOT_FOUND, table().module_get_kernel, module, "absent", &none, &kernel),
              HasSubstr("'absent'"));
}

/// Calls CUDA without the driver, in the context of device 0.
class Cuda {
 public:
  Cuda() {
    const char* const named = std::getenv("WEIR_CUDA_LIBRARY");
    library_ = dlopen(named ? named : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library_) throw std::runtime_error(dlerror());
    void* context = nullptr;
    call("cuDevicePrimaryCtxRetain", &context, 0);
    call("cuCtxSetCurrent", context);
  }
  Cuda(const Cuda&) = delete;
  ~Cuda() {
    if (module_) call("cuModuleUnload", module_);
    call("cuDevicePrimaryCtxRelease_v2", 0);
  }

  void load(const std::string& ptx) {
    call("cuModuleLoadDataEx", &module_, static_cast<const void*>(ptx.c_str()), 0u,
         static_cast<int*>(nullptr), static_cast<void**>(nullptr));
  }
  std::uint32_t registers(const char* kernel) {
    void* function = nullptr;
    int out = 0;
    constexpr int number_of_registers = 4;
    call("cuModuleGetFunction", &function, module_, kernel);
    call("cuFuncGetAttribute", &out, number_of_registers, function);
    return static_cast<std::uint32_t>(out);
  }
  /// The code that cuLink compiles, which is slower than that of a load (tests/evidence/cuda-link.md).
  std::string cubin_of(const std::string& ptx) {
    void *linker = nullptr, *data = nullptr;
    std::size_t size = 0;
    const auto no_options = static_cast<int*>(nullptr);
    const auto no_values = static_cast<void**>(nullptr);
    constexpr int is_ptx = 1;
    call("cuLinkCreate_v2", 0u, no_options, no_values, &linker);
    call("cuLinkAddData_v2", linker, is_ptx, static_cast<void*>(const_cast<char*>(ptx.c_str())),
         ptx.size() + 1, "ptx", 0u, no_options, no_values);
    call("cuLinkComplete", linker, &data, &size);
    std::string out(static_cast<const char*>(data), size);
    call("cuLinkDestroy", linker);
    return out;
  }

 private:
  template <class... Arguments>
  void call(const char* name, Arguments... arguments) {
    const auto function = reinterpret_cast<int (*)(Arguments...)>(dlsym(library_, name));
    if (!function) throw std::runtime_error(dlerror());
    EXPECT_EQ(function(arguments...), 0) << name;
  }

  void* library_ = nullptr;
  void* module_ = nullptr;
};

std::uint32_t registers_of(weir_module module, const char* name, std::uint32_t bytes) {
  weir_kernel_info info{};
  info.struct_size = sizeof info;
  call(table().kernel_get_info, find(module, name, bytes), &info);
  return info.registers;
}

// cuLink compiles the same PTX to code with more registers: 24 of `check` instead of 10 on sm_90.
TEST_F(Gpu, PtxHasTheRegistersOfALoadByCuda) {
  Cuda cuda;
  cuda.load(gpu_kernels());
  for (const auto& [name, bytes] :
       {std::pair{"add", 16u}, {"last", 4096u}, {"share", 16u}, {"spin", 8u}, {"check", 8u}}) {
    const std::uint32_t registers = cuda.registers(name);
    std::printf("%s: %u registers\n", name, registers);
    EXPECT_EQ(registers_of(module, name, bytes), registers) << name;
  }
}

TEST_F(Gpu, CubinIsLoaded) {
  const std::string bytes = Cuda().cubin_of(gpu_kernels());
  const weir_device_info info = device_info();
  const weir_code_object cubin{sizeof cubin, "cubin",      info.code_targets[1].target,
                               bytes.data(), bytes.size(), "machine code"};
  weir_module loaded = nullptr;
  call(table().module_load, device, &cubin, &loaded);
  std::printf("check: %u registers, loaded as PTX %u\n", registers_of(loaded, "check", 8),
              registers_of(module, "check", 8));
  const weir_allocation memory = allocate(device, 4096);
  const float one = 1.0f;
  call(table().fill, stream, memory, 0ull, 4096ull, static_cast<const void*>(&one), 4u);
  const AddArguments arguments{address(memory), 1024, 2.0f};
  const weir_launch launch = launch_of(find(loaded, "add", 16), &arguments, sizeof arguments, 8, 128);
  call(table().kernel_launch, stream, &launch);
  EXPECT_THAT(read<float>(stream, memory, 1024), Each(3.0f));
  call(table().memory_free, memory);
  call(table().module_unload, loaded);
}

TEST_F(Gpu, RefusesALayoutThatIsTooShort) {
  weir_kernel out = nullptr;
  const weir_kernel_layout shorter{sizeof shorter, 8, 0, nullptr};
  weir_status status = new_status();
  if (table().module_get_kernel(module, "add", &shorter, &out, &status) == WEIR_OK)
    GTEST_SKIP() << "this libcuda does not report the parameters of kernels";
  EXPECT_THAT(status.message, HasSubstr("'add' takes 16 bytes"));
}

TEST_F(Gpu, ReportsKernelInfo) {
  weir_kernel_info info{};
  info.struct_size = sizeof info;
  call(table().kernel_get_info, add(), &info);
  EXPECT_GT(info.registers, 0u);
  EXPECT_GE(info.max_block_threads, 512u);
  EXPECT_EQ(info.lanes, 32u);
}

TEST_F(Gpu, GraphRunsItsNodesAndTakesNewArguments) {
  const std::uint32_t n = 4096;
  const weir_allocation a = allocate(device, n * 4), b = allocate(device, n * 4);
  std::vector<float> in(n, 1.0f), out(n);
  AddArguments arguments{address(a), n, 2.0f};
  weir_launch launch = launch_of(add(), &arguments, sizeof arguments, n / 256, 256);
  const std::uint32_t zero[] = {0}, one[] = {1}, two_and_three[] = {2, 3};
  const double wide = 7.0;
  weir_graph_node upload = node_of(WEIR_GRAPH_COPY_TO_DEVICE), kernel = node_of(WEIR_GRAPH_KERNEL),
                  move = node_of(WEIR_GRAPH_COPY_ON_DEVICE), fill = node_of(WEIR_GRAPH_FILL),
                  join = node_of(WEIR_GRAPH_EMPTY), down = node_of(WEIR_GRAPH_COPY_TO_HOST);
  upload.destination = a;
  upload.size = n * 4;
  upload.host_source = in.data();
  kernel.launch = &launch;
  kernel.dependency_count = 1;
  kernel.dependencies = zero;
  move.destination = b;
  move.source = a;
  move.size = n * 4;
  move.dependency_count = 1;
  move.dependencies = one;
  fill.destination = a;
  fill.size = 64;
  fill.pattern = &wide;
  fill.pattern_size = 8;
  fill.dependency_count = 1;
  const std::uint32_t two[] = {2};
  fill.dependencies = two;
  join.dependency_count = 2;
  join.dependencies = two_and_three;
  const std::uint32_t four[] = {4};
  down.source = b;
  down.size = n * 4;
  down.host_destination = out.data();
  down.dependency_count = 1;
  down.dependencies = four;
  const weir_graph graph = create_graph(device, {&upload, &kernel, &move, &fill, &join, &down});
  call(table().graph_launch, graph, stream);
  call(table().stream_synchronize, stream);
  EXPECT_THAT(out, Each(3.0f));
  EXPECT_THAT(read<double>(stream, a, 8), Each(7.0));

  arguments.value = 10.0f;
  call(table().graph_update, graph, 1u, &kernel);
  const double other = 8.0;
  fill.pattern = &other;
  call(table().graph_update, graph, 3u, &fill);
  std::vector<float> fours(n, 4.0f);
  upload.host_source = fours.data();
  call(table().graph_update, graph, 0u, &upload);
  call(table().graph_launch, graph, stream);
  call(table().stream_synchronize, stream);
  EXPECT_THAT(out, Each(14.0f));
  EXPECT_THAT(read<double>(stream, a, 8), Each(8.0));
  call(table().graph_destroy, graph);
  call(table().memory_free, a);
  call(table().memory_free, b);
}

TEST_F(Gpu, GraphFillsLongRangesWithLongPatternsAndChangesThem) {
  constexpr std::uint64_t words = 1'000'003;
  const weir_allocation memory = allocate(device, words * 8);
  double value = 1.5;
  weir_graph_node fill = node_of(WEIR_GRAPH_FILL);
  fill.destination = memory;
  fill.size = words * 8;
  fill.pattern = &value;
  fill.pattern_size = 8;
  const weir_graph graph = create_graph(device, {&fill});
  call(table().graph_launch, graph, stream);
  EXPECT_THAT(read<double>(stream, memory, words), Each(1.5));
  value = 2.5;
  weir_status status = new_status();
  if (const weir_result result = table().graph_update(graph, 0, &fill, &status); result == WEIR_OK) {
    call(table().graph_launch, graph, stream);
    EXPECT_THAT(read<double>(stream, memory, words), Each(2.5));
  } else {
    EXPECT_EQ(result, WEIR_ERROR_UNSUPPORTED) << status.message;
    std::printf("%s\n", status.message);
  }
  call(table().graph_destroy, graph);
  call(table().memory_free, memory);
}

// proves R6
TEST_F(Gpu, GraphThatIsDestroyedWhileItRunsCompletes) {
  const weir_allocation memory = allocate(device, 4);
  const std::uint32_t zero = 0, value = 42;
  const std::uint64_t duration = 10 * millisecond;
  const std::uint32_t first[] = {0};
  call(table().fill, stream, memory, 0ull, 4ull, static_cast<const void*>(&zero), 4u);
  const weir_launch launch = launch_of(find(module, "spin", 8), &duration, 8, 1, 1);
  weir_graph_node wait = node_of(WEIR_GRAPH_KERNEL), fill = node_of(WEIR_GRAPH_FILL);
  wait.launch = &launch;
  fill.destination = memory;
  fill.size = 4;
  fill.pattern = &value;
  fill.pattern_size = 4;
  fill.dependency_count = 1;
  fill.dependencies = first;
  const weir_graph graph = create_graph(device, {&wait, &fill});
  call(table().graph_launch, graph, stream);
  call(table().graph_destroy, graph);
  EXPECT_EQ(table().stream_query(stream, nullptr), WEIR_NOT_READY);
  EXPECT_EQ(read<std::uint32_t>(stream, memory, 1).at(0), 42u);
  call(table().memory_free, memory);
}

TEST_F(Gpu, CopiesBetweenDevices) {
  if (devices < 2) GTEST_SKIP() << "one device only";
  weir_device second = nullptr;
  call(table().device_open, 1u, &second);
  const weir_stream there = new_stream(second);
  const std::uint32_t value = 0x600dcafe;
  for (const bool pooled : {false, true}) {
    const weir_allocation from = pooled ? allocate_async(stream, 1 << 20) : allocate(device, 1 << 20);
    const weir_allocation to = pooled ? allocate_async(there, 1 << 20) : allocate(second, 1 << 20);
    const weir_event ready = new_event(second);
    call(table().event_record, ready, there);
    call(table().stream_wait_event, stream, ready);
    call(table().fill, stream, from, 0ull, 1ull << 20, static_cast<const void*>(&value), 4u);
    call(table().copy_peer, stream, to, 0ull, from, 0ull, 1ull << 20);
    call(table().stream_synchronize, stream);
    EXPECT_THAT(read<std::uint32_t>(there, to, 1 << 18), Each(value));
    call(table().event_destroy, ready);
    call(table().memory_free, from);
    call(table().memory_free, to);
  }
  call(table().stream_destroy, there);
  call(table().device_close, second);
}

TEST_F(Gpu, DISABLED_BreaksItsDevice) {
  const weir_launch launch = launch_of(find(module, "trap", 0), nullptr, 0);
  weir_allocation memory = nullptr;
  const weir_memory_options options{sizeof options, WEIR_MEMORY_DEVICE, 64, 0};
  call(table().kernel_launch, stream, &launch);
  const weir_status first = refused(WEIR_ERROR_ILLEGAL_ADDRESS, table().stream_synchronize, stream);
  std::printf("%s\n", first.message);
  EXPECT_EQ(refusal(WEIR_ERROR_DEVICE_LOST, table().memory_allocate, device, &options, &memory),
            first.message);
  EXPECT_EQ(refusal(WEIR_ERROR_DEVICE_LOST, table().kernel_launch, stream, &launch), first.message);
  EXPECT_STREQ(first.vendor_name, "CUDA_ERROR_ILLEGAL_ADDRESS");
  if (devices > 1) {  // CUDA returns the same error for all GPUs of the process
    weir_device second = nullptr;
    EXPECT_THAT(refusal(WEIR_ERROR_ILLEGAL_ADDRESS, table().device_open, 1u, &second),
                HasSubstr("device 1 is lost"));
  }
}

// proves R34
TEST_F(Gpu, IllegalAddressBreaksTheDevicePermanently) {
  const std::string out = run_apart("", "Gpu.DISABLED_BreaksItsDevice");
  EXPECT_THAT(out, AllOf(HasSubstr("[  PASSED  ] 1 test"), HasSubstr("illegal memory access"))) << out;
}

}  // namespace
}  // namespace cuda_test
