// SPDX-License-Identifier: Apache-2.0
#include "distributed/cut_check.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <numeric>

#include "distributed/places.hpp"

namespace weir::distributed {

namespace {

[[noreturn]] void fail(const std::string& text) {
  throw Error(ErrorCode::invalid, text);
}

/// The first index of each of `places`, then the extent. `one` of one cut, whose places are the ranks.
std::vector<std::int64_t> starts_along(const Cut& cut, std::int64_t extent, std::uint32_t places,
                                       std::size_t d, bool one) {
  const std::string the_cut = one ? "the cut" : fmt::format("the cut along dimension {}", d);
  const char* const place = one ? "rank" : "place";
  const char* const rows = one ? "rows" : "indices";
  if (extent < 0) fail(fmt::format("the extent along {} is {}; extents are 0 or more", the_cut, extent));
  if (cut.halo < 0)
    fail(fmt::format("the halo of {} is {} {} wide; expected 0 or more", the_cut, cut.halo, rows));
  std::vector<std::int64_t> starts{0};
  for (std::uint32_t at = 0; at < places; ++at) {
    const std::int64_t size =
        cut.rows.empty() ? extent / places + (at < extent % places ? 1 : 0) : cut.rows[at];
    if (size < 0 || size > extent - starts.back())
      fail(
          fmt::format("{} gives {} {} {} {}, and {} of {} are left; sizes must be 0 or more and add up to "
                      "the extent",
                      the_cut, place, at, size, rows, extent - starts.back(), extent));
    starts.push_back(starts.back() + size);
  }
  if (starts.back() != extent)
    fail(fmt::format("the sizes of {} add up to {} {}; the array has {}", the_cut, starts.back(), rows,
                     extent));
  return starts;
}

/// Throws Error{invalid} for cuts that are wrong by themselves.
Starts starts_of(CutList cuts, std::span<const std::int64_t> extents, std::uint32_t ranks) {
  if (cuts.size() > extents.size())
    fail(fmt::format("an array of {} dimensions has {} cuts; expected at most one for each dimension",
                     extents.size(), cuts.size()));
  const std::vector<std::uint32_t> places = places_of(cuts, extents, ranks);
  Starts starts;
  for (std::size_t d = 0; d < cuts.size(); ++d)
    starts.push_back(starts_along(cuts[d], extents[d], places[d], d, cuts.size() == 1));
  return starts;
}

/// The arguments that must be equal on all ranks, as numbers that the ranks compare.
struct Description {
  std::int64_t valid, element, dimensions, cuts;
  std::int64_t extents[max_rank], halo[max_rank], periodic[max_rank];
  std::int64_t starts;  ///< FNV-1a hash of the first indices of all places

  friend bool operator==(const Description&, const Description&) = default;
};
constexpr std::size_t description_numbers = sizeof(Description) / sizeof(std::int64_t);
using DescriptionNumbers = std::array<std::int64_t, description_numbers>;

std::int64_t hash_of(const Starts& starts) {
  std::uint64_t hash = 14695981039346656037u;
  const auto add = [&](std::uint64_t number) {
    for (int shift = 0; shift < 64; shift += 8) hash = (hash ^ (number >> shift & 0xff)) * 1099511628211u;
  };
  for (const auto& along : starts) {
    add(along.size());
    for (const std::int64_t start : along) add(static_cast<std::uint64_t>(start));
  }
  return static_cast<std::int64_t>(hash);
}

Description describe(const ElementType& element, std::span<const std::int64_t> extents, CutList cuts,
                     const Starts& starts) {
  Description made{};
  made.valid = starts.empty() ? 0 : 1;
  made.element = std::bit_cast<std::int32_t>(element);
  made.dimensions = static_cast<std::int64_t>(extents.size());
  made.cuts = static_cast<std::int64_t>(cuts.size());
  std::ranges::copy(extents, made.extents);
  for (std::size_t d = 0; d < std::min(cuts.size(), max_rank); ++d) {
    made.halo[d] = cuts[d].halo;
    made.periodic[d] = cuts[d].periodic ? 1 : 0;
  }
  made.starts = hash_of(starts);
  return made;
}

/// Whether all ranks have valid cuts and the same description. A reduction, because gathering them would take
/// memory for each rank.
bool agree(const Communicator& world, const StreamRef& stream, const Description& mine) {
  const auto numbers = std::bit_cast<DescriptionNumbers>(mine);
  std::vector<std::int64_t> both(numbers.begin(), numbers.end());
  for (const std::int64_t number : numbers) both.push_back(~number);  // its minimum is ~ of the maximum
  const Array<std::int64_t> values = stream.device().array_of<std::int64_t>(stream, both);
  world.all_reduce(stream, values, Reduction::minimum);
  world.synchronize(stream);
  const std::vector<std::int64_t> least = values.to_host(stream);
  for (std::size_t i = 0; i < description_numbers; ++i)
    if (least[i] != ~least[i + description_numbers]) return false;
  return mine.valid != 0;
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

/// `text` of `rank`, cut to 500 bytes, on all ranks; a collective call.
std::string text_of(const Communicator& world, const StreamRef& stream, std::uint32_t rank,
                    std::string text) {
  text.resize(500);
  const Array<std::uint8_t> bytes = stream.device().array<std::uint8_t>(stream, text.size());
  bytes.copy_from_bytes(stream, std::as_bytes(std::span<const char>(text)));
  world.broadcast(stream, bytes, rank);
  world.synchronize(stream);
  bytes.copy_to_bytes(stream, std::as_writable_bytes(std::span(text)));
  return text.c_str();
}

/// "3, 5, 4", of at most 16 sizes.
std::string sizes_of(std::span<const std::int64_t> starts) {
  std::vector<std::int64_t> sizes(starts.begin(), starts.end());
  std::adjacent_difference(sizes.begin(), sizes.end(), sizes.begin());
  sizes.erase(sizes.begin());  // the first index of the first place
  constexpr std::size_t max_sizes = 16;
  const bool more = sizes.size() > max_sizes;
  if (more) sizes.resize(max_sizes);
  return fmt::format("{}{}", fmt::join(sizes, ", "), more ? ", ..." : "");
}

std::string cut_text(std::uint32_t rank, const ElementType& element, std::span<const std::int64_t> extents,
                     CutList cuts, const Starts& starts) {
  std::string text =
      fmt::format("rank {} makes {} of {}, cut", rank, fmt::join(extents, " x "), to_string(element));
  for (std::size_t d = 0; d < cuts.size(); ++d) {
    if (cuts.size() == 1)
      text += fmt::format(" into {} rows,", sizes_of(starts[d]));
    else
      text += fmt::format("{} along dimension {} into {}", d > 0 ? " and" : "", d, sizes_of(starts[d]));
    text += fmt::format(" with a halo of {}{}", cuts[d].halo, cuts[d].periodic ? ", periodic" : "");
  }
  return text;
}

/// Throws the difference between the ranks' arrays; a collective call. `mistake` is this rank's, if it has
/// one.
[[noreturn]] void throw_difference(const Communicator& world, const StreamRef& stream,
                                   const Description& mine, const std::string& mistake,
                                   const std::string& array) {
  const std::vector<Description> made = gather(world, stream, mine);
  const auto rank_of = [&](auto found) { return static_cast<std::uint32_t>(found - made.begin()); };
  if (const auto wrong = std::ranges::find(made, 0, &Description::valid); wrong != made.end()) {
    const std::uint32_t rank = rank_of(wrong);
    fail(fmt::format("Distributed: rank {}: {}", rank, text_of(world, stream, rank, mistake)));
  }
  const std::uint32_t rank =
      rank_of(std::ranges::find_if(made, [&](const Description& d) { return d != made.front(); }));
  const std::string theirs = text_of(world, stream, rank, array);
  const std::string first = text_of(world, stream, 0, array);
  fail(fmt::format("Distributed: {}; {}; all ranks must give the same", theirs, first));
}

/// Throws Error{invalid} if a place along the dimension is narrower than the halo that it must send.
void check_halo(const Cut& cut, std::span<const std::int64_t> starts, std::size_t d, bool one) {
  const std::size_t places = starts.size() - 1;
  if (places == 1 && !cut.periodic) return;
  for (std::size_t at = 0; at < places; ++at) {
    const std::int64_t rows = starts[at + 1] - starts[at];
    if (rows >= cut.halo) continue;
    const std::string who =
        one ? fmt::format("rank {} owns {} of {} rows", at, rows, starts.back())
            : fmt::format("place {} along dimension {} owns {} of {} indices", at, d, rows, starts.back());
    fail(
        fmt::format("Distributed: {}, fewer than the halo of {} that its neighbours need; use fewer ranks "
                    "or another cut",
                    who, cut.halo));
  }
}

}  // namespace

Starts agreed_starts(const Communicator& world, const StreamRef& stream, const ElementType& element,
                     std::span<const std::int64_t> extents, CutList cuts) {
  Starts starts;
  std::string mistake;
  try {
    starts = starts_of(cuts, extents, world.size());
  } catch (const Error& error) {  // reported below: the other ranks wait for this one
    mistake = error.what();
  }
  const Description mine = describe(element, extents, cuts, starts);
  if (!agree(world, stream, mine))
    throw_difference(world, stream, mine, mistake,
                     starts.empty() ? "" : cut_text(world.rank(), element, extents, cuts, starts));
  for (std::size_t d = 0; d < cuts.size(); ++d) check_halo(cuts[d], starts[d], d, cuts.size() == 1);
  return starts;
}

}  // namespace weir::distributed
