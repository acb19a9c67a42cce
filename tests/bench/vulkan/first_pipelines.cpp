// SPDX-License-Identifier: Apache-2.0
// Launches kernels for the first time in this process, and prints the milliseconds that a launch took on
// average. If their code and pipelines are in the caches, that is the time to read them.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>
#include <weir/weir.hpp>

namespace {

using namespace weir;

constexpr int kernels = 20, elements = 1000;

/// Kernels of different code: kernel `n` has n steps.
Kernel<void(View<float>)> steps(int n) {
  return {"steps" + std::to_string(n), with_constants([n](View<float> x) {
            range_for(x.size(), [&](Index i) {
              Var<float> v = x[i];
              for (int step = 0; step < n; ++step) v = v * 0.5f + cast<float>(i);
              x[i] = v;
            });
          })};
}

float expected(int n, int i) {
  float v = 1;
  for (int step = 0; step < n; ++step) v = v * 0.5f + static_cast<float>(i);
  return v;
}

}  // namespace

int main() try {
  const char* name = std::getenv("WEIR_DEVICE");
  const Device device = open(name && *name ? name : "vulkan");
  const Stream stream = device.create_stream();
  std::vector<Kernel<void(View<float>)>> all;
  for (int n = 0; n <= kernels; ++n) all.push_back(steps(n));
  const auto x = device.array<float>(stream, elements);
  all[0](stream, x);  // opens the device
  std::chrono::duration<double, std::milli> taken{};
  for (int n = 1; n <= kernels; ++n) {
    x.fill(stream, 1.0f);
    stream.synchronize();
    const auto begin = std::chrono::steady_clock::now();
    all[static_cast<std::size_t>(n)](stream, x);
    taken += std::chrono::steady_clock::now() - begin;
    const std::vector<float> found = x.to_host(stream);
    for (int i = 0; i < elements; ++i)
      if (found[static_cast<std::size_t>(i)] != expected(n, i)) {
        std::fprintf(stderr, "kernel %d: element %d is %g; expected %g\n", n, i,
                     static_cast<double>(found[static_cast<std::size_t>(i)]),
                     static_cast<double>(expected(n, i)));
        return 1;
      }
  }
  std::printf("%.6f\n", taken.count() / kernels);
} catch (const std::exception& error) {
  std::fprintf(stderr, "weir-bench-first-pipelines: %s\n", error.what());
  return 1;
}
