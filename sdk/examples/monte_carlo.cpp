// SPDX-License-Identifier: Apache-2.0
// Pi from random points. The numbers depend on seed, launch, call and iteration only, so every run gives the
// same result.
#include <cmath>
#include <cstdio>
#include <weir/weir.hpp>

using namespace weir;

int main() try {
  Device device = open();

  constexpr int tries = 64;
  Kernel throw_points{"throw_points", [](View<std::uint32_t> hits) {
                        range_for(hits.size(), [&](Index i) {
                          Var<std::uint32_t> inside;
                          for_(0, tries, [&](Index) {
                            // Each call and each iteration draws different numbers.
                            Value<float> x = random<float>(), y = random<float>();
                            inside += cast<std::uint32_t>(x * x + y * y < 1.0f);  // true is 1
                          });
                          hits[i] = inside;
                        });
                      }};
  Kernel add_up{"add_up", [](View<const std::uint32_t> hits, View<std::uint64_t> total) {
                  total[0] = reduce_sum(hits.size(), [&](Index i) { return cast<std::uint64_t>(hits[i]); });
                }};

  constexpr std::int64_t n = 1 << 14;
  const auto estimate = [&](Stream& stream, std::uint64_t seed, std::uint64_t launch) {
    CurrentStream scope{stream};
    auto hits = device.array<std::uint32_t>(n);  // frees its memory in stream order, without waiting
    auto total = device.array<std::uint64_t>(1);
    throw_points({.seed = seed, .launch_number = launch}, stream, hits);
    add_up(stream, hits, total);
    return 4.0 * static_cast<double>(total.to_host()[0]) / (static_cast<double>(n) * tries);
  };

  Stream one = device.create_stream(), two = device.create_stream();
  const double first = estimate(one, 2026, 0), again = estimate(two, 2026, 0);
  const double later = estimate(one, 2026, 1), other = estimate(one, 7, 0);

  constexpr double pi = 3.14159265358979323846;
  for (const double value : {first, later, other}) {
    if (std::abs(value - pi) > 8e-3) {  // about five standard deviations
      std::fprintf(stderr, "monte_carlo: pi is about %.6f, expected %.6f\n", value, pi);
      return 1;
    }
  }
  if (first != again || first == later || first == other) {
    std::fprintf(stderr, "monte_carlo: %.9f %.9f must be equal, %.9f %.9f must differ from them\n", first,
                 again, later, other);
    return 1;
  }
  std::printf("monte_carlo: pi is about %.6f, the same on both streams\n", first);
} catch (const Error& error) {
  std::fprintf(stderr, "monte_carlo: %s\n", error.what());
  return 1;
}
