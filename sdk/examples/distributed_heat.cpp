// SPDX-License-Identifier: Apache-2.0
// Heat in a plate that is cut over ranks. Three ways to start it, which give the same bits:
//
//   distributed_heat                      one rank
//   WEIR_RANKS=4 distributed_heat         four threads
//   mpirun -np 4 distributed_heat         four processes
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>
#include <vector>
#include <weir/distributed.hpp>
#include <weir/weir.hpp>

using namespace weir;

namespace {

constexpr std::int64_t rows = 96, columns = 64;
constexpr int sweeps = 400;

// Rows [begin, end) of this rank's piece, of which row 0 is row `origin` of the plate. The rim keeps its
// temperature.
Kernel sweep{"sweep", [](View<const float, 2> from, View<float, 2> to, Index begin, Index end, Index origin) {
               range_for(range(begin, end), from.extent(1), [&](Index i, Index j) {
                 const Index row = origin + i;
                 const Value<bool> rim = (row == 0) | (row == rows - 1) | (j == 0) | (j == columns - 1);
                 if_(rim, [&] { to(i, j) = from(i, j); }).else_([&] {
                   to(i, j) = 0.25f * (from(i - 1, j) + from(i + 1, j) + from(i, j - 1) + from(i, j + 1));
                 });
               });
             }};

Kernel start{"start", [](View<float, 2> plate, Index origin) {
               range_for(plate.extent(0), plate.extent(1), [&](Index i, Index j) {
                 const Index row = origin + i;
                 const Value<bool> rim = (row == 0) | (row == rows - 1) | (j == 0) | (j == columns - 1);
                 plate(i, j) = select(rim, cast<float>(row) * (100.0f / (rows - 1)), 0.0f);
               });
             }};

Kernel heat_of{"heat_of", [](View<const float, 2> plate, View<float> sum) {
                 sum[0] = reduce_sum(plate.extent(0), plate.extent(1),
                                     [&](Index i, Index j) { return plate(i, j); });
               }};

/// The sum of all temperatures on one device that holds the whole plate.
float sum_of_one(const StreamRef& stream) {
  Device device = stream.device();
  auto a = device.array<float>(stream, rows, columns), b = device.array<float>(stream, rows, columns);
  auto sum = device.array<float>(stream, 1);
  start(stream, a, 0);
  for (int s = 0; s < sweeps; ++s) {
    sweep(stream, a, b, 0, rows, 0);
    std::swap(a, b);
  }
  heat_of(stream, a, sum);
  return sum.to_host(stream).front();
}

void run_rank() {
  const Communicator world = join();
  Device device = open();
  const Stream stream = device.create_stream();

  Cut cut;
  cut.halo = 1;
  Distributed<float, 2> a(world, stream, {rows, columns}, cut), b(world, stream, {rows, columns}, cut);
  start(stream, a.local(), a.origin());
  for (int s = 0; s < sweeps; ++s) {
    // The neighbours' rows travel while the interior is computed; the border rows follow.
    overlap_exchange(stream, {a}, [&](Rows part) {
      sweep(stream, a.local(), b.local(), part.begin, part.end, a.origin());
    });
    std::swap(a, b);
  }
  auto sum = device.array<float>(stream, 1);
  reduce(stream, a, sum);  // in the order of one array, whatever the number of ranks
  world.synchronize(stream);

  if (world.rank() != 0) return;
  const float found = sum.to_host(stream).front(), expected = sum_of_one(stream);
  if (std::memcmp(&found, &expected, sizeof found) != 0)
    throw Error(ErrorCode::unknown,
                "the sum is " + std::to_string(found) + ", on one device " + std::to_string(expected));
  std::printf("distributed_heat: mean temperature %.4f over %u ranks, the bits of one device\n",
              static_cast<double>(found) / (rows * columns), world.size());
}

}  // namespace

int main() try { run_ranks(run_rank); } catch (const Error& error) {
  std::fprintf(stderr, "distributed_heat: %s\n", error.what());
  return 1;
}
