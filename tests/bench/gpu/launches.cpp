// SPDX-License-Identifier: Apache-2.0
// The host's cost of one launch, and the total cost of a chain of launches.
#include <array>
#include <memory>
#include <stdexcept>
#include <string>
#include <weir/kernel.hpp>

#include "cuda_api.hpp"
#include "device.hpp"
#include "figures.hpp"

namespace weir::bench::gpu {
namespace {

constexpr int launches = 300;  // fewer than fill the queue and block the host

/// Host seconds per call of `launch` while the stream is busy with `spin_first`.
template <class Spin, class Launch, class Wait>
double host_time(Spin&& spin_first, Launch&& launch, Wait&& wait) {
  spin_first();
  const double begin = now();
  for (int i = 0; i < launches; ++i) launch();
  const double seconds = (now() - begin) / launches;
  wait();
  return seconds;
}

/// cuLaunchKernel with `count` arguments, hand-written: an array of pointers to the arguments.
std::function<double()> by_hand(std::size_t count, const Array<float>& array) {
  struct State {
    CUstream stream = make_stream();
    CUfunction spin, take;
    std::uint64_t cycles = cycles_for(3000);
    std::array<std::uint64_t, 19> values{};
    std::array<void*, 19> pointers{};
    void* spin_argument[1];
  };
  auto state = std::make_shared<State>();
  state->spin = load(kernel_text(), "spin");
  state->take = load(kernel_text(), ("take" + std::to_string(count)).c_str());
  state->values.fill(array.device_address());
  for (std::size_t i = 0; i < 19; ++i) state->pointers[i] = &state->values[i];
  state->spin_argument[0] = &state->cycles;
  return [state] {
    const Cuda& api = cuda();
    return host_time(
        [&] {
          check(api.LaunchKernel(state->spin, 1, 1, 1, 1, 1, 1, 0, state->stream, state->spin_argument,
                                 nullptr),
                "spin");
        },
        [&] {
          check(api.LaunchKernel(state->take, 1, 1, 1, 1, 1, 1, 0, state->stream, state->pointers.data(),
                                 nullptr),
                "take");
        },
        [&] { check(api.StreamSynchronize(state->stream), "cuStreamSynchronize"); });
  };
}

Bar plus_200_ns() {
  return {"at most 0.2 us more", [](double a, double b) { return (a - b) * 1e6; },
          [](double us) { return us <= 0.2; }};
}

template <std::size_t... I>
std::function<void(const Stream&)> launch_of(const KernelFunction& function,
                                             std::shared_ptr<Array<float>> array, std::size_t arrays,
                                             std::index_sequence<I...>) {
  return [function, array, arrays](const Stream& stream) {
    const auto argument = [&](std::size_t i) {
      return i < arrays ? KernelArgument(*array) : KernelArgument(std::uint32_t{7});
    };
    function.launch(stream, {}, {argument(I)...});
  };
}

void add_ready(std::size_t count) {
  add({.name = "launch_ready_kernel/" + std::to_string(count) + "_arguments",
       .peer = "cuLaunchKernel",
       .bar = plus_200_ns(),
       .prepare =
           [count] {
             auto array = std::make_shared<Array<float>>(device().array<float>(1024));
             auto stream = std::make_shared<Stream>(device().create_stream());
             const KernelFunction function = take(count);
             std::function<void(const Stream&)> launch;
             if (count == 0)
               launch = [function](const Stream& s) { function.launch(s, {}, {}); };
             else if (count == 4)
               launch = launch_of(function, array, 2, std::make_index_sequence<4>());
             else
               launch = launch_of(function, array, 9, std::make_index_sequence<19>());
             return Sides{.ours =
                              [=, spin = spin(), cycles = cycles_for(3000)] {
                                return host_time([&] { spin.launch(*stream, {}, {cycles}); },
                                                 [&] { launch(*stream); }, [&] { stream->synchronize(); });
                              },
                          .peer = by_hand(count, *array)};
           },
       .samples = 21});
}

template <class K, class... A>
Sides kernel_sides(K kernel, std::size_t count, std::shared_ptr<Array<float>> array, A... arguments) {
  auto stream = std::make_shared<Stream>(device().create_stream());
  return {.ours =
              [=, spin = spin(), cycles = cycles_for(3000)] {
                return host_time([&] { spin.launch(*stream, {}, {cycles}); },
                                 [&] { kernel(*stream, *arguments...); }, [&] { stream->synchronize(); });
              },
          .peer = by_hand(count, *array)};
}

void add_kernels() {
  add({.name = "launch_kernel/4_arguments",
       .peer = "cuLaunchKernel",
       .bar = plus_200_ns(),
       .prepare =
           [] {
             auto x = std::make_shared<Array<float>>(device().array<float>(1024));
             auto y = std::make_shared<Array<float>>(device().array<float>(1024));
             auto a = std::make_shared<float>(1.0f), b = std::make_shared<float>(0.0f);
             x->fill(1.0f), y->fill(1.0f);
             device().synchronize();
             Kernel kernel{"four", [](View<float> out, View<const float> in, Value<float> p, Value<float> q) {
                             range_for(out.size(), [&](Index i) { out[i] = p * in[i] + q; });
                           }};
             return kernel_sides(kernel, 4, x, x, y, a, b);
           },
       .samples = 21});
  add({.name = "launch_kernel/19_arguments",
       .peer = "cuLaunchKernel",
       .bar = plus_200_ns(),
       .prepare =
           [] {
             auto o = std::make_shared<Array<float>>(device().array<float>(1024));
             auto x = std::make_shared<Array<float>>(device().array<float>(1024));
             auto v = std::make_shared<float>(0.5f);
             o->fill(1.0f), x->fill(1.0f);
             device().synchronize();
             using In = View<const float>;
             using V = Value<float>;
             Kernel kernel{"nineteen", [](View<float> out, In a, In b, In c, In d, In e, In f, In g, In h,
                                          V p0, V p1, V p2, V p3, V p4, V p5, V p6, V p7, V p8, V p9) {
                             range_for(out.size(), [&](Index i) {
                               out[i] = a[i] * p0 + b[i] * p1 + c[i] * p2 + d[i] * p3 + e[i] * p4 +
                                        f[i] * p5 + g[i] * p6 + h[i] * p7 + p8 + p9;
                             });
                           }};
             return kernel_sides(kernel, 19, o, o, x, x, x, x, x, x, x, x, v, v, v, v, v, v, v, v, v, v);
           },
       .samples = 21});
}

void add_chain() {
  add({.name = "chain_of_1000_launches",
       .peer = "cuLaunchKernel",
       .bar = at_most<1030>(),
       .prepare =
           [] {
             struct Chain {
               Stream stream = device().create_stream();
               KernelFunction ours = bump();
               Array<std::uint32_t> ours_at = device().array<std::uint32_t>(stream, 1),
                                    theirs_at = device().array<std::uint32_t>(stream, 1);
               CUstream by_hand = make_stream();
               CUfunction function = load(kernel_text(), "bump");
               CUdeviceptr address = 0;
             };
             auto chain = std::make_shared<Chain>();
             chain->ours_at.fill(chain->stream, 0);
             chain->theirs_at.fill(chain->stream, 0);
             chain->stream.synchronize();
             chain->address = chain->theirs_at.device_address();
             constexpr int length = 1000;
             return Sides{.ours =
                              [chain] {
                                const double begin = now();
                                for (int i = 0; i < length; ++i)
                                  chain->ours.launch(chain->stream, {}, {chain->ours_at});
                                chain->stream.synchronize();
                                return (now() - begin) / length;
                              },
                          .peer =
                              [chain] {
                                const Cuda& api = cuda();
                                void* arguments[] = {&chain->address};
                                const double begin = now();
                                for (int i = 0; i < length; ++i)
                                  check(api.LaunchKernel(chain->function, 1, 1, 1, 1, 1, 1, 0, chain->by_hand,
                                                         arguments, nullptr),
                                        "bump");
                                check(api.StreamSynchronize(chain->by_hand), "cuStreamSynchronize");
                                return (now() - begin) / length;
                              },
                          .check =
                              [chain] {
                                const auto ours = chain->ours_at.to_host(chain->stream)[0],
                                           theirs = chain->theirs_at.to_host(chain->stream)[0];
                                if (ours == 0 || ours != theirs)
                                  throw std::runtime_error("the chains counted " + std::to_string(ours) +
                                                           " and " + std::to_string(theirs));
                              }};
           },
       .samples = 21});
}

}  // namespace

void add_launch_cases() {
  for (const std::size_t count : {0, 4, 19}) add_ready(count);
  add_kernels();
  add_chain();
}

}  // namespace weir::bench::gpu
