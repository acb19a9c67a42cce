// SPDX-License-Identifier: Apache-2.0
// Two streams and events: one stream uploads chunk after chunk, the other computes on the uploaded ones.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <vector>
#include <weir/weir.hpp>

using namespace weir;

int main() try {
  Device device = open();

  Kernel distance{"distance", [](View<const float> x, View<float> result) {
                    range_for(x.size(), [&](Index i) {
                      Value<float> v = x[i];
                      result[i] = sqrt(v * v + 1.0f);
                    });
                  }};

  constexpr std::int64_t chunks = 8, chunk = 1 << 17, n = chunks * chunk;
  Stream upload = device.create_stream(), compute = device.create_stream();

  // Arrays belong to no stream: Weir orders the memory for each stream that uses it.
  auto x = device.array<float>(n), result = device.array<float>(n);

  // Copies from pinned memory run at full speed and asynchronously. The source must stay unchanged until they
  // are done.
  auto source = device.pinned_array<float>(n);
  for (std::int64_t i = 0; i < n; ++i) source[i] = static_cast<float>(i % 1000);
  const std::span<const float> input = source;

  // Events are marks in a stream. Timed events also record the time; without them, measure with the host's
  // clock.
  const bool timed = device.info().has(Capability::timed_events);
  TimedEvent begin, end;
  if (timed) begin = device.create_timed_event(), end = device.create_timed_event();

  distance.program().prepare(compute);  // compiles now, so that the time excludes it
  if (timed) begin.record(upload);
  Event arrived = device.create_event();
  for (std::int64_t c = 0; c < chunks; ++c) {
    const std::int64_t first = c * chunk, last = first + chunk;
    x.slice(first, last).copy_from_async(upload, input.subspan(first, chunk));
    arrived.record(upload);  // the event marks a new position; earlier waits keep the old one
    compute.wait(arrived);   // the compute stream waits, the host does not
    distance(compute, x.slice(first, last), result.slice(first, last));
  }
  if (timed) end.record(compute);

  std::vector<float> host = result.to_host(compute);  // waits for `compute`, which waited for every upload
  for (std::int64_t i = 0; i < n; ++i) {
    const double v = static_cast<double>(i % 1000), expected = std::sqrt(v * v + 1.0);
    if (std::abs(host[i] - expected) > 1e-6 * expected) {
      std::fprintf(stderr, "two_streams: result[%lld] is %.9g, expected %.9g\n", static_cast<long long>(i),
                   host[i], expected);
      return 1;
    }
  }
  if (timed) {
    const std::chrono::duration<double, std::milli> took = end.since(begin);
    std::printf("two_streams: first copy to last result in %.2f ms\n", took.count());
  }
  std::printf("two_streams: %lld chunks are correct\n", static_cast<long long>(chunks));
} catch (const Error& error) {
  std::fprintf(stderr, "two_streams: %s\n", error.what());
  return 1;
}
