// SPDX-License-Identifier: Apache-2.0
// A graph: ten steps of a diffusion on each of two independent fields, and the copy to the host, recorded
// once and submitted with one call per round.
#include <cmath>
#include <cstdio>
#include <weir/weir.hpp>

using namespace weir;

int main() try {
  Device device = open();
  Stream stream = device.create_stream();

  Kernel diffuse{"diffuse", [](View<const float> from, View<float> to, Value<float> rate) {
                   range_for(from.size(), [&](Index i) {
                     const Value<float> left = from[max(i - 1, 0)], right = from[min(i + 1, from.size() - 1)];
                     to[i] = from[i] + rate * (left - 2.0f * from[i] + right);
                   });
                 }};

  constexpr std::int64_t n = 1 << 12;
  auto a = device.array<float>(n), a_next = device.array<float>(n);
  auto b = device.array<float>(n), b_next = device.array<float>(n);
  auto seen = device.pinned_array<float>(n);
  a.fill(stream, 0.0f);
  b.fill(stream, 0.0f);
  a.slice(0, n / 2).fill(stream, 1.0f);
  b.slice(0, n / 2).fill(stream, 1.0f);

  // Nothing runs while recording. launch() returns a handle, by which the node can be updated later.
  GraphBuilder record(device);
  GraphLaunch<void(View<const float>, View<float>, Value<float>)> last_of_b;
  record.parallel(
      [&] {
        for (int step = 0; step < 5; ++step) {
          record.launch(diffuse, a, a_next, 0.25f);
          record.launch(diffuse, a_next, a, 0.25f);
        }
      },
      [&] {
        for (int step = 0; step < 5; ++step) {
          record.launch(diffuse, b, b_next, 0.25f);
          last_of_b = record.launch(diffuse, b_next, b, 0.25f);
        }
      });
  record.copy_to(a, seen);
  Graph graph = record.build();

  constexpr int rounds = 20;
  for (int round = 0; round < rounds; ++round) graph.launch(stream);
  stream.synchronize();
  std::printf("graph: %zu calls in one, %d times, %s\n", graph.size(), rounds,
              graph.native() ? "as a graph of the device" : "over streams");

  double total = 0;
  for (float value : seen) total += value;
  const std::vector<float> host_a = a.to_host(stream), host_b = b.to_host(stream);
  if (host_a != host_b || std::abs(total - n / 2) > 1e-2) {
    std::fprintf(stderr, "graph: the fields differ, or their sum is %.6f; expected %lld\n", total,
                 static_cast<long long>(n / 2));
    return 1;
  }

  // New arguments without recording again: with rate 0, the last step of b has no effect from now on.
  graph.update(last_of_b, b_next, b, 0.0f);
  graph.launch(stream);
  if (a.to_host(stream) == b.to_host(stream)) {
    std::fprintf(stderr, "graph: the update had no effect\n");
    return 1;
  }
  std::printf("graph: all values are correct\n");
} catch (const Error& error) {
  std::fprintf(stderr, "graph: %s\n", error.what());
  return 1;
}
