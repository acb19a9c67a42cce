// SPDX-License-Identifier: Apache-2.0
// Checks of arrays that are cut along several dimensions, which every rank of a group runs, as threads or as
// processes. They throw std::runtime_error.
#pragma once

#include <random>

#include "distributed_checks.hpp"

namespace weir::test {

/// Extents of an array and its cuts.
template <std::size_t Rank>
struct GridCase {
  std::array<std::int64_t, Rank> extents;
  std::vector<Cut> cuts;

  std::string words() const {
    std::string text;
    for (std::size_t d = 0; d < Rank; ++d) text += (d > 0 ? " x " : "") + std::to_string(extents[d]);
    for (const Cut& cut : cuts) {
      text += "; {";
      for (const std::int64_t rows : cut.rows) text += " " + std::to_string(rows);
      text += " } ranks " + std::to_string(cut.ranks) + " halo " + std::to_string(cut.halo) +
              (cut.periodic ? " periodic" : "");
    }
    return text;
  }
};

/// Random cuts along 1 to `Rank` dimensions over `ranks` ranks, with halos up to 2.
template <std::size_t Rank>
GridCase<Rank> random_case(std::mt19937& random, std::uint32_t ranks) {
  const auto below = [&](std::size_t n) { return static_cast<std::int64_t>(random() % n); };
  GridCase<Rank> made;
  made.cuts.resize(static_cast<std::size_t>(1 + below(Rank)));
  for (Cut& cut : made.cuts) cut.ranks = 1;
  for (std::uint32_t factor = 2, left = ranks; left > 1; ++factor)
    for (; left % factor == 0; left /= factor)
      made.cuts[static_cast<std::size_t>(below(made.cuts.size()))].ranks *= factor;
  for (std::size_t d = 0; d < Rank; ++d) {
    if (d >= made.cuts.size()) {
      made.extents[d] = 1 + below(5);
      continue;
    }
    Cut& cut = made.cuts[d];
    cut.halo = below(3);
    cut.periodic = below(2) == 1;
    made.extents[d] = cut.ranks * cut.halo + below(14);
    if (below(3) == 0) continue;  // even
    cut.rows.assign(cut.ranks, cut.halo);
    for (std::int64_t left = made.extents[d] - cut.ranks * cut.halo; left > 0; --left)
      ++cut.rows[static_cast<std::size_t>(below(cut.ranks))];
  }
  return made;
}

/// Calls body(index) for the multi-indices of a box in row-major order.
template <std::size_t Rank, class Body>
void for_box(const Box& box, const Body& body) {
  std::array<std::int64_t, Rank> index;
  for (std::size_t d = 0; d < Rank; ++d) index[d] = box[d].begin;
  if (box.empty()) return;
  for (;;) {
    body(index);
    std::size_t d = Rank;
    while (d-- > 0 && ++index[d] == box[d].end) index[d] = box[d].begin;
    if (d == SIZE_MAX) return;
  }
}

/// The place of an element of `x` in the whole array in row-major order; periodic indices are reduced.
template <class T, std::size_t Rank>
std::int64_t number_of(const Distributed<T, Rank>& x, const std::array<std::int64_t, Rank>& local) {
  std::int64_t number = 0;
  for (std::size_t d = 0; d < Rank; ++d) {
    const std::int64_t n = x.extent(d), index = x.origin(d) + local[d];
    number = number * n + (index + n) % n;
  }
  return number;
}

/// The owned elements become value(number) of their numbers in the whole array.
template <class T, std::size_t Rank, class Value>
void fill_own(const StreamRef& stream, const Distributed<T, Rank>& x, const Value& value) {
  std::vector<T> values;
  for_box<Rank>(x.owned_box(), [&](const auto& at) { values.push_back(value(number_of(x, at))); });
  const auto elements = stream.device().array_of<T>(stream, std::span<const T>(values));
  x.copy_own_from(stream, elements);
}

template <class T, std::size_t Rank>
std::vector<T> own_to_host(const StreamRef& stream, const Distributed<T, Rank>& x) {
  const auto elements = stream.device().array<T>(stream, x.owned_box().size());
  x.copy_own_to(stream, elements);
  return elements.to_host(stream);
}

/// Every halo, at corners too, has the elements of the neighbours after exchange().
template <std::size_t Rank>
void check_grid_halos(const Communicator& world, const StreamRef& stream, const GridCase<Rank>& made) {
  using Pair = Vec<std::int32_t, 2>;
  const Distributed<Pair, Rank> x(world, stream, made.extents, made.cuts);
  x.local().fill(stream, Pair{-1, -1});
  fill_own(stream, x, [](std::int64_t number) {
    return Pair{static_cast<std::int32_t>(number), static_cast<std::int32_t>(number) + 1'000'000};
  });
  x.exchange(stream);
  world.synchronize(stream);
  const std::vector<Pair> values = x.local().to_host(stream);
  std::size_t next = 0;
  Box all;
  for (std::size_t d = 0; d < Rank; ++d) {
    all[d] = {0, x.local().extent(d)};
    const std::int64_t place = x.place(world.rank(), d), low = x.owned(d).begin;
    require(low == (x.periodic(d) || place > 0 ? x.halo(d) : 0), "a low halo: " + made.words());
    const std::int64_t high = all[d].end - x.owned(d).end;
    require(high == (x.periodic(d) || place + 1 < x.ranks(d) ? x.halo(d) : 0),
            "a high halo: " + made.words());
  }
  for_box<Rank>(all, [&](const auto& at) {
    const auto number = static_cast<std::int32_t>(number_of(x, at));
    const Pair expected{number, number + 1'000'000}, found = values[next++];
    require(found == expected, std::to_string(number) + ", not " + std::to_string(found[0]) + ", " +
                                   std::to_string(found[1]) + " in element " + std::to_string(next - 1) +
                                   " of rank " + std::to_string(world.rank()) + ": " + made.words());
  });
}

/// The interior and the borders are the owned elements, each once, and the interior is away from halos.
template <std::size_t Rank>
void check_grid_borders(const Communicator& world, const StreamRef& stream, const GridCase<Rank>& made) {
  const Distributed<std::uint8_t, Rank> x(world, stream, made.extents, made.cuts);
  std::vector<std::uint8_t> visits(x.local().size(), 0);
  const auto visit = [&](const Box& box) {
    for_box<Rank>(box, [&](const auto& at) {
      std::int64_t place = 0;
      for (std::size_t d = 0; d < Rank; ++d) place = place * x.local().extent(d) + at[d];
      ++visits[static_cast<std::size_t>(place)];
    });
  };
  visit(x.interior_box());
  const std::vector<Box> borders = x.border_boxes();
  for (const Box& border : borders) visit(border);
  visit(x.owned_box());
  std::int64_t twice = 0;
  for (const std::uint8_t count : visits) {
    require(count == 0 || count == 2, "an owned element in one part: " + made.words());
    twice += count == 2;
  }
  require(twice == x.owned_box().size(), "all owned elements in a part: " + made.words());
  const Box interior = x.interior_box();
  for (std::size_t d = 0; d < Rank && !interior.empty(); ++d) {
    const Rows owned = x.owned(d);
    require(interior[d].begin >= owned.begin + (owned.begin > 0 ? x.halo(d) : 0),
            "an interior: " + made.words());
    require(interior[d].end <= owned.end - (x.local().extent(d) > owned.end ? x.halo(d) : 0),
            "an interior: " + made.words());
  }
}

/// `to` in [i0, i1) x [j0, j1): a weighted mean of each element and its eight neighbours. Where a dimension
/// is not periodic, an edge repeats its own element; `wrap` is for an array whose halos are its own other
/// end.
inline const auto& nine_points() {
  static const Kernel kernel{
      "nine_points", [](View<const float, 2> from, View<float, 2> to, Index i0, Index i1, Index j0, Index j1,
                        Value<bool> wrap_rows, Value<bool> wrap_columns) {
        range_for(range(i0, i1), range(j0, j1), [&](Index i, Index j) {
          const Index n = from.extent(0), m = from.extent(1);
          const Index up = select(wrap_rows, (i + n - 1) % n, max(i - 1, 0));
          const Index down = select(wrap_rows, (i + 1) % n, min(i + 1, n - 1));
          const Index left = select(wrap_columns, (j + m - 1) % m, max(j - 1, 0));
          const Index right = select(wrap_columns, (j + 1) % m, min(j + 1, m - 1));
          to(i, j) = 0.28f * from(i, j) + 0.11f * (from(up, j) + from(down, j)) +
                     0.12f * (from(i, left) + from(i, right)) + 0.05f * (from(up, left) + from(down, right)) +
                     0.08f * (from(up, right) + from(down, left));
        });
      }};
  return kernel;
}

/// A stencil that reads corners, whose exchange runs during its interior, gives the bits of one array on one
/// device. With halos of n or more elements, one step of n exchanges.
inline void check_grid_stencil(const Communicator& world, const StreamRef& stream, const GridCase<2>& made) {
  constexpr int steps = 7;
  Device device = stream.device();
  const auto [rows, columns] = made.extents;
  const std::vector<float> values = rough_values(static_cast<std::size_t>(rows * columns));
  Distributed<float, 2> a(world, stream, made.extents, made.cuts), b(stream, a);
  a.local().fill(stream, 1e9f);  // halos that no step may read before an exchange
  fill_own(stream, a, [&](std::int64_t number) { return values[static_cast<std::size_t>(number)]; });
  const std::int64_t halo = std::min(a.halo(0), a.halo(1));
  for (int step = 0; step < steps; ++step) {
    const auto body = [&](const Box& part) {
      nine_points()(stream, a.local(), b.local(), part[0].begin, part[0].end, part[1].begin, part[1].end,
                    false, false);
    };
    const std::int64_t width = halo - 1 - step % halo;
    if (step % halo == 0)
      overlap_exchange(stream, {a}, body, width);
    else
      body(a.extended_box(width));
    std::swap(a, b);
  }
  Array<float, 2> whole;
  if (world.rank() == 0) whole = device.array<float>(stream, rows, columns);
  a.gather(stream, whole, 0);
  world.synchronize(stream);
  if (world.rank() != 0) return;
  auto one = device.array<float>(stream, rows, columns), other = device.array<float>(stream, rows, columns);
  one.copy_from(stream, values);
  for (int step = 0; step < steps; ++step) {
    nine_points()(stream, one, other, 0, rows, 0, columns, a.periodic(0), a.periodic(1));
    std::swap(one, other);
  }
  require(same_bits(whole.to_host(stream), one.to_host(stream)), "the bits of one array: " + made.words());
}

/// Sum, minimum and maximum have the bits of a kernel's over the whole array.
template <std::size_t Rank>
void check_grid_reductions(const Communicator& world, const StreamRef& stream, const GridCase<Rank>& made) {
  Device device = stream.device();
  const Distributed<float, Rank> x(world, stream, made.extents, made.cuts);
  std::int64_t count = 1;
  for (const std::int64_t extent : made.extents) count *= extent;
  const std::vector<float> values = rough_values(static_cast<std::size_t>(count));
  x.local().fill(stream, 1e9f);  // halos that no reduction reads
  fill_own(stream, x, [&](std::int64_t number) { return values[static_cast<std::size_t>(number)]; });
  auto results = device.array<float>(stream, 5), whole = device.array<float>(stream, count),
       expected = device.array<float>(stream, 3);
  reduce(stream, x, results.slice(0, 1), Combine::sum);
  reduce(stream, x, results.slice(1, 2), Combine::min);
  reduce(stream, x, results.slice(2, 3), Combine::max);
  reduce(stream, x, results.slice(3, 4), Combine::min, ReduceOrder::fast);
  reduce(stream, x, results.slice(4, 5), Combine::max, ReduceOrder::fast);
  whole.copy_from(stream, values);
  whole_sum()(stream, whole, expected);
  world.synchronize(stream);
  std::vector<float> found = results.to_host(stream), right = expected.to_host(stream);
  right.insert(right.end(), {right[1], right[2]});
  require(same_bits(found, right),
          "the sum " + std::to_string(right[0]) + ", not " + std::to_string(found[0]) + ": " + made.words());
}

/// The elements stay the same from one rank to the cuts of `first`, to those of `second`, and to one rank.
template <std::size_t Rank>
void check_grid_copies(const Communicator& world, const StreamRef& stream, const GridCase<Rank>& first,
                       const GridCase<Rank>& second) {
  require(first.extents == second.extents, "cases of the same extents");
  const std::uint32_t root = world.size() - 1;
  const Distributed<std::int16_t, Rank> x(world, stream, first.extents, first.cuts),
      y(world, stream, second.extents, second.cuts);
  std::int64_t count = 1;
  for (const std::int64_t extent : first.extents) count *= extent;
  std::vector<std::int16_t> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int16_t>(7 * i + 1);
  const Distributed<std::int16_t, Rank> on_root(world, stream, first.extents, [&] {
    Cut cut;
    cut.rows.assign(world.size(), 0);
    cut.rows[root] = first.extents[0];
    return cut;
  }());
  if (world.rank() == root) on_root.own().copy_from(stream, values);
  x.local().fill(stream, -1);
  y.local().fill(stream, -1);
  x.scatter(stream, on_root.own(), root);
  y.copy_from(stream, x);
  const Distributed<std::int16_t, Rank> result(world, stream, first.extents, [&] {
    Cut cut;
    cut.rows.assign(world.size(), 0);
    cut.rows[0] = first.extents[0];
    return cut;
  }());
  y.gather(stream, result.own(), 0);
  world.synchronize(stream);
  if (world.rank() == 0)
    require(result.own().to_host(stream) == values,
            "the same elements: " + first.words() + " and " + second.words());
  std::size_t changed = 0;
  for (const std::int16_t value : y.local().to_host(stream)) changed += value != -1;
  require(changed == static_cast<std::size_t>(y.owned_box().size()), "halos as before: " + second.words());
}

/// All checks with random cuts along 1 to 3 dimensions.
inline void check_random_grids(const Communicator& world, const StreamRef& stream, unsigned seed,
                               int rounds) {
  std::mt19937 random(seed);  // the same on all ranks
  for (int round = 0; round < rounds; ++round) {
    const auto plane = random_case<2>(random, world.size());
    const auto space = random_case<3>(random, world.size());
    check_grid_halos(world, stream, plane);
    check_grid_halos(world, stream, space);
    check_grid_borders(world, stream, plane);
    check_grid_borders(world, stream, space);
    check_grid_reductions(world, stream, plane);
    check_grid_reductions(world, stream, space);
    auto other = random_case<3>(random, world.size());
    for (std::size_t d = 0; d < other.cuts.size(); ++d)
      if (!other.cuts[d].rows.empty() || other.extents[d] != space.extents[d])
        other.cuts[d] = {.ranks = other.cuts[d].ranks};
    other.extents = space.extents;
    check_grid_copies(world, stream, space, other);
  }
}

}  // namespace weir::test
