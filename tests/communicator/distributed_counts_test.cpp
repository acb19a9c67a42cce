// SPDX-License-Identifier: Apache-2.0
// Messages, bytes and memory of each rank as the number of ranks grows, each with as many elements. The model
// that they are compared with goes on to 10,000 ranks. With WEIR_RANKS_TABLE=FILE the test writes the table
// of tests/evidence/ranks.md.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <mutex>

#include "grid_checks.hpp"
#include "rank_environment.hpp"
#include "tested_device.hpp"

namespace weir::test {
namespace {

constexpr std::int64_t side = 60;  // rows and columns of a rank in a grid; chunks cross ranks
constexpr std::uint64_t element = sizeof(float);

/// What the busiest rank sends and holds.
struct Counts {
  std::uint64_t exchange_messages = 0, exchange_bytes = 0;  ///< of one exchange
  std::uint64_t reduce_messages = 0, reduce_bytes = 0;      ///< of one reduction, besides the all_reduce
  std::uint64_t piece_bytes = 0;                            ///< with halos
  std::uint64_t table = 0;                                  ///< numbers that say where pieces begin

  friend bool operator==(const Counts&, const Counts&) = default;
};

Counts most(const Counts& a, const Counts& b) {
  return {std::max(a.exchange_messages, b.exchange_messages),
          std::max(a.exchange_bytes, b.exchange_bytes),
          std::max(a.reduce_messages, b.reduce_messages),
          std::max(a.reduce_bytes, b.reduce_bytes),
          std::max(a.piece_bytes, b.piece_bytes),
          std::max(a.table, b.table)};
}

/// An array of side x side elements for each rank, as square as possible.
struct Plane {
  std::uint32_t ranks, rows, columns;  ///< rows * columns == ranks

  explicit Plane(std::uint32_t size) : ranks(size), rows(1), columns(size) {
    for (std::uint32_t n = 1; n * n <= size; ++n)
      if (size % n == 0) columns = n, rows = size / n;
  }
  std::array<std::int64_t, 2> extents() const { return {side * rows, side * columns}; }
  std::uint64_t elements() const { return static_cast<std::uint64_t>(ranks) * side * side; }
};

Counts counted(const Plane& plane, bool grid) {
  const Ranks environment(std::to_string(plane.ranks).c_str());
  Counts counts;
  std::mutex mutex;
  Device device = open(tested_device());
  run_ranks([&] {
    const Communicator world = join();
    const Stream stream = device.create_stream();
    std::vector<Cut> cuts{{.halo = 1, .ranks = grid ? plane.rows : plane.ranks}};
    if (grid) cuts.push_back({.halo = 1, .ranks = plane.columns});
    const MessageStatistics made = world.message_statistics();
    const Distributed<float, 2> x(world, stream, plane.extents(), cuts);
    x.local().fill(stream, 1.0f);
    const MessageStatistics before = world.message_statistics();
    x.exchange(stream);
    const MessageStatistics exchanged = world.message_statistics();
    auto result = stream.device().array<float>(stream, 1);
    reduce(stream, x, result);
    const MessageStatistics reduced = world.message_statistics();
    world.synchronize(stream);
    const std::lock_guard lock(mutex);
    EXPECT_EQ(before.sent, made.sent);
    EXPECT_EQ(result.to_host(stream).front(), static_cast<float>(plane.elements()));
    counts = most(counts, {exchanged.sent - before.sent, exchanged.sent_bytes - before.sent_bytes,
                           reduced.sent - exchanged.sent, reduced.sent_bytes - exchanged.sent_bytes,
                           x.local().size_bytes(), x.ranks(0) + x.ranks(1) + 2});
  });
  return counts;
}

/// Messages in which one of `ranks` ranks gets whole rows: f - 1 for each prime factor f.
std::uint64_t messages_to_whole_rows(std::uint32_t ranks) {
  std::uint64_t messages = 0;
  for (std::uint32_t factor = 2; ranks > 1; ++factor)
    for (; ranks % factor == 0; ranks /= factor) messages += factor - 1;
  return messages;
}

/// Elements in these messages at most, of a rank with rows x columns. While a line has `parts` parts of the
/// rows, each rank has as many times the columns, and gives factor - 1 of its rows' parts. Where there are
/// fewer rows than parts, it may give all.
std::uint64_t elements_to_whole_rows(std::uint32_t ranks, std::uint64_t rows, std::uint64_t columns) {
  std::uint64_t elements = 0, parts = 1;
  for (std::uint32_t factor = 2; ranks > 1; ++factor)
    for (; ranks % factor == 0; ranks /= factor) {
      const std::uint64_t next = parts * factor;
      elements += next > rows ? rows * columns : (factor - 1) * ((rows + next - 1) / next) * columns * parts;
      parts = next;
    }
  return elements;
}

std::uint64_t chunk_of(const Plane& plane) {
  const std::uint64_t even = (plane.elements() + 32767) / 32768;
  return std::max<std::uint64_t>(1024, (even + 63) / 64 * 64);
}

/// The counts of the busiest rank, of reductions at most.
Counts modelled(const Plane& plane, bool grid) {
  const auto sides = [](std::uint32_t places) -> std::uint64_t { return std::min(places - 1, 2u); };
  const std::uint64_t places[] = {grid ? plane.rows : plane.ranks, grid ? plane.columns : 1};
  const auto largest = [](std::int64_t extent, std::uint64_t parts) {
    return (static_cast<std::uint64_t>(extent) + parts - 1) / parts;
  };
  const std::uint64_t rows = largest(plane.extents()[0], places[0]);
  const std::uint64_t columns = largest(plane.extents()[1], places[1]);
  const std::uint64_t below = sides(static_cast<std::uint32_t>(places[0]));
  const std::uint64_t beside = sides(static_cast<std::uint32_t>(places[1]));
  Counts counts;
  counts.exchange_messages = below + beside;
  counts.exchange_bytes = (below * (columns + beside) + beside * rows) * element;
  const auto line = static_cast<std::uint32_t>(places[1]);
  // The first elements of a rank belong to a chunk that begins on another.
  counts.reduce_messages = messages_to_whole_rows(line) + 1;
  counts.reduce_bytes = (elements_to_whole_rows(line, rows, columns) + chunk_of(plane)) * element;
  counts.piece_bytes = (rows + below) * (columns + beside) * element;
  counts.table = places[0] + places[1] + 2;
  return counts;
}

/// Messages of the all_reduce over the results of all chunks, by MessageGroup.
std::uint64_t all_reduce_messages(const Plane& plane) {
  const std::uint64_t bytes = (plane.elements() + chunk_of(plane) - 1) / chunk_of(plane) * element;
  const std::uint64_t bits = std::bit_width(plane.ranks - 1);
  if (bytes <= 65536) return bits;
  if (plane.ranks < 8) return 2 * (plane.ranks - 1);
  return 2 * std::bit_width(plane.ranks) - (std::has_single_bit(plane.ranks) ? 2 : 1);
}

void write_row(std::ostream& out, const Plane& plane, bool grid, const Counts& counts, const char* how) {
  char text[200];
  std::snprintf(
      text, sizeof text, "| %u | %s | %s | %llu | %llu | %llu | %llu | %llu | %llu | %llu |\n", plane.ranks,
      grid ? (std::to_string(plane.rows) + " x " + std::to_string(plane.columns)).c_str()
           : std::to_string(plane.ranks).c_str(),
      how, static_cast<unsigned long long>(counts.exchange_messages),
      static_cast<unsigned long long>(counts.exchange_bytes),
      static_cast<unsigned long long>(counts.reduce_messages),
      static_cast<unsigned long long>(counts.reduce_bytes),
      static_cast<unsigned long long>(all_reduce_messages(plane)),
      static_cast<unsigned long long>(counts.piece_bytes), static_cast<unsigned long long>(counts.table));
  out << text;
}

TEST(DistributedCounts, AreThoseOfTheModelOn2To64Ranks) {
  std::ofstream table;
  if (const char* const path = std::getenv("WEIR_RANKS_TABLE")) table.open(path);
  for (const bool grid : {false, true}) {
    for (const std::uint32_t ranks : {2u, 3u, 4u, 6u, 8u, 12u, 16u, 32u, 64u}) {
      SCOPED_TRACE(std::to_string(ranks) + (grid ? " in a grid" : " in a column"));
      const Plane plane(ranks);
      const Counts found = counted(plane, grid), model = modelled(plane, grid);
      EXPECT_EQ(found.exchange_messages, model.exchange_messages);
      EXPECT_EQ(found.exchange_bytes, model.exchange_bytes);
      EXPECT_LE(found.reduce_messages, model.reduce_messages);
      EXPECT_LE(found.reduce_bytes, model.reduce_bytes);
      EXPECT_EQ(found.piece_bytes, model.piece_bytes);
      EXPECT_EQ(found.table, model.table);
      if (table.is_open()) write_row(table, plane, grid, found, "counted");
    }
    for (const std::uint32_t ranks : {256u, 1'024u, 4'096u, 10'000u})
      if (table.is_open()) write_row(table, Plane(ranks), grid, modelled(Plane(ranks), grid), "model");
  }
}

// No rank gets a whole row of an array with fewer rows than ranks.
TEST(DistributedCounts, RanksShareTheRowsOfAFlatArray) {
  const Ranks environment("16");
  Device device = open(tested_device());
  run_ranks([&] {
    const Communicator world = join();
    const Stream stream = device.create_stream();
    const Distributed<float, 2> x(world, stream, {3, 16'000}, {{.ranks = 1}, {.ranks = 16}});
    x.local().fill(stream, 1.0f);
    auto result = stream.device().array<float>(stream, 1);
    reduce(stream, x, result);
    world.synchronize(stream);
    EXPECT_EQ(result.to_host(stream).front(), 48'000.0f);
    constexpr std::uint64_t piece = 3 * 1'000, chunk = 1'024;
    EXPECT_LE(world.message_statistics().received_bytes, (3 * piece + chunk) * element);
  });
}

// What the model has to stay below as ranks grow: neighbours only for halos, logarithmic for reductions.
TEST(DistributedCounts, OfTheModelGrowWithTheLogarithmOfTheRanks) {
  for (const std::uint32_t ranks : {64u, 256u, 1'024u, 4'096u, 10'000u}) {
    const Plane plane(ranks);
    const Counts column = modelled(plane, false), grid = modelled(plane, true);
    EXPECT_LE(column.exchange_messages, 2u);
    EXPECT_LE(grid.exchange_messages, 4u);
    EXPECT_LE(grid.exchange_bytes, (4 * side + 4) * element);
    EXPECT_EQ(column.reduce_messages, 1u);
    EXPECT_LE(static_cast<double>(grid.reduce_messages + all_reduce_messages(plane)), 4 * std::log2(ranks));
    EXPECT_LE(grid.table, 2 * std::sqrt(ranks) + 2);
  }
}

}  // namespace
}  // namespace weir::test
