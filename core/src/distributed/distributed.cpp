// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "distributed/boxes.hpp"
#include "distributed/cut_check.hpp"
#include "runtime/memory/array_use.hpp"

namespace weir {

using distributed::pieces_of;
using distributed::pieces_on;

namespace {

std::span<const std::int64_t> checked(std::span<const std::int64_t> extents) {
  if (extents.empty() || extents.size() > max_rank)
    throw Error(ErrorCode::invalid,
                fmt::format("Distributed: {} extents; arrays have 1 to {}", extents.size(), max_rank));
  return extents;
}

CutList or_even(CutList cuts) {
  static const Cut even;
  return cuts.empty() ? CutList(&even, 1) : cuts;
}

distributed::RankRange all_ranks(const Communicator& world) {
  return {0, world.size()};
}

/// "12 x 3 of f32"
std::string described(const AnyDistributed& array) {
  std::string text;
  for (std::size_t d = 0; d < array.dimensions(); ++d)
    text += fmt::format("{}{}", d ? " x " : "", array.extent(d));
  return text + " of " + to_string(array.element());
}

}  // namespace

AnyDistributed::AnyDistributed(const Communicator& world, const StreamRef& stream, ElementType element,
                               std::span<const std::int64_t> extents, CutList given) try
    : world_(&world) {
  const CutList cuts = or_even(given);
  distributed::Starts starts = distributed::agreed_starts(world, stream, element, checked(extents), cuts);
  for (std::size_t d = 0; d < extents.size(); ++d) {
    if (d < cuts.size())
      sides_[d] = {std::move(starts[d]), cuts[d].halo, cuts[d].periodic};
    else
      sides_[d] = {{0, extents[d]}};
  }
  std::vector<std::int64_t> mine;
  for (std::size_t d = 0; d < extents.size(); ++d) {
    Side& side = sides_[d];
    const std::uint32_t at = place(world.rank(), d);
    side.low = side.periodic || at > 0 ? side.halo : 0;
    side.high = side.periodic || at + 1 < side.ranks() ? side.halo : 0;
    mine.push_back(side.low + rows(world.rank(), d).size() + side.high);
  }
  local_ = AnyArray(stream, element, mine);
} catch (...) {
  detail::rethrow_as_error();
}

AnyDistributed::AnyDistributed(const StreamRef& stream, const AnyDistributed& like, ElementType element) try
    : world_(like.world_), sides_(like.sides_) {
  std::vector<std::int64_t> mine;
  for (std::size_t d = 0; d < like.dimensions(); ++d) mine.push_back(like.local_.extent(d));
  local_ = AnyArray(stream, element, mine);
} catch (...) {
  detail::rethrow_as_error();
}

const AnyDistributed& detail::expect_dimensions(const AnyDistributed& like, std::size_t dimensions) {
  if (like.dimensions() != dimensions)
    throw Error(ErrorCode::invalid,
                fmt::format("Distributed: an array of {} dimensions cannot have the cut of "
                            "one with {}; give one with as many dimensions",
                            dimensions, like.dimensions()));
  return like;
}

std::uint32_t AnyDistributed::place(std::uint32_t rank, std::size_t d) const noexcept {
  for (std::size_t later = max_rank - 1; later > d; --later) rank /= ranks(later);
  return rank % ranks(d);
}

void AnyDistributed::check_width(std::int64_t width, std::size_t d) const {
  if (width >= 0 && width <= halo(d)) return;  // on one rank too, so that programs fail early
  throw Error(
      ErrorCode::invalid,
      fmt::format("a width of {} along dimension {}, where the array has a halo of {}; expected 0 to {}",
                  width, d, halo(d), halo(d)));
}

Rows AnyDistributed::extended(std::size_t d, std::int64_t width) const {
  check_width(width, d);
  const Side& side = sides_[d];
  const Rows all = owned(d);
  return {all.begin - std::min(side.low, width), all.end + std::min(side.high, width)};
}

// A piece of less than two halos has no interior; its first border then takes all rows that it can.
Rows AnyDistributed::interior(std::size_t d, std::int64_t width) const {
  check_width(width, d);
  const Side& side = sides_[d];
  const Rows all = owned(d);
  const auto kept = [&](std::int64_t halo) { return std::max<std::int64_t>(halo - width, 0); };
  const std::int64_t begin = std::min(all.begin + kept(side.low), all.end);
  return {begin, std::max(all.end - kept(side.high), begin)};
}

std::array<Rows, 2> AnyDistributed::borders(std::size_t d, std::int64_t width) const {
  const Rows all = extended(d, width), inner = interior(d, width);
  return {Rows{all.begin, inner.begin}, Rows{inner.end, all.end}};
}

Box AnyDistributed::box(std::uint32_t rank) const noexcept {
  Box box;
  for (std::size_t d = 0; d < dimensions(); ++d) box[d] = rows(rank, d);
  return box;
}

Box AnyDistributed::owned_box() const noexcept {
  Box box;
  for (std::size_t d = 0; d < dimensions(); ++d) box[d] = owned(d);
  return box;
}

Box AnyDistributed::extended_box(std::int64_t width) const {
  Box box;
  for (std::size_t d = 0; d < dimensions(); ++d) box[d] = extended(d, width_along(d, width));
  return box;
}

Box AnyDistributed::interior_box(std::int64_t width) const {
  Box box;
  for (std::size_t d = 0; d < dimensions(); ++d) box[d] = interior(d, width_along(d, width));
  return box;
}

// Those along dimension d are as wide as the interior along the dimensions before d, whose borders have the
// rest, and as the extended box along the others.
std::vector<Box> AnyDistributed::border_boxes(std::int64_t width) const {
  std::vector<Box> boxes;
  Box box = extended_box(width);
  for (std::size_t d = 0; d < dimensions(); ++d) {
    for (const Rows& border : borders(d, width_along(d, width))) {
      box[d] = border;
      if (!box.empty()) boxes.push_back(box);
    }
    box[d] = interior(d, width_along(d, width));
  }
  return boxes;
}

AnyArrayView AnyDistributed::own() const {
  for (std::size_t d = 1; d < dimensions(); ++d)
    if (halo(d) != 0)  // on one rank too, where there may be no halos, so that programs fail early
      throw Error(
          ErrorCode::invalid,
          fmt::format("own: the array has a halo of {} along dimension {}, so its own elements are not "
                      "contiguous; expected halos along the first dimension only. Copy them with "
                      "copy_own_to() and copy_own_from()",
                      halo(d), d));
  return distributed::rows_of(local_, owned());
}

void AnyDistributed::check_own(const char* function, const AnyArrayView& elements) const {
  if (!elements.contiguous()) detail::throw_strided(function);
  const std::int64_t expected = owned_box().size();
  if (elements.element() != element() || static_cast<std::int64_t>(elements.size()) != expected)
    throw Error(ErrorCode::invalid,
                fmt::format("{}: rank {} was given {} elements of {}; expected the {} of {} that it owns",
                            function, world_->rank(), elements.size(), to_string(elements.element()),
                            expected, to_string(element())));
}

void AnyDistributed::copy_own_to(const StreamRef& stream, const AnyArrayView& elements) const try {
  check_own("copy_own_to", elements);
  const Box own = owned_box();
  const AnyArrayView shaped =
      elements.reinterpreted(0, element(), distributed::extents_of(own, dimensions()));
  distributed::copy_box(stream, shaped, distributed::all_of(shaped), local_, own);
} catch (...) {
  detail::rethrow_as_error();
}

void AnyDistributed::copy_own_from(const StreamRef& stream, const AnyArrayView& elements) const try {
  check_own("copy_own_from", elements);
  const Box own = owned_box();
  const AnyArrayView shaped =
      elements.reinterpreted(0, element(), distributed::extents_of(own, dimensions()));
  distributed::copy_box(stream, local_, own, shaped, distributed::all_of(shaped));
} catch (...) {
  detail::rethrow_as_error();
}

void AnyDistributed::check_whole(const char* function, const AnyArrayView& whole, std::uint32_t root) const {
  if (root >= world_->size())
    throw Error(ErrorCode::invalid, fmt::format("{}: the root is rank {}; the group has ranks 0 to {}",
                                                function, root, world_->size() - 1));
  if (world_->rank() != root) return;
  if (!whole.contiguous()) detail::throw_strided(function);
  const bool fits = whole.element() == element();
  std::vector<std::int64_t> found, wanted;
  for (std::size_t d = 0; d < whole.rank(); ++d) found.push_back(whole.extent(d));
  for (std::size_t d = 0; d < dimensions(); ++d) wanted.push_back(extent(d));
  if (!fits || found != wanted)
    throw Error(ErrorCode::invalid,
                fmt::format("{}: the whole array on rank {} is {} of {}; expected {} of {}", function, root,
                            fmt::join(found, " x "), to_string(whole.element()), fmt::join(wanted, " x "),
                            to_string(element())));
}

void AnyDistributed::gather(const StreamRef& stream, const AnyArrayView& whole, std::uint32_t root) const
    try {
  check_whole("gather", whole, root);
  distributed::transfer(*world_, stream, pieces_of(*this), pieces_on(root, whole, *this), all_ranks(*world_));
} catch (...) {
  detail::rethrow_as_error();
}

void AnyDistributed::scatter(const StreamRef& stream, const AnyArrayView& whole, std::uint32_t root) const
    try {
  check_whole("scatter", whole, root);
  distributed::transfer(*world_, stream, pieces_on(root, whole, *this), pieces_of(*this), all_ranks(*world_));
} catch (...) {
  detail::rethrow_as_error();
}

void AnyDistributed::copy_from(const StreamRef& stream, const AnyDistributed& other) const try {
  bool fits = other.element() == element() && other.dimensions() == dimensions() && other.world_ == world_;
  for (std::size_t d = 0; fits && d < dimensions(); ++d) fits = other.extent(d) == extent(d);
  if (!fits)
    throw Error(ErrorCode::invalid,
                fmt::format("copy_from: the source is expected to have this one's Communicator, element type "
                            "and extents, {}; it has {}{}; only cuts, halos and periods may differ",
                            described(*this), described(other),
                            other.world_ == world_ ? "" : " and another Communicator"));
  distributed::transfer(*world_, stream, pieces_of(other), pieces_of(*this), all_ranks(*world_));
} catch (...) {
  detail::rethrow_as_error();
}

}  // namespace weir
