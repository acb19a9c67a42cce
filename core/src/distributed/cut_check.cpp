// SPDX-License-Identifier: Apache-2.0
#include "distributed/cut_check.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <numeric>

namespace weir::distributed {

namespace {

/// The first row of each rank, then the number of rows. Throws Error{invalid} for a cut that is wrong by
/// itself.
std::vector<std::int64_t> starts_of(const Cut& cut, std::int64_t rows, std::uint32_t ranks) {
  const auto fail = [](const std::string& words) { throw Error(ErrorCode::invalid, words); };
  if (rows < 0) fail(fmt::format("the extent along the cut is {}; extents are 0 or more", rows));
  if (cut.halo < 0) fail(fmt::format("the halo is {} rows wide; expected 0 or more", cut.halo));
  if (!cut.rows.empty() && cut.rows.size() != ranks)
    fail(fmt::format("the cut has {} sizes; expected one for each of the {} ranks, or none for an even cut",
                     cut.rows.size(), ranks));
  std::vector<std::int64_t> starts{0};
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const std::int64_t size =
        cut.rows.empty() ? rows / ranks + (rank < rows % ranks ? 1 : 0) : cut.rows[rank];
    if (size < 0 || size > rows - starts.back())
      fail(
          fmt::format("the cut gives rank {} {} rows, and {} of {} are left; sizes must be 0 or more and add "
                      "up to the extent",
                      rank, size, rows - starts.back(), rows));
    starts.push_back(starts.back() + size);
  }
  if (starts.back() != rows)
    fail(fmt::format("the sizes of the cut add up to {} rows; the array has {}", starts.back(), rows));
  return starts;
}

/// What all ranks must give alike, as numbers that one all_gather compares.
struct Description {
  std::int64_t valid, element, dimensions, halo, periodic;
  std::int64_t extents[max_rank];
  std::int64_t cut;  ///< FNV-1a hash of the first rows of all ranks

  friend bool operator==(const Description&, const Description&) = default;
};
constexpr std::size_t description_numbers = sizeof(Description) / sizeof(std::int64_t);
using DescriptionNumbers = std::array<std::int64_t, description_numbers>;

std::int64_t hash_of(std::span<const std::int64_t> numbers) {
  std::uint64_t hash = 14695981039346656037u;
  for (const std::int64_t number : numbers)
    for (int shift = 0; shift < 64; shift += 8)
      hash = (hash ^ (static_cast<std::uint64_t>(number) >> shift & 0xff)) * 1099511628211u;
  return static_cast<std::int64_t>(hash);
}

Description describe(const ElementType& element, std::span<const std::int64_t> extents, const Cut& cut,
                     std::span<const std::int64_t> starts) {
  Description made{starts.empty() ? 0 : 1,
                   std::bit_cast<std::int32_t>(element),
                   static_cast<std::int64_t>(extents.size()),
                   cut.halo,
                   cut.periodic ? 1 : 0,
                   {},
                   hash_of(starts)};
  std::ranges::copy(extents, made.extents);
  return made;
}

/// The descriptions of all ranks.
std::vector<Description> gather(const Communicator& world, const StreamRef& stream, const Description& mine) {
  const Device device = stream.device();
  const auto numbers = std::bit_cast<DescriptionNumbers>(mine);
  const Array<std::int64_t> sent = device.array_of<std::int64_t>(stream, numbers);
  const Array<std::int64_t> all = device.array<std::int64_t>(stream, world.size() * numbers.size());
  world.all_gather(stream, all, sent);
  world.synchronize(stream);
  const std::vector<std::int64_t> values = all.to_host(stream);
  std::vector<Description> descriptions;
  for (std::uint32_t rank = 0; rank < world.size(); ++rank) {
    DescriptionNumbers part;
    std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(rank * part.size()), part.size(), part.begin());
    descriptions.push_back(std::bit_cast<Description>(part));
  }
  return descriptions;
}

/// `words` of `rank`, cut to 300 bytes, on all ranks; a collective call.
std::string words_of(const Communicator& world, const StreamRef& stream, std::uint32_t rank,
                     std::string words) {
  words.resize(300);
  const Array<std::uint8_t> bytes = stream.device().array<std::uint8_t>(stream, words.size());
  bytes.copy_from_bytes(stream, std::as_bytes(std::span<const char>(words)));
  world.broadcast(stream, bytes, rank);
  world.synchronize(stream);
  bytes.copy_to_bytes(stream, std::as_writable_bytes(std::span(words)));
  return words.c_str();
}

/// The cut of `rank` in words; a collective call.
std::string cut_words(const Communicator& world, const StreamRef& stream, std::uint32_t rank,
                      std::span<const std::int64_t> starts) {
  const Array<std::int64_t> values = stream.device().array_of<std::int64_t>(stream, starts);
  world.broadcast(stream, values, rank);
  world.synchronize(stream);
  std::vector<std::int64_t> sizes = values.to_host(stream);
  std::adjacent_difference(sizes.begin(), sizes.end(), sizes.begin());
  sizes.erase(sizes.begin());  // the first row of rank 0
  constexpr std::size_t most = 16;
  const bool more = sizes.size() > most;
  if (more) sizes.resize(most);
  return fmt::format("{}{} rows", fmt::join(sizes, ", "), more ? ", ..." : "");
}

std::string words(std::uint32_t rank, const Description& made, const std::string& cut) {
  const auto element = std::bit_cast<ElementType>(static_cast<std::int32_t>(made.element));
  return fmt::format(
      "rank {} makes {} of {}, cut into {}, with a halo of {}{}", rank,
      fmt::join(std::span(made.extents).first(static_cast<std::size_t>(made.dimensions)), " x "),
      to_string(element), cut, made.halo, made.periodic ? ", periodic" : "");
}

}  // namespace

std::vector<std::int64_t> agreed_starts(const Communicator& world, const StreamRef& stream,
                                        const ElementType& element, std::span<const std::int64_t> extents,
                                        const Cut& cut) {
  std::vector<std::int64_t> starts;
  std::string mistake;
  try {
    starts = starts_of(cut, extents[0], world.size());
  } catch (const Error& error) {  // the other ranks are told, which would wait for this one
    mistake = error.what();
  }
  const std::vector<Description> made = gather(world, stream, describe(element, extents, cut, starts));
  if (const auto wrong = std::ranges::find(made, 0, &Description::valid); wrong != made.end()) {
    const auto rank = static_cast<std::uint32_t>(wrong - made.begin());
    throw Error(ErrorCode::invalid,
                fmt::format("Distributed: rank {}: {}", rank, words_of(world, stream, rank, mistake)));
  }
  const auto other = std::ranges::find_if(made, [&](const Description& d) { return d != made.front(); });
  if (other != made.end()) {
    const auto rank = static_cast<std::uint32_t>(other - made.begin());
    const std::string theirs = words(rank, *other, cut_words(world, stream, rank, starts));
    const std::string first = words(0, made.front(), cut_words(world, stream, 0, starts));
    throw Error(ErrorCode::invalid,
                fmt::format("Distributed: {}; {}; all ranks must give the same", theirs, first));
  }
  if (world.size() == 1 && !cut.periodic) return starts;
  for (std::uint32_t rank = 0; rank < world.size(); ++rank)
    if (const std::int64_t rows = starts[rank + 1] - starts[rank]; rows < cut.halo)
      throw Error(ErrorCode::invalid,
                  fmt::format("Distributed: rank {} owns {} of {} rows, fewer than the halo of {} that its "
                              "neighbours need; use fewer ranks or another cut",
                              rank, rows, starts.back(), cut.halo));
  return starts;
}

}  // namespace weir::distributed
