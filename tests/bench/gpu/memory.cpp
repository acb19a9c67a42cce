// SPDX-License-Identifier: Apache-2.0
// The memory pool: random sizes, four streams with four buffers each.
#include <cmath>
#include <memory>
#include <random>
#include <stdexcept>
#include <vector>

#include "cuda_api.hpp"
#include "device.hpp"
#include "figures.hpp"

namespace weir::bench::gpu {
namespace {

constexpr std::size_t stream_count = 4, buffers = 4, steps = 4000;

/// The buffer replaced at each step, and its new size: 256 bytes to 16 MiB, with equally many small and large
/// sizes.
struct Step {
  std::size_t place;
  std::size_t bytes;
};
const std::vector<Step>& order() {
  static const std::vector<Step> all = [] {
    std::mt19937 engine(11);
    std::uniform_real_distribution<double> exponent(8, 24);
    std::vector<Step> result(steps);
    for (Step& step : result)
      step = {engine() % (stream_count * buffers), static_cast<std::size_t>(std::exp2(exponent(engine)))};
    return result;
  }();
  return all;
}

/// Throws if work on streams that allocate and free waits for a blocked stream.
void expect_no_waiting() {
  std::vector<Stream> streams;
  for (std::size_t i = 0; i < stream_count; ++i) streams.push_back(device().create_stream());
  std::vector<Array<std::uint8_t>> held;
  for (std::size_t i = 0; i < buffers; ++i) held.push_back(device().array<std::uint8_t>(streams[0], 1 << 20));
  spin().launch(streams[0], {}, {cycles_for(200'000)});
  held.clear();  // in the order of the blocked stream, so that they must not be reused yet
  for (std::size_t i = 0; i < 200; ++i) {
    const Stream& stream = streams[1 + i % (stream_count - 1)];
    const auto array = device().array<std::uint8_t>(stream, 1 << (10 + i % 11));
    array.fill_zero(stream);
  }
  for (std::size_t i = 1; i < stream_count; ++i) streams[i].synchronize();
  if (streams[0].query())
    throw std::runtime_error("streams waited for another one, which was busy for 200 ms");
  streams[0].synchronize();
}

Sides prepare() {
  struct State {
    std::vector<Stream> streams;
    std::vector<Array<std::uint8_t>> ours{stream_count * buffers};
    std::vector<CUstream> by_hand;
    std::vector<CUdeviceptr> theirs = std::vector<CUdeviceptr>(stream_count * buffers);
  };
  auto state = std::make_shared<State>();
  for (std::size_t i = 0; i < stream_count; ++i) {
    state->streams.push_back(device().create_stream());
    state->by_hand.push_back(make_stream());
  }
  // Tuned for speed: the pool keeps its memory.
  CUmemoryPool pool = nullptr;
  std::uint64_t everything = ~std::uint64_t{0};
  check(cuda().DeviceGetDefaultMemPool(&pool, cuda().device), "cuDeviceGetDefaultMemPool");
  check(cuda().MemPoolSetAttribute(pool, pool_release_threshold, &everything), "cuMemPoolSetAttribute");
  expect_no_waiting();
  return {.ours =
              [state] {
                const double begin = now();
                for (const Step& step : order()) {
                  Array<std::uint8_t>& array = state->ours[step.place];
                  array = {};
                  array = device().array<std::uint8_t>(state->streams[step.place % stream_count], step.bytes);
                }
                const double seconds = (now() - begin) / steps;
                device().synchronize();
                return seconds;
              },
          .peer =
              [state] {
                const Cuda& api = cuda();
                const double begin = now();
                for (const Step& step : order()) {
                  const CUstream stream = state->by_hand[step.place % stream_count];
                  CUdeviceptr& address = state->theirs[step.place];
                  if (address) check(api.MemFreeAsync(address, stream), "cuMemFreeAsync");
                  check(api.MemAllocAsync(&address, step.bytes, stream), "cuMemAllocAsync");
                }
                const double seconds = (now() - begin) / steps;
                check(api.CtxSynchronize(), "cuCtxSynchronize");
                return seconds;
              }};
}

}  // namespace

void add_memory_cases() {
  add({.name = "pool_allocate_and_free_random_sizes",
       .peer = "cuMemAllocAsync, cuMemFreeAsync",
       .bar = at_most<999>(),
       .prepare = prepare,
       .samples = 21});
}

}  // namespace weir::bench::gpu
