// SPDX-License-Identifier: Apache-2.0
// The cost of forking and joining a region, with minimal work inside.
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>
#include <weir/kernel.hpp>

#include "cuda_api.hpp"
#include "device.hpp"
#include "figures.hpp"

namespace weir::bench::gpu {
namespace {

constexpr int regions = 200;  // per sample

/// Hand-written calls that fork, run one kernel per block and join; events and streams are created in
/// advance.
struct ByHand {
  explicit ByHand(int count, const char* name) : blocks(count), function(load(kernel_text(), name)) {
    for (int i = 0; i < count; ++i) {
      streams.push_back(make_stream());
      events.push_back(make_event());
    }
  }
  void run(void* const* arguments) const {
    const Cuda& api = *driver;
    check(api.EventRecord(events[0], streams[0]), "cuEventRecord");
    for (std::size_t i = 1; i < streams.size(); ++i) {
      check(api.StreamWaitEvent(streams[i], events[0], 0), "cuStreamWaitEvent");
      launch(i, arguments);
      check(api.EventRecord(events[i], streams[i]), "cuEventRecord");
    }
    launch(0, arguments);
    for (std::size_t i = 1; i < streams.size(); ++i)
      check(api.StreamWaitEvent(streams[0], events[i], 0), "cuStreamWaitEvent");
  }
  void launch(std::size_t i, void* const* arguments) const {
    void* argument[] = {arguments ? arguments[i] : nullptr};
    check(driver->LaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, streams[i], argument, nullptr),
          "cuLaunchKernel");
  }
  void wait() const { check(driver->StreamSynchronize(streams[0]), "cuStreamSynchronize"); }

  const Cuda* driver = &cuda();
  int blocks;
  CUfunction function;
  std::vector<CUstream> streams;
  std::vector<CUevent> events;
};

template <class Run, class Wait>
double per_region(Run&& run, Wait&& wait) {
  const double begin = now();
  for (int i = 0; i < regions; ++i) run();
  wait();
  return (now() - begin) / regions;
}

void add_over_streams(int blocks) {
  add({.name = "region_over_streams/" + std::to_string(blocks) + "_blocks",
       .peer = "events and streams by hand",
       .bar = at_most<1100>(),
       .prepare =
           [blocks] {
             auto stream = std::make_shared<Stream>(device().create_stream());
             auto list = std::make_shared<TaskList>(device());
             const KernelFunction nothing = take(0);
             for (int block = 0; block < blocks; ++block) list->add(nothing, {}, {}, {0, block});
             auto by_hand = std::make_shared<ByHand>(blocks, "take0");
             return Sides{.ours =
                              [=] {
                                return per_region([&] { list->launch(*stream); },
                                                  [&] { stream->synchronize(); });
                              },
                          .peer =
                              [=] {
                                (void)cuda();
                                return per_region([&] { by_hand->run(nullptr); }, [&] { by_hand->wait(); });
                              }};
           },
       .samples = 21});
}

using A = View<float>;
using V = Value<float>;

void block_of(const A& array, const V& value) {
  stream_parallel([&] { range_for(array.size(), [&](Index i) { array[i] = array[i] + value; }); });
}

const auto& two_blocks() {
  static const Kernel kernel{"two_blocks", [](A a, A b, V v) { block_of(a, v), block_of(b, v); }};
  return kernel;
}
const auto& four_blocks() {
  static const Kernel kernel{"four_blocks", [](A a, A b, A c, A d, V v) {
                               block_of(a, v), block_of(b, v), block_of(c, v), block_of(d, v);
                             }};
  return kernel;
}
const auto& eight_blocks() {
  static const Kernel kernel{"eight_blocks", [](A a, A b, A c, A d, A e, A f, A g, A h, V v) {
                               block_of(a, v), block_of(b, v), block_of(c, v), block_of(d, v), block_of(e, v),
                                   block_of(f, v), block_of(g, v), block_of(h, v);
                             }};
  return kernel;
}

/// A kernel with one region, launched repeatedly with a changing number; `mode` selects how Weir runs it.
template <class Launch>
Sides repeated(int blocks, LaunchMode mode, Launch launch) {
  struct State {
    Stream stream = device().create_stream();
    std::vector<Array<float>> arrays;
    std::vector<Array<std::uint32_t>> counters;
    std::vector<CUdeviceptr> addresses;
    std::vector<void*> arguments;
    float expected = 0;
  };
  auto state = std::make_shared<State>();
  for (int block = 0; block < blocks; ++block) {
    state->arrays.push_back(device().array<float>(state->stream, 1));
    state->arrays.back().fill(state->stream, 0.0f);
    state->counters.push_back(device().array<std::uint32_t>(state->stream, 1));
    state->counters.back().fill(state->stream, 0);
    state->addresses.push_back(state->counters.back().device_address());
  }
  for (CUdeviceptr& address : state->addresses) state->arguments.push_back(&address);
  state->stream.synchronize();
  auto by_hand = std::make_shared<ByHand>(blocks, "bump");
  LaunchOptions options;
  options.mode = mode;
  return {.ours =
              [=] {
                int i = 0;
                return per_region(
                    [&] {
                      const float value = static_cast<float>(++i % 3);
                      launch(options, state->stream, state->arrays, value);
                      state->expected += value;
                    },
                    [&] { state->stream.synchronize(); });
              },
          .peer =
              [=] {
                (void)cuda();
                return per_region([&] { by_hand->run(state->arguments.data()); }, [&] { by_hand->wait(); });
              },
          .check =
              [=] {
                for (const auto& array : state->arrays)
                  if (const float found = array.to_host(state->stream)[0]; found != state->expected)
                    throw std::runtime_error("a block summed " + std::to_string(found) + ", expected " +
                                             std::to_string(state->expected));
              }};
}

template <class Launch>
void add_repeated(int blocks, Launch launch) {
  add({.name = "region_as_graph_new_arguments/" + std::to_string(blocks) + "_blocks",
       .peer = "events and streams by hand",
       .bar = at_most<500>(),
       .prepare = [=] { return repeated(blocks, LaunchMode::graph, launch); },
       .samples = 21});
  add({.name = "region_automatic_new_arguments/" + std::to_string(blocks) + "_blocks",
       .peer = "events and streams by hand",
       .bar = at_most<1100>(),
       .prepare = [=] { return repeated(blocks, LaunchMode::automatic, launch); },
       .samples = 21});
}

}  // namespace

void add_region_cases() {
  for (const int blocks : {2, 4, 8}) add_over_streams(blocks);
  using Arrays = std::vector<Array<float>>;
  add_repeated(2, [](const LaunchOptions& o, const Stream& s, const Arrays& a, float v) {
    two_blocks()(o, s, a[0], a[1], v);
  });
  add_repeated(4, [](const LaunchOptions& o, const Stream& s, const Arrays& a, float v) {
    four_blocks()(o, s, a[0], a[1], a[2], a[3], v);
  });
  add_repeated(8, [](const LaunchOptions& o, const Stream& s, const Arrays& a, float v) {
    eight_blocks()(o, s, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], v);
  });
}

}  // namespace weir::bench::gpu
