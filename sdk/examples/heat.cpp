// SPDX-License-Identifier: Apache-2.0
// Heat in a plate until it is steady: arrays of rank 2, and a convergence test that does not stall the
// device.
#include <cmath>
#include <cstdio>
#include <vector>
#include <weir/weir.hpp>

using namespace weir;

int main() try {
  Device device = open();
  Stream stream = device.create_stream();
  CurrentStream scope{stream};

  Kernel sweep{"sweep", [](View<const float, 2> from, View<float, 2> to) {
                 // The border keeps its temperature; the last index is contiguous in memory.
                 range_for(range(1, from.extent(0) - 1), range(1, from.extent(1) - 1), [&](Index i, Index j) {
                   to(i, j) = 0.25f * (from(i - 1, j) + from(i + 1, j) + from(i, j - 1) + from(i, j + 1));
                 });
               }};
  Kernel largest_change{
      "largest_change", [](View<const float, 2> a, View<const float, 2> b, View<float> change) {
        change[0] =
            reduce_max(a.extent(0), a.extent(1), [&](Index i, Index j) { return abs(a(i, j) - b(i, j)); });
      }};

  // A plate of rows x columns whose border has i * 100 / (rows - 1) degrees; its steady state is the same
  // slope.
  constexpr std::int64_t rows = 32, columns = 40;
  std::vector<float> plate(rows * columns, 0.0f);
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      const bool rim = i == 0 || i == rows - 1 || j == 0 || j == columns - 1;
      if (rim) plate[i * columns + j] = 100.0f * static_cast<float>(i) / (rows - 1);
    }
  }
  auto a = device.array<float>(rows, columns), b = device.array<float>(rows, columns);
  auto change = device.array<float>(1);
  a.copy_from(plate);
  b.copy_from(plate);

  int sweeps = 0;
  const auto submit_batch = [&] {
    for (int s = 0; s < 100; ++s) sweep(stream, a, b), sweep(stream, b, a);
    sweeps += 200;
  };

  // While the device works on one batch, the host reads the change of the batch before.
  auto seen = device.pinned_array<float>(1);
  Event copied = device.create_event();
  submit_batch();
  do {
    largest_change(stream, a, b, change);
    change.copy_to_async(stream, seen);
    copied.record(stream);
    submit_batch();
    copied.synchronize();  // waits for the event, not for the batch after it
  } while (seen[0] > 1e-4f && sweeps < 40'000);

  const std::vector<float> steady = a.to_host();
  for (std::int64_t i = 0; i < rows; ++i) {
    const float expected = 100.0f * static_cast<float>(i) / (rows - 1),
                found = steady[i * columns + columns / 2];
    if (std::abs(found - expected) > 0.2f) {
      std::fprintf(stderr, "heat: row %lld is at %g degrees after %d sweeps, expected %g\n", (long long)i,
                   found, sweeps, expected);
      return 1;
    }
  }
  std::printf("heat: steady after %d sweeps\n", sweeps);
} catch (const Error& error) {
  std::fprintf(stderr, "heat: %s\n", error.what());
  return 1;
}
