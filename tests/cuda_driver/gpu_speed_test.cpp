// SPDX-License-Identifier: Apache-2.0
// Costs of calls compared with the same calls of libcuda. Figures are printed and not checked.
#include <algorithm>
#include <chrono>
#include <functional>

#include "gpu.hpp"

namespace cuda_test {
namespace {

double microseconds(const std::function<void()>& body, int repeats) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < repeats; ++i) body();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count() /
         repeats;
}

/// The minimum of several rounds, each ended by `settle`.
double best(const std::function<void()>& body, const std::function<void()>& settle, int repeats = 500) {
  double least = 1e30;
  for (int round = 0; round < 15; ++round) {
    least = std::min(least, microseconds(body, repeats));
    settle();
  }
  return least;
}

TEST_F(Gpu, CostOfALaunchBesideLibcudasOwn) {
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  ASSERT_NE(library, nullptr);
  const auto symbol = [&](auto& out, const char* name) {
    out = reinterpret_cast<std::remove_reference_t<decltype(out)>>(dlsym(library, name));
  };
  int (*load_data)(void**, const void*);
  int (*get_function)(void**, void*, const char*);
  int (*launch_kernel)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*,
                       void**, void**);
  int (*get_current)(void**);
  symbol(load_data, "cuModuleLoadData");
  symbol(get_function, "cuModuleGetFunction");
  symbol(launch_kernel, "cuLaunchKernel");
  symbol(get_current, "cuCtxGetCurrent");
  void *raw_module = nullptr, *raw_nothing = nullptr, *raw_add = nullptr, *native = nullptr;
  ASSERT_EQ(load_data(&raw_module, gpu_kernels()), 0) << "the driver left its context current";
  ASSERT_EQ(get_function(&raw_nothing, raw_module, "nothing"), 0);
  ASSERT_EQ(get_function(&raw_add, raw_module, "add"), 0);
  call(table().stream_get_native, stream, &native);
  const auto settle = [&] { call(table().stream_synchronize, stream); };

  const weir_launch nothing = launch_of(find(module, "nothing", 0), nullptr, 0);
  AddArguments arguments{0, 0, 0.0f};
  const weir_launch with_arguments = launch_of(add(), &arguments, sizeof arguments);
  void* parameters[] = {&arguments.data, &arguments.count, &arguments.value};
  const auto& slots = table();
  weir_status status = new_status();
  const double ours0 = best([&] { slots.kernel_launch(stream, &nothing, &status); }, settle);
  const double raw0 =
      best([&] { launch_kernel(raw_nothing, 1, 1, 1, 32, 1, 1, 0, native, nullptr, nullptr); }, settle);
  const double ours3 = best([&] { slots.kernel_launch(stream, &with_arguments, &status); }, settle);
  const double raw3 =
      best([&] { launch_kernel(raw_add, 1, 1, 1, 32, 1, 1, 0, native, parameters, nullptr); }, settle);
  void* context = nullptr;
  const double ask = best([&] { get_current(&context); }, [] {}, 10000);
  std::printf(
      "launch, no arguments: %.3f us, cuLaunchKernel %.3f us; 3 arguments: %.3f us, cuLaunchKernel %.3f us; "
      "cuCtxGetCurrent %.4f us\n",
      ours0, raw0, ours3, raw3, ask);
}

TEST_F(Gpu, CostOfTheOtherCalls) {
  const auto& slots = table();
  weir_status status = new_status();
  const weir_stream other = new_stream(device);
  const weir_event event = new_event(device);
  const auto settle = [&] {
    call(slots.stream_synchronize, stream);
    call(slots.stream_synchronize, other);
  };
  std::printf(
      "record %.3f us, wait %.3f us, event made and destroyed %.3f us, stream made and destroyed %.2f us\n",
      best([&] { slots.event_record(event, stream, &status); }, settle),
      best([&] { slots.stream_wait_event(other, event, &status); }, settle),
      best([&] { call(slots.event_destroy, new_event(device)); }, settle),
      best([&] { call(slots.stream_destroy, new_stream(device)); }, settle, 50));
  std::printf("stream-ordered allocation and free of 1 MiB %.3f us\n",
              best([&] { call(slots.memory_free_async, stream, allocate_async(stream, 1 << 20)); }, settle));
  call(slots.event_destroy, event);
  call(slots.stream_destroy, other);
}

TEST_F(Gpu, SpeedOfFills) {
  constexpr std::uint64_t size = 1ull << 30;
  const weir_allocation memory = allocate(device, size);
  const weir_event start = new_event(device, WEIR_EVENT_TIMED), end = new_event(device, WEIR_EVENT_TIMED);
  const std::uint32_t pattern[4] = {1, 2, 3, 4};
  for (const std::uint32_t bytes : {1u, 2u, 4u, 8u, 16u}) {
    double least = 1e30;
    for (int round = 0; round < 3; ++round) {
      call(table().event_record, start, stream);
      call(table().fill, stream, memory, 0ull, size, static_cast<const void*>(pattern), bytes);
      call(table().event_record, end, stream);
      call(table().stream_synchronize, stream);
      double nanoseconds = 0;
      call(table().event_elapsed, start, end, &nanoseconds);
      least = std::min(least, nanoseconds);
    }
    std::printf("fill of 1 GiB with a pattern of %2u bytes: %.0f GB/s\n", bytes,
                static_cast<double>(size) / least);
  }
  call(table().event_destroy, start);
  call(table().event_destroy, end);
  call(table().memory_free, memory);
}

}  // namespace
}  // namespace cuda_test
