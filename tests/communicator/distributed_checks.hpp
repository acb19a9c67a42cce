// SPDX-License-Identifier: Apache-2.0
// Checks of Distributed arrays that every rank of a group runs, as threads or as processes. They throw
// std::runtime_error.
#pragma once

#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>
#include <weir/distributed.hpp>
#include <weir/weir.hpp>

namespace weir::test {

inline void require(bool condition, const std::string& words) {
  if (!condition) throw std::runtime_error("expected: " + words);
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

/// A cut of `rows` whose sizes differ: weights 1, 3, 2, 4, 1, 3, 2, ..., at least `least` rows each.
inline Cut uneven_cut(std::int64_t rows, std::uint32_t ranks, std::int64_t least) {
  const auto weight = [](std::uint32_t rank) -> std::int64_t {
    return rank % 4 == 0 ? 1 : rank % 4 == 1 ? 3 : 2;
  };
  std::int64_t weights = 0, given = 0;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) weights += weight(rank);
  Cut cut;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    cut.rows.push_back(least + (rows - least * ranks) * weight(rank) / weights);
    given += cut.rows.back();
  }
  cut.rows.back() += rows - given;
  return cut;
}

/// Values whose sum depends on the order in which they are added.
inline std::vector<float> rough_values(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i)
    values[i] =
        0.1f * static_cast<float>(i * 2654435761u % 1009) - 31.7f + 1e-4f * static_cast<float>(i % 17);
  return values;
}

// Traced where they are used first, so each rank that is a thread shares them.

/// Rows [begin, end) of `to`: the mean of each element and its neighbours. An edge without a row after it
/// repeats its own row.
inline const auto& stencil() {
  static const Kernel kernel{
      "stencil", [](View<const float, 2> from, View<float, 2> to, Index begin, Index end) {
        range_for(range(begin, end), from.extent(1), [&](Index i, Index j) {
          const Index up = max(i - 1, 0), down = min(i + 1, from.extent(0) - 1);
          const Index left = max(j - 1, 0), right = min(j + 1, from.extent(1) - 1);
          to(i, j) = 0.2f * (from(i, j) + from(up, j) + from(down, j) + from(i, left) + from(i, right));
        });
      }};
  return kernel;
}

/// The same for a whole array whose first row follows its last.
inline const auto& periodic_stencil() {
  static const Kernel kernel{
      "periodic_stencil", [](View<const float, 2> from, View<float, 2> to) {
        const Index n = from.extent(0);
        range_for(n, from.extent(1), [&](Index i, Index j) {
          const Index up = (i + n - 1) % n, down = (i + 1) % n;
          const Index left = max(j - 1, 0), right = min(j + 1, from.extent(1) - 1);
          to(i, j) = 0.2f * (from(i, j) + from(up, j) + from(down, j) + from(i, left) + from(i, right));
        });
      }};
  return kernel;
}

/// The result of `steps` stencils on one array of one device.
inline std::vector<float> stencil_of_one(const StreamRef& stream, const std::vector<float>& values,
                                         std::int64_t rows, std::int64_t columns, int steps, bool periodic) {
  Device device = stream.device();
  auto a = device.array<float>(stream, rows, columns), b = device.array<float>(stream, rows, columns);
  a.copy_from(stream, values);
  for (int step = 0; step < steps; ++step) {
    if (periodic)
      periodic_stencil()(stream, a, b);
    else
      stencil()(stream, a, b, 0, rows);
    std::swap(a, b);
  }
  return a.to_host(stream);
}

/// Every halo holds the rows of the neighbours after exchange(), in every round, without a wait of the host.
inline void check_halos(const Communicator& world, const StreamRef& stream, std::int64_t rows, Cut cut,
                        std::int64_t halo, bool periodic) {
  constexpr int rounds = 8;
  constexpr std::int64_t columns = 300;
  cut.halo = halo;
  cut.periodic = periodic;
  const Distributed<int, 2> x(world, stream, {rows, columns}, cut);
  const std::int64_t held = x.local().extent(0);
  auto kept = stream.device().array<int>(stream, rounds, held, columns);
  for (int round = 0; round < rounds; ++round) {
    x.local().fill(stream, -1);
    for (std::int64_t i = x.owned().begin; i < x.owned().end; ++i)
      x.local().slice(i, i + 1).fill(stream, static_cast<int>(1000 * round + x.origin() + i));
    x.exchange(stream);
    kept.slice(round, round + 1).copy_from_array(stream, x.local());
  }
  world.synchronize(stream);
  const std::vector<int> values = kept.to_host(stream);
  const std::int64_t low = x.owned().begin, high = held - x.owned().end;
  require(low == (periodic || world.rank() > 0 ? halo : 0), "a low halo where a rank is before");
  require(high == (periodic || world.rank() + 1 < world.size() ? halo : 0), "a high halo where one is after");
  for (std::size_t at = 0; at < values.size(); ++at) {
    const auto round = static_cast<std::int64_t>(at) / (held * columns);
    const std::int64_t row = x.origin() + static_cast<std::int64_t>(at) / columns % held;
    const std::int64_t expected = 1000 * round + (row + rows) % rows;
    require(values[at] == expected, "row " + std::to_string(row) + " of round " + std::to_string(round) +
                                        " has " + std::to_string(expected) + ", not " +
                                        std::to_string(values[at]));
  }
}

/// A stencil whose exchange runs during its interior gives the bits of one array on one device. With a halo
/// of n rows, one step of n exchanges.
inline void check_stencil(const Communicator& world, const StreamRef& stream, std::int64_t rows, Cut cut,
                          std::int64_t halo, bool periodic) {
  constexpr int steps = 12;
  constexpr std::int64_t columns = 50;
  cut.halo = halo;
  cut.periodic = periodic;
  const std::vector<float> values = rough_values(static_cast<std::size_t>(rows * columns));
  Distributed<float, 2> a(world, stream, {rows, columns}, cut), b(world, stream, {rows, columns}, cut);
  const Rows mine = a.rows();
  a.own().copy_from(stream, std::span(values).subspan(static_cast<std::size_t>(mine.begin * columns),
                                                      static_cast<std::size_t>(mine.size() * columns)));
  a.local().slice(0, a.owned().begin).fill(stream, 1e9f);  // which no step may read before an exchange
  a.local().slice(a.owned().end, a.local().extent(0)).fill(stream, 1e9f);
  for (int step = 0; step < steps; ++step) {
    const auto body = [&](Rows part) { stencil()(stream, a.local(), b.local(), part.begin, part.end); };
    const std::int64_t width = halo - 1 - step % halo;
    if (step % halo == 0)
      overlap_exchange(stream, {a}, body, width);
    else
      body(a.extended(0, width));
    std::swap(a, b);
  }
  Array<float, 2> whole;
  if (world.rank() == 0) whole = stream.device().array<float>(stream, rows, columns);
  a.gather(stream, whole, 0);
  world.synchronize(stream);
  if (world.rank() == 0)
    require(same_bits(whole.to_host(stream), stencil_of_one(stream, values, rows, columns, steps, periodic)),
            "the bits of one array on one device");
}

inline const auto& whole_sum() {
  static const Kernel kernel{"whole_sum", [](View<const float> x, View<float> sums) {
                               sums[0] = reduce_sum(x.size(), [&](Index i) { return x[i]; });
                               sums[1] = reduce_min(x.size(), [&](Index i) { return x[i]; });
                               sums[2] = reduce_max(x.size(), [&](Index i) { return x[i]; });
                             }};
  return kernel;
}

/// Sum, minimum and maximum of `rows` x `columns` floats have the bits of a kernel's over the whole array.
inline void check_reductions(const Communicator& world, const StreamRef& stream, std::int64_t rows,
                             std::int64_t columns, const Cut& cut) {
  Device device = stream.device();
  const std::vector<float> values = rough_values(static_cast<std::size_t>(rows * columns));
  const Distributed<float, 2> x(world, stream, {rows, columns}, cut);
  const Rows mine = x.rows();
  x.own().copy_from(stream, std::span(values).subspan(static_cast<std::size_t>(mine.begin * columns),
                                                      static_cast<std::size_t>(mine.size() * columns)));
  auto results = device.array<float>(stream, 3);
  reduce(stream, x, results.slice(0, 1), Combine::sum);
  reduce(stream, x, results.slice(1, 2), Combine::min);
  reduce(stream, x, results.slice(2, 3), Combine::max);
  auto whole = device.array<float>(stream, rows * columns);
  whole.copy_from(stream, values);
  auto expected = device.array<float>(stream, 3);
  whole_sum()(stream, whole, expected);
  world.synchronize(stream);
  const std::vector<float> found = results.to_host(stream), right = expected.to_host(stream);
  require(same_bits(found, right), "sum " + std::to_string(right[0]) + ", not " + std::to_string(found[0]) +
                                       ", of " + std::to_string(rows) + " x " + std::to_string(columns));
}

}  // namespace weir::test
