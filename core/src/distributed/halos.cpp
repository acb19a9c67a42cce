// SPDX-License-Identifier: Apache-2.0
// Exchanges of halos. Each dimension is a step, from the last to the first. A step includes the halos of the
// dimensions after it, which are already filled, so corners arrive through the neighbours. This takes 2
// messages for each dimension: 4 instead of 8 in a plane, 6 instead of 26 in space. In this order, the halos
// of the first dimension are whole rows of local(), which need no packing.
#include <fmt/format.h>

#include "distributed/boxes.hpp"

namespace weir {

using distributed::BoxMessages;
using distributed::copy_box;

namespace {

/// The rank `step` places, 1 or -1, along dimension `d`, in a circle.
std::uint32_t neighbour(const AnyDistributed& x, std::size_t d, int step) {
  const std::uint32_t me = x.world().rank(), places = x.ranks(d), at = x.place(me, d);
  std::uint32_t apart = 1;  // distance between the ranks of places that follow each other
  for (std::size_t later = d + 1; later < x.dimensions(); ++later) apart *= x.ranks(later);
  return me - at * apart + (at + places + static_cast<std::uint32_t>(step)) % places * apart;
}

// The first message to a rank is for its low halo, which it receives first. The order matters with two places
// in a circle, where both messages of a rank go to the same one. With one place, the rank is its own
// neighbour and copies on its device.
void add_halos(const StreamRef& stream, BoxMessages& messages, const AnyDistributed& x, std::size_t d) {
  const Rows all = x.owned(d);
  const std::int64_t end = x.local().extent(d);
  const std::uint32_t before = neighbour(x, d, -1), after = neighbour(x, d, 1);
  const auto at = [&](std::int64_t first, std::int64_t last) {
    Box box = x.owned_box();
    box[d] = {first, last};
    for (std::size_t later = d + 1; later < x.dimensions(); ++later)
      box[later] = {0, x.local().extent(later)};
    return box;
  };
  if (x.ranks(d) == 1) {
    copy_box(stream, x.local(), at(0, all.begin), x.local(), at(all.end - x.halo(d), all.end));
    copy_box(stream, x.local(), at(all.end, end), x.local(), at(all.begin, all.begin + x.halo(d)));
    return;
  }
  const bool low = all.begin > 0, high = end > all.end;
  if (high) messages.send(x.local(), at(all.end - x.halo(d), all.end), after);
  if (low) messages.send(x.local(), at(all.begin, all.begin + x.halo(d)), before);
  if (low) messages.receive(x.local(), at(0, all.begin), before);
  if (high) messages.receive(x.local(), at(all.end, end), after);
}

/// Throws Error{invalid} unless all arrays have this rank's rows in common, and its indices along each
/// dimension that has halos.
void expect_the_same_pieces(DistributedList arrays) {
  if (arrays.empty())
    throw Error(ErrorCode::invalid, "overlap_exchange: no array is given; expected at least one");
  const AnyDistributed& first = arrays.front();
  const auto rows_text = [](const AnyDistributed& x, std::size_t d) {
    const Rows mine = x.rows(x.world().rank(), d);
    return fmt::format("{} {} to {} and a halo of {}", d == 0 ? "rows" : "indices", mine.begin, mine.end,
                       x.halo(d));
  };
  for (const AnyDistributed& x : arrays)
    for (std::size_t d = 0; d < max_rank; ++d) {
      const bool compared = d == 0 || x.has_halos(d) || first.has_halos(d);
      if (!compared || (x.origin(d) == first.origin(d) && x.owned(d) == first.owned(d) &&
                        x.interior(d) == first.interior(d)))
        continue;
      throw Error(
          ErrorCode::invalid,
          fmt::format("overlap_exchange: on rank {} an array has along dimension {} {}, the first has "
                      "{}; give all the same cuts",
                      x.world().rank(), d, rows_text(x, d), rows_text(first, d)));
    }
}

}  // namespace

/// The stream on which overlap_exchange() exchanges halos. It belongs to an array: a stream made for each
/// call would be a new one of the driver while the earlier ones are busy. It has the highest priority, so
/// that a communicator's kernels get multiprocessors from the interior: on two H200, 70 % of an exchange of 8
/// MiB over NCCL were hidden with it, and 6 % without.
class detail::SideStream {
 public:
  static StreamRef of(const AnyDistributed& x, const StreamRef& stream) {
    std::shared_ptr<SideStream>& side = x.side_stream_;
    if (!side || side->stream_.device() != stream.device())
      side = std::make_shared<SideStream>(stream.device());
    return side->stream_;
  }
  explicit SideStream(const Device& device) : stream_(device.create_stream(device.info().max_priority)) {}

 private:
  Stream stream_;
};

namespace {

/// Submits the exchange to a stream of its own, body(part) for `interior` at the same time, and body(part)
/// for `borders` after both. The stream of the exchange waits for the work before the interior only. Drivers
/// without host callbacks wait on the host in exchange(), so the interior is submitted first.
template <class Part, class Borders>
void run_overlapped(const StreamRef& stream, DistributedList arrays, const std::function<void(Part)>& body,
                    const std::remove_cvref_t<Part>& interior, const Borders& borders) {
  const StreamRef side = detail::SideStream::of(arrays.front(), stream);
  side.wait(stream);
  if (!interior.empty()) body(interior);
  exchange_halos(side, arrays);
  stream.wait(side);
  for (const auto& border : borders)
    if (!border.empty()) body(border);
}

}  // namespace

void AnyDistributed::exchange(const StreamRef& stream) const {
  exchange_halos(stream, {*this});
}

void exchange_halos(const StreamRef& stream, DistributedList arrays) try {
  for (const AnyDistributed& array : arrays)
    if (&array.world() != &arrays.front().get().world())
      throw Error(ErrorCode::invalid,
                  "exchange_halos: the arrays belong to different Communicators; exchange those of each on "
                  "their own");
  for (std::size_t d = max_rank; d-- > 0;) {
    BoxMessages messages(stream);
    for (const AnyDistributed& array : arrays)
      if (d < array.dimensions() && array.has_halos(d)) add_halos(stream, messages, array, d);
    if (!arrays.empty()) messages.exchange(arrays.front().get().world());
  }
} catch (...) {
  detail::rethrow_as_error();
}

void overlap_exchange(const StreamRef& stream,
                      std::initializer_list<std::reference_wrapper<const AnyDistributed>> arrays,
                      const std::function<void(Rows)>& body, std::int64_t width) try {
  const DistributedList list(arrays.begin(), arrays.size());
  expect_the_same_pieces(list);
  const AnyDistributed& first = list.front();
  for (const AnyDistributed& array : list)
    for (std::size_t d = 1; d < array.dimensions(); ++d)
      if (array.halo(d) != 0)  // on one rank too, as AnyDistributed::own()
        throw Error(
            ErrorCode::invalid,
            fmt::format("overlap_exchange: an array has a halo of {} along dimension {}, and the body "
                        "takes rows; expected halos along the first dimension only. Give a body that "
                        "takes a Box",
                        array.halo(d), d));
  run_overlapped<Rows>(stream, list, body, first.interior(0, width), first.borders(0, width));
} catch (...) {
  detail::rethrow_as_error();
}

void detail::overlap_exchange_of_boxes(
    const StreamRef& stream, std::initializer_list<std::reference_wrapper<const AnyDistributed>> arrays,
    const std::function<void(const Box&)>& body, std::int64_t width) try {
  const DistributedList list(arrays.begin(), arrays.size());
  expect_the_same_pieces(list);
  const AnyDistributed& first = list.front();
  run_overlapped<const Box&>(stream, list, body, first.interior_box(width), first.border_boxes(width));
} catch (...) {
  rethrow_as_error();
}

}  // namespace weir
