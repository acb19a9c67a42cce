// SPDX-License-Identifier: Apache-2.0
// Reductions, atomics, and loops with a bound computed on the device: the host waits once, at the end.
#include <algorithm>
#include <cstdio>
#include <vector>
#include <weir/weir.hpp>

using namespace weir;

int main() try {
  Device device = open();
  Stream stream = device.create_stream();
  CurrentStream scope{stream};

  Kernel analyse{
      "analyse", [](View<const std::int32_t> samples, View<std::int32_t> large, View<std::int64_t, 0> count) {
        // A plain statement in the kernel's body is a task of its own: it runs once, in order.
        count() = 0;

        // Deterministic: the same bits on every run, for any number of threads.
        Value<std::int64_t> total =
            reduce_sum(samples.size(), [&](Index i) { return cast<std::int64_t>(samples[i]); });
        Value<std::int32_t> highest = reduce_max(samples.size(), [&](Index i) { return samples[i]; });

        // Selects the samples above the mean. The order of the selected samples is undefined.
        range_for(samples.size(), [&](Index i) {
          if_(cast<std::int64_t>(samples[i]) * samples.size() > total, [&] {
            Index place = atomic_add(count(), 1);
            large[place] = samples[i];
          });
        });

        // The device reads the bound when the loop begins.
        Value<std::int64_t> sum = reduce_sum(count(), [&](Index i) { return cast<std::int64_t>(large[i]); });
        return std::tuple(total, highest, sum);
      }};

  // `deterministic` refuses atomics whose effect depends on the order of the iterations, such as products of
  // floats, or the place above. Products of integers are allowed: here a sign that each sample changes.
  Kernel parity{"parity",
                [](View<const std::int32_t> samples, View<std::int32_t> sign) {
                  range_for(sign.size(), [&](Index s) { sign[s] = 1; });
                  range_for(samples.size(), [&](Index i) { atomic_mul(sign[samples[i] % 16], -1); });
                },
                {.deterministic = true}};

  constexpr std::int64_t n = 300'000;
  std::vector<std::int32_t> samples(n);
  for (std::int64_t i = 0; i < n; ++i) samples[i] = static_cast<std::int32_t>((i * i) % 1009);

  auto x = device.array_of<std::int32_t>(samples);
  auto large = device.array<std::int32_t>(n);
  auto count = device.array<std::int64_t>();
  auto sign = device.array<std::int32_t>(16);
  const auto [all, top, above] = analyse(stream, x, large, count);  // futures; nothing waits
  parity(stream, x, sign);

  std::int64_t total = 0, sum = 0;
  std::int32_t highest = 0;
  for (std::int32_t s : samples) total += s, highest = std::max(highest, s);
  for (std::int32_t s : samples) sum += s * n > total ? s : 0;
  if (all.get() != total || top.get() != highest || above.get() != sum) {
    std::fprintf(stderr, "reduction: found %lld %d %lld, expected %lld %d %lld\n", (long long)all.get(),
                 top.get(), (long long)above.get(), (long long)total, highest, (long long)sum);
    return 1;
  }
  std::vector<std::int32_t> signs(16, 1);
  for (std::int32_t s : samples) signs[s % 16] *= -1;
  if (sign.to_host() != signs) {
    std::fprintf(stderr, "reduction: a sign is wrong\n");
    return 1;
  }
  std::printf("reduction: %lld samples, the highest %d, those above the mean sum up to %lld\n", (long long)n,
              highest, (long long)sum);
} catch (const Error& error) {
  std::fprintf(stderr, "reduction: %s\n", error.what());
  return 1;
}
