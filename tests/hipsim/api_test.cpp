// SPDX-License-Identifier: Apache-2.0
// The HIP functions: devices, memory, streams, events, graphs, errors on demand.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "compile.hpp"
#include "hip.hpp"
#include "include/hipsim.h"
#include "kernels.hpp"

namespace weir::hipsim::test {
namespace {

class Api : public testing::Test {
 protected:
  void SetUp() override {
    HIP(hipSetDevice(0));
    hipsimClear();
  }
  void TearDown() override { hipsimClear(); }
};

/// Blocks a stream until it is opened.
struct Gate {
  void hold(hipStream_t stream) {
    HIP(hipLaunchHostFunc(
        stream, [](void* gate) { static_cast<Gate*>(gate)->pass(); }, this));
  }
  void pass() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return is_open; });
  }
  void open() {
    const std::scoped_lock lock(mutex);
    is_open = true;
    changed.notify_all();
  }
  std::mutex mutex;
  std::condition_variable changed;
  bool is_open = false;
};

struct TestStream {
  explicit TestStream(unsigned flags = 1) { HIP(hipStreamCreateWithFlags(&handle, flags)); }
  TestStream(const TestStream&) = delete;
  TestStream& operator=(const TestStream&) = delete;
  ~TestStream() { hipStreamDestroy(handle); }
  hipStream_t handle;
};

struct Pinned {
  explicit Pinned(std::size_t bytes) { HIP(hipHostMalloc(&pointer, bytes, 0)); }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  ~Pinned() { hipHostFree(pointer); }
  int& operator[](std::size_t n) { return static_cast<int*>(pointer)[n]; }
  void* pointer;
};

TEST_F(Api, DevicesAreThoseOfTheConfiguration) {
  int count = 0, version = 0, units = 0;
  EXPECT_EQ(hipSuccess, hipGetDeviceCount(&count));
  EXPECT_EQ(8, count);
  EXPECT_EQ(hipSuccess, hipRuntimeGetVersion(&version));
  EXPECT_EQ(60342131, version);
  hipDeviceProp_t_R0000 old_layout;
  hipDeviceProp_t_R0600 layout;
  EXPECT_EQ(hipSuccess, hipGetDeviceProperties(&old_layout, 1));
  EXPECT_EQ(hipSuccess, hipGetDevicePropertiesR0600(&layout, 1));
  EXPECT_STREQ("gfx942:sramecc+:xnack-", layout.gcnArchName);
  EXPECT_STREQ(layout.gcnArchName, old_layout.gcnArchName);
  EXPECT_EQ(304, layout.multiProcessorCount);
  EXPECT_EQ(hipSuccess, hipDeviceGetAttribute(&units, 63, 1));
  EXPECT_EQ(304, units);
  EXPECT_EQ(hipErrorInvalidDevice, hipSetDevice(8));
}

TEST_F(Api, MemoryIsLimitedAndCounted) {
  std::size_t available, total, after;
  HIP(hipMemGetInfo(&available, &total));
  EXPECT_EQ(64u << 20, total);
  void* pointer;
  EXPECT_EQ(hipErrorOutOfMemory, hipMalloc(&pointer, total + 1));
  HIP(hipMalloc(&pointer, 1 << 20));
  HIP(hipMemGetInfo(&after, &total));
  EXPECT_EQ(available - (1 << 20), after);
  EXPECT_EQ(hipErrorInvalidValue, hipFree(static_cast<char*>(pointer) + 4));
  HIP(hipFree(pointer));
  EXPECT_EQ(hipErrorInvalidValue, hipFree(pointer));
}

TEST_F(Api, StreamsRunInOrderAndApart) {
  TestStream first, second;
  Pinned host(16);
  void* device;
  HIP(hipMalloc(&device, 16));
  Gate gate;
  gate.hold(first.handle);
  HIP(hipMemsetD32Async(device, 7, 4, first.handle));
  HIP(hipMemcpyAsync(host.pointer, device, 16, hipMemcpyDeviceToHost, first.handle));
  EXPECT_EQ(hipErrorNotReady, hipStreamQuery(first.handle));
  EXPECT_EQ(hipSuccess, hipStreamSynchronize(second.handle)) << "another stream is not held";
  gate.open();
  EXPECT_EQ(hipSuccess, hipStreamSynchronize(first.handle));
  EXPECT_EQ(7, host[3]);
  HIP(hipFree(device));
}

TEST_F(Api, EventsOrderStreamsAndMeasureTime) {
  TestStream first, second;
  hipEvent_t event, end, untimed;
  HIP(hipEventCreateWithFlags(&event, 0));
  HIP(hipEventCreateWithFlags(&end, 0));
  HIP(hipEventCreateWithFlags(&untimed, 2));
  Pinned host(8);
  host[0] = host[1] = 0;
  Gate gate;
  gate.hold(first.handle);
  HIP(hipLaunchHostFunc(
      first.handle, [](void* p) { *static_cast<int*>(p) = 1; }, &host[0]));
  EXPECT_EQ(hipSuccess, hipEventQuery(event)) << "an event that was not recorded is done";
  HIP(hipEventRecord(event, first.handle));
  HIP(hipStreamWaitEvent(second.handle, event, 0));
  HIP(hipLaunchHostFunc(
      second.handle, [](void* p) { static_cast<int*>(p)[1] = static_cast<int*>(p)[0] + 1; }, &host[0]));
  HIP(hipEventRecord(end, second.handle));
  EXPECT_EQ(hipErrorNotReady, hipEventQuery(event));
  float ms = -1;
  EXPECT_EQ(hipErrorNotReady, hipEventElapsedTime(&ms, event, end));
  gate.open();
  EXPECT_EQ(hipSuccess, hipEventSynchronize(end));
  EXPECT_EQ(2, host[1]);
  EXPECT_EQ(hipSuccess, hipEventElapsedTime(&ms, event, end));
  EXPECT_GE(ms, 0);
  EXPECT_EQ(hipErrorInvalidHandle, hipEventElapsedTime(&ms, event, untimed));
  for (hipEvent_t e : {event, end, untimed}) EXPECT_EQ(hipSuccess, hipEventDestroy(e));
  EXPECT_EQ(hipErrorInvalidHandle, hipEventDestroy(event));
}

// Each call is made while the stream's thread is still between the work and its end, if there is such a time.
TEST_F(Api, WhoSeesAnEventFindsTheWorkBeforeItDone) {
  const TestStream stream;
  hipEvent_t event = nullptr;
  HIP(hipEventCreateWithFlags(&event, 0));
  int late = 0;
  for (int round = 0; round < 20'000; ++round) {
    HIP(hipEventRecord(event, stream.handle));
    while (hipEventQuery(event) == hipErrorNotReady) {
    }
    late += hipStreamQuery(stream.handle) == hipErrorNotReady;
  }
  EXPECT_EQ(late, 0);
  HIP(hipEventDestroy(event));
}

TEST_F(Api, TheNullStreamWaitsForBlockingStreams) {
  TestStream blocking(0);
  Gate gate;
  std::atomic<bool> ran{false};
  gate.hold(blocking.handle);
  HIP(hipLaunchHostFunc(
      nullptr, [](void* p) { *static_cast<std::atomic<bool>*>(p) = true; }, &ran));
  TestStream apart;
  HIP(hipStreamSynchronize(apart.handle));
  EXPECT_FALSE(ran);
  gate.open();
  HIP(hipStreamSynchronize(nullptr));
  EXPECT_TRUE(ran);
}

TEST_F(Api, FreeingInAStreamWaitsForItsTurn) {
  TestStream stream;
  void* pointer;
  HIP(hipMallocAsync(&pointer, 1024, stream.handle));
  Gate gate;
  gate.hold(stream.handle);
  HIP(hipMemsetD8Async(pointer, 1, 1024, stream.handle));
  HIP(hipFreeAsync(pointer, stream.handle));
  gate.open();
  EXPECT_EQ(hipSuccess, hipStreamSynchronize(stream.handle));
  EXPECT_EQ(hipErrorInvalidValue, hipMemsetD8Async(pointer, 1, 1024, stream.handle));
  HIP(hipSetDevice(2));
  EXPECT_EQ(hipErrorNotSupported, hipMallocAsync(&pointer, 1024, nullptr))
      << "this device has no memory pools";
}

TEST_F(Api, FreeingWhatAStreamIsAboutToFreeIsRefused) {
  std::size_t before = 0, after = 0, total = 0;
  HIP(hipMemGetInfo(&before, &total));
  TestStream stream;
  void* pointer;
  HIP(hipMalloc(&pointer, 1 << 20));
  HIP(hipLaunchHostFunc(
      stream.handle, [](void*) { std::this_thread::sleep_for(std::chrono::milliseconds(50)); }, nullptr));
  HIP(hipFreeAsync(pointer, stream.handle));
  EXPECT_EQ(hipErrorInvalidValue, hipFree(pointer));
  HIP(hipMemGetInfo(&after, &total));
  EXPECT_EQ(before, after) << "it was freed twice";
}

TEST_F(Api, DestroyedStreamsFinishTheirWork) {
  Pinned host(4);
  host[0] = 0;
  Gate gate;
  hipStream_t stream;
  hipEvent_t event;
  HIP(hipStreamCreateWithFlags(&stream, 1));
  HIP(hipEventCreateWithFlags(&event, 2));
  gate.hold(stream);
  HIP(hipLaunchHostFunc(
      stream, [](void* p) { *static_cast<int*>(p) = 5; }, host.pointer));
  HIP(hipEventRecord(event, stream));
  EXPECT_EQ(hipSuccess, hipStreamDestroy(stream));
  EXPECT_EQ(hipErrorInvalidHandle, hipStreamQuery(stream));
  gate.open();
  EXPECT_EQ(hipSuccess, hipEventSynchronize(event));
  EXPECT_EQ(5, host[0]);
  HIP(hipEventDestroy(event));
}

TEST_F(Api, CopiesAreChecked) {
  void* device;
  HIP(hipMalloc(&device, 64));
  char host[128] = {};
  EXPECT_EQ(hipErrorInvalidValue, hipMemcpy(device, host, 65, hipMemcpyHostToDevice));
  EXPECT_EQ(hipErrorInvalidValue, hipMemcpy(host, host + 64, 16, hipMemcpyDeviceToHost));
  EXPECT_EQ(hipSuccess, hipMemcpy(device, host, 64, hipMemcpyDefault));
  EXPECT_EQ(hipSuccess, hipMemcpy(device, host, 0, hipMemcpyHostToDevice));
  EXPECT_EQ(2u, hipsimReportCount());
  HIP(hipFree(device));
}

TEST_F(Api, DevicesCopyToEachOther) {
  void *a, *b;
  HIP(hipMalloc(&a, 64));
  HIP(hipSetDevice(1));
  HIP(hipMalloc(&b, 64));
  HIP(hipMemsetD16Async(b, 0x1234, 32, nullptr));
  HIP(hipMemcpyPeerAsync(a, 0, b, 1, 64, nullptr));
  HIP(hipDeviceSynchronize());
  unsigned short host[32];
  HIP(hipMemcpy(host, a, 64, hipMemcpyDeviceToHost));
  EXPECT_EQ(0x1234, host[31]);
  HIP(hipFree(a));
  HIP(hipFree(b));
}

TEST_F(Api, MemoryOfTheProgramCanBeMadeKnown) {
  std::vector<int> values(64, 3);
  void* device;
  HIP(hipMalloc(&device, 256));
  EXPECT_EQ(hipSuccess, hipHostRegister(values.data(), 256, 0));
  EXPECT_EQ(hipSuccess, hipMemsetD32Async(values.data(), 9, 64, nullptr));
  EXPECT_EQ(hipSuccess, hipDeviceSynchronize());
  EXPECT_EQ(9, values[63]);
  EXPECT_EQ(hipErrorInvalidValue, hipHostFree(values.data()));
  EXPECT_EQ(hipSuccess, hipHostUnregister(values.data()));
  EXPECT_EQ(hipErrorInvalidValue, hipMemsetD32Async(values.data(), 9, 64, nullptr));
  HIP(hipFree(device));
}

TEST_F(Api, ADevicesPoolCountsItsMemory) {
  hipMemPool_t pool;
  ASSERT_EQ(hipSuccess, hipDeviceGetDefaultMemPool(&pool, 0));
  std::uint64_t before = 0, after = 0;
  EXPECT_EQ(hipSuccess, hipMemPoolGetAttribute(pool, 7, &before));
  void* pointer;
  HIP(hipMallocAsync(&pointer, 4096, nullptr));
  EXPECT_EQ(hipSuccess, hipMemPoolGetAttribute(pool, 7, &after));
  EXPECT_EQ(before + 4096, after);
  HIP(hipFree(pointer));
  EXPECT_EQ(hipErrorNotSupported, hipDeviceGetDefaultMemPool(&pool, 2));
}

TEST_F(Api, FailuresComeOnDemand) {
  void* pointer;
  hipsimFail("hipMalloc", 2, 1, 719);
  EXPECT_EQ(hipSuccess, hipMalloc(&pointer, 16));
  void* other = nullptr;
  EXPECT_EQ(hipErrorLaunchFailure, hipMalloc(&other, 16));
  EXPECT_EQ(nullptr, other);
  EXPECT_EQ(hipErrorLaunchFailure, hipGetLastError());
  EXPECT_EQ(hipSuccess, hipGetLastError());
  EXPECT_EQ(hipSuccess, hipMalloc(&other, 16));
  HIP(hipFree(pointer));
  HIP(hipFree(other));
}

TEST_F(Api, FailuresComeLateOnDemand) {
  void* pointer;
  HIP(hipMalloc(&pointer, 16));
  hipsimFailLate("hipMemsetD8Async", 2, hipErrorIllegalAddress);
  HIP(hipMemsetD8Async(pointer, 1, 16, nullptr));
  HIP(hipStreamSynchronize(nullptr));
  HIP(hipMemsetD8Async(pointer, 2, 16, nullptr));  // succeeds, as does its work
  EXPECT_EQ(hipErrorIllegalAddress, hipStreamSynchronize(nullptr));
  EXPECT_EQ(hipErrorIllegalAddress, hipMemsetD8Async(pointer, 3, 16, nullptr));
  EXPECT_EQ(2, *static_cast<unsigned char*>(pointer));  // simulated devices use host memory
  HIP(hipDeviceReset());
  HIP(hipFree(pointer));
  hipsimFailLate("hipMalloc", 1, hipErrorOutOfMemory);  // which submits nothing to a stream
  EXPECT_EQ(hipErrorOutOfMemory, hipMalloc(&pointer, 16));
}

TEST_F(Api, CopiesBetweenDevicesThatAreNotThereAreErrorsLikeOthers) {
  void* pointer;
  HIP(hipMalloc(&pointer, 16));
  EXPECT_EQ(hipErrorInvalidDevice, hipMemcpyPeerAsync(pointer, 99, pointer, 0, 8, nullptr));
  EXPECT_EQ(hipErrorInvalidDevice, hipGetLastError());
  hipsimFail("hipMemcpyPeerAsync", 1, 1, 719);
  EXPECT_EQ(hipErrorLaunchFailure, hipMemcpyPeerAsync(pointer, 99, pointer, 0, 8, nullptr));
  HIP(hipFree(pointer));
}

TEST_F(Api, BadImagesAreRefused) {
  hipModule_t module;
  const char text[64] = "this is no code object";
  EXPECT_EQ(hipErrorInvalidImage, hipModuleLoadData(&module, text));
  auto image = compile_ir(kernels_ir, "gfx90a");
  image[18] = 62;  // another machine
  EXPECT_EQ(hipErrorInvalidImage, hipModuleLoadData(&module, image.data()));
}

TEST_F(Api, LaunchesAreChecked) {
  const LoadedModule module(compile_ir(kernels_ir, "gfx90a"));
  hipFunction_t function;
  EXPECT_EQ(hipErrorNotFound, hipModuleGetFunction(&function, module.handle(), "no_such_kernel"));
  const LoadedKernel kernel = module.kernel("ids");
  void* nothing = nullptr;
  EXPECT_EQ(hipErrorInvalidConfiguration, kernel.try_launch(0, 64, 0, nullptr, nothing));
  EXPECT_EQ(hipErrorInvalidConfiguration, kernel.try_launch(1, 2048, 0, nullptr, nothing));
  EXPECT_EQ(hipErrorLaunchOutOfResources, kernel.try_launch(1, 64, 65537, nullptr, nothing));
  EXPECT_EQ(hipErrorInvalidValue, kernel.try_launch(1, 64, 0, nullptr)) << "too few arguments";
  int threads = 0;
  HIP(hipFuncGetAttribute(&threads, 0, kernel.handle()));
  EXPECT_EQ(1024, threads);
  EXPECT_EQ(hipErrorInvalidHandle, hipFuncGetAttribute(&threads, 0, nullptr));
}

TEST_F(Api, GraphsRunNodesInTheOrderOfTheirDependencies) {
  const LoadedModule module(compile_ir(kernels_ir, "gfx90a"));
  DeviceArray<float> a(std::vector<float>(64)), b(std::vector<float>(64)), out(std::vector<float>(64));
  Pinned host(256);
  hipGraph_t graph;
  hipGraphExec_t exec;
  HIP(hipGraphCreate(&graph, 0));
  hipGraphNode_t fill_a, fill_b, kernel, copy, join;
  hipMemsetParams p{a.pointer(), 4, 1, 0, 0x3f800000, 64};
  HIP(hipGraphAddMemsetNode(&fill_a, graph, nullptr, 0, &p));
  p.dst = b.pointer(), p.value = 0x40000000;
  HIP(hipGraphAddMemsetNode(&fill_b, graph, nullptr, 0, &p));
  const hipGraphNode_t fills[] = {fill_a, fill_b};
  HIP(hipGraphAddEmptyNode(&join, graph, fills, 2));
  void *po = out.pointer(), *pa = a.pointer(), *pb = b.pointer();
  int n = 64;
  void* parameters[] = {&po, &pa, &pb, &n};
  hipKernelNodeParams k{{64, 1, 1}, nullptr, module.kernel("add").handle(), {1, 1, 1}, parameters, 0};
  HIP(hipGraphAddMemcpyNode1D(&copy, graph, nullptr, 0, host.pointer, out.pointer(), 256,
                              hipMemcpyDeviceToHost));
  HIP(hipGraphAddKernelNode(&kernel, graph, &join, 1, &k));
  HIP(hipGraphAddDependencies(graph, &kernel, &copy, 1));
  HIP(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  TestStream stream;
  HIP(hipGraphLaunch(exec, stream.handle));
  HIP(hipStreamSynchronize(stream.handle));
  EXPECT_EQ(3.0f, reinterpret_cast<float&>(host[63]));
  pa = b.pointer();
  HIP(hipGraphExecKernelNodeSetParams(exec, kernel, &k));
  HIP(hipGraphLaunch(exec, stream.handle));
  HIP(hipStreamSynchronize(stream.handle));
  EXPECT_EQ(4.0f, reinterpret_cast<float&>(host[0]));
  EXPECT_EQ(hipErrorInvalidValue, hipGraphExecKernelNodeSetParams(exec, copy, &k))
      << "a node of another kind";
  HIP(hipGraphAddDependencies(graph, &copy, &kernel, 1));
  hipGraphExec_t ring;
  EXPECT_EQ(hipErrorInvalidValue, hipGraphInstantiate(&ring, graph, nullptr, nullptr, 0));
  HIP(hipGraphExecDestroy(exec));
  HIP(hipGraphDestroy(graph));
}

// Launches from several threads on separate streams, with a shared counter.
TEST_F(Api, ThreadsLaunchAtTheSameTime) {
  const LoadedModule module(compile_ir(kernels_ir, "gfx90a"));
  DeviceArray<int> sum(std::vector<int>(1));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      TestStream stream;
      DeviceArray<int> tickets(std::vector<int>(256));
      for (int n = 0; n < 20; ++n)
        EXPECT_EQ(hipSuccess, module.kernel("count").try_launch(2, 128, 0, stream.handle, sum.pointer(),
                                                                tickets.pointer()));
      EXPECT_EQ(hipSuccess, hipStreamSynchronize(stream.handle));
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(4 * 20 * 255 * 128, sum.read()[0]);
}

}  // namespace
}  // namespace weir::hipsim::test
