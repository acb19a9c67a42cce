// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "distributed/cut_check.hpp"
#include "distributed/transfer.hpp"

namespace weir {

using distributed::rows_of;

namespace {

std::span<const std::int64_t> checked(std::span<const std::int64_t> extents) {
  if (extents.empty() || extents.size() > max_rank)
    throw Error(ErrorCode::invalid,
                fmt::format("Distributed: {} extents; arrays have 1 to {}", extents.size(), max_rank));
  return extents;
}

}  // namespace

AnyDistributed::AnyDistributed(const Communicator& world, const StreamRef& stream, ElementType element,
                               std::span<const std::int64_t> extents, const Cut& cut) try
    : world_(&world),
      starts_(distributed::agreed_starts(world, stream, element, checked(extents), cut)),
      halo_(cut.halo),
      periodic_(cut.periodic) {
  low_ = periodic_ || world.rank() > 0 ? halo_ : 0;
  high_ = periodic_ || world.rank() + 1 < world.size() ? halo_ : 0;
  std::vector<std::int64_t> mine(extents.begin(), extents.end());
  mine[0] = low_ + rows().size() + high_;
  local_ = AnyArray(stream, element, mine);
} catch (...) {
  detail::rethrow_as_error();
}

AnyDistributed::AnyDistributed(const StreamRef& stream, const AnyDistributed& like, ElementType element) try
    : world_(like.world_),
      starts_(like.starts_),
      halo_(like.halo_),
      periodic_(like.periodic_),
      low_(like.low_),
      high_(like.high_) {
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

AnyArrayView AnyDistributed::own() const {
  return rows_of(local_, owned());
}

// A piece of less than two halos has no interior; its first border then takes all rows that it can.
Rows AnyDistributed::interior() const noexcept {
  const Rows all = owned();
  const std::int64_t begin = std::min(all.begin + low_, all.end);
  return {begin, std::max(all.end - high_, begin)};
}

std::array<Rows, 2> AnyDistributed::borders() const noexcept {
  const Rows all = owned(), inner = interior();
  return {Rows{all.begin, inner.begin}, Rows{inner.end, all.end}};
}

// The first message to a rank is for its low halo, which it receives first: with two ranks in a circle, both
// messages of a rank go to the same one.
void AnyDistributed::append_halos(std::vector<Message>& sends, std::vector<Message>& receives) const {
  const std::uint32_t ranks = world_->size(), rank = world_->rank();
  const std::uint32_t before = (rank + ranks - 1) % ranks, after = (rank + 1) % ranks;
  const Rows all = owned();
  if (high_ != 0) sends.push_back({rows_of(local_, {all.end - halo_, all.end}), after});
  if (low_ != 0) sends.push_back({rows_of(local_, {all.begin, all.begin + halo_}), before});
  if (low_ != 0) receives.push_back({rows_of(local_, {0, low_}), before});
  if (high_ != 0) receives.push_back({rows_of(local_, {all.end, all.end + high_}), after});
}

void AnyDistributed::exchange(const StreamRef& stream) const {
  exchange_halos(stream, {*this});
}

void exchange_halos(const StreamRef& stream, DistributedList arrays) try {
  std::vector<Message> sends, receives;
  for (const AnyDistributed& array : arrays) {
    if (&array.world() != &arrays.front().get().world())
      throw Error(ErrorCode::invalid,
                  "exchange_halos: the arrays belong to different Communicators; exchange those of each on "
                  "their own");
    array.append_halos(sends, receives);
  }
  if (!sends.empty()) arrays.front().get().world().exchange(stream, sends, receives);
} catch (...) {
  detail::rethrow_as_error();
}

std::vector<Rows> AnyDistributed::pieces() const {
  std::vector<Rows> pieces;
  for (std::uint32_t rank = 0; rank < world_->size(); ++rank) pieces.push_back(rows(rank));
  return pieces;
}

std::vector<Rows> AnyDistributed::on_root(std::uint32_t root) const {
  std::vector<Rows> rows(world_->size());
  rows[root] = {0, extent(0)};
  return rows;
}

void AnyDistributed::check_whole(const char* function, const AnyArrayView& whole, std::uint32_t root) const {
  if (root >= world_->size())
    throw Error(ErrorCode::invalid, fmt::format("{}: the root is rank {}; the group has ranks 0 to {}",
                                                function, root, world_->size() - 1));
  if (world_->rank() != root) return;
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
  distributed::transfer(*world_, stream, own(), pieces(), whole, on_root(root));
} catch (...) {
  detail::rethrow_as_error();
}

void AnyDistributed::scatter(const StreamRef& stream, const AnyArrayView& whole, std::uint32_t root) const
    try {
  check_whole("scatter", whole, root);
  distributed::transfer(*world_, stream, whole, on_root(root), own(), pieces());
} catch (...) {
  detail::rethrow_as_error();
}

void AnyDistributed::copy_from(const StreamRef& stream, const AnyDistributed& other) const try {
  bool fits = other.element() == element() && other.dimensions() == dimensions() && other.world_ == world_;
  for (std::size_t d = 0; fits && d < dimensions(); ++d) fits = other.extent(d) == extent(d);
  if (!fits)
    throw Error(ErrorCode::invalid,
                "copy_from: a Distributed is copied from one of the same Communicator, element type and "
                "extents; only the cut, the halo and the period may differ");
  distributed::transfer(*world_, stream, other.own(), other.pieces(), own(), pieces());
} catch (...) {
  detail::rethrow_as_error();
}

// The stream of the exchange waits for the work before the interior only. Drivers without host callbacks
// wait on the host in exchange(), so the interior is submitted first.
void overlap_exchange(const StreamRef& stream,
                      std::initializer_list<std::reference_wrapper<const AnyDistributed>> arrays,
                      const std::function<void(Rows)>& body) try {
  if (arrays.size() == 0)
    throw Error(ErrorCode::invalid, "overlap_exchange: no array is given; expected at least one");
  const AnyDistributed& first = *arrays.begin();
  for (const AnyDistributed& array : arrays)
    if (array.rows() != first.rows() || array.owned() != first.owned() ||
        array.interior() != first.interior())
      throw Error(ErrorCode::invalid,
                  fmt::format("overlap_exchange: on rank {} an array has rows {} to {} and a halo of {}, the "
                              "first has rows {} to {} and a halo of {}; give all the same cut",
                              first.world().rank(), array.rows().begin, array.rows().end, array.halo(),
                              first.rows().begin, first.rows().end, first.halo()));
  const Device device = stream.device();
  const Stream side = device.create_stream(stream.priority());
  Event before = device.create_event();
  before.record(stream);
  if (!first.interior().empty()) body(first.interior());
  side.wait(before);
  exchange_halos(side, arrays);
  stream.wait(side);
  for (const Rows& border : first.borders())
    if (!border.empty()) body(border);
} catch (...) {
  detail::rethrow_as_error();
}

}  // namespace weir
