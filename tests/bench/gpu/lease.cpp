// SPDX-License-Identifier: Apache-2.0
// Prints the cost of leasing and returning a stream of the pool, in nanoseconds, and the number of driver
// calls per thousand leases. A separate program, because the pool is not part of the public API.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <vector>

#include "runtime/devices/device_state.hpp"
#include "support/watched_driver.hpp"

namespace {

using namespace weir;

/// Leases and returns one stream `count` times; returns nanoseconds per pair.
double lease(const Device& device, int count) {
  const Stream stream = device.create_stream();
  detail::StreamManager& streams = device.state()->streams;
  streams.give_back(streams.lease(*stream.state()), stream.state());  // now the pool has one stream
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < count; ++i) streams.give_back(streams.lease(*stream.state()), stream.state());
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count() / count;
}

}  // namespace

int main() try {
  const Device watched = test::Watch::open();
  lease(watched, 1);
  const Stream stream = watched.create_stream();
  detail::StreamManager& streams = watched.state()->streams;
  streams.give_back(streams.lease(*stream.state()), stream.state());
  const std::uint64_t before = test::Watch::get().total();
  for (int i = 0; i < 1000; ++i) streams.give_back(streams.lease(*stream.state()), stream.state());
  const std::uint64_t calls = test::Watch::get().total() - before;

  std::vector<double> samples;
  for (int i = 0; i < 11; ++i) samples.push_back(lease(test::open_real(), 100'000));
  std::sort(samples.begin(), samples.end());
  std::printf("%.2f %lu\n", samples[samples.size() / 2], static_cast<unsigned long>(calls));
} catch (const std::exception& error) {
  std::fprintf(stderr, "weir-bench-lease: %s\n", error.what());
  return 1;
}
