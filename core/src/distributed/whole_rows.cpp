// SPDX-License-Identifier: Apache-2.0
#include "distributed/whole_rows.hpp"

#include <memory>

namespace weir::distributed {
namespace {

std::uint32_t smallest_factor(std::uint32_t number) {
  for (std::uint32_t factor = 2; factor * factor <= number; ++factor)
    if (number % factor == 0) return factor;
  return number;
}

/// The first index of part `part` of `parts`, which are as even as possible. Parts of parts are parts:
/// part p of n begins where part p * m of n * m begins.
std::int64_t split(const Rows& range, std::int64_t part, std::int64_t parts) {
  return range.begin + range.size() * part / parts;
}

/// The parts of the rows after the step from `parts`, in a line of `line` ranks.
std::uint32_t next_parts(std::uint32_t line, std::uint32_t parts) {
  return parts * smallest_factor(line / parts);
}

/// A place in a line of ranks of which `rows` share the rows and the others the columns.
struct Share {
  std::uint32_t row, column;
};

/// The share of place `place` in a line of `line` ranks, after the factors of `line` up to the product `rows`
/// were moved from the columns to the rows.
Share share_of(std::uint32_t place, std::uint32_t line, std::uint32_t rows) {
  Share share{0, place};
  for (std::uint32_t left = line; line / left < rows;) {
    const std::uint32_t factor = smallest_factor(left);
    share = {share.row * factor + share.column % factor, share.column / factor};
    left /= factor;
  }
  return share;
}

/// Layouts of an array on the way from its cuts to whole rows. Dimensions after `d` are whole. The line of a
/// rank contains the ranks at the same places along the dimensions before `d`; its ranks follow each other.
class Layouts {
 public:
  explicit Layouts(const AnyDistributed& x) : x_(x) {}

  /// Ranks in a line.
  std::uint32_t line(std::size_t d) const {
    std::uint32_t ranks = 1;
    for (; d < x_.dimensions(); ++d) ranks *= x_.ranks(d);
    return ranks;
  }

  /// Dimension `d` in line(d) / parts groups of places, the rows of dimension d - 1 in `parts`. Lines of
  /// irregular cuts differ in rows: those with fewer than `parts` rows of dimension 0 share single rows.
  Box box(std::uint32_t rank, std::size_t d, std::uint32_t parts) const {
    if (d == 1 && shares_rows(rank, parts)) return shared_row(rank);
    Box box = x_.box(rank);
    const Share share = share_of(place(rank, d), line(d), parts);
    box[d - 1] = {split(box[d - 1], share.row, parts), split(box[d - 1], share.row + 1, parts)};
    box[d] = {start(d, share.column * parts), start(d, (share.column + 1) * parts)};
    for (std::size_t later = d + 1; later < x_.dimensions(); ++later) box[later] = {0, x_.extent(later)};
    return box;
  }

  bool shares_rows(std::uint32_t rank, std::uint32_t parts) const { return parts > x_.rows(rank).size(); }

 private:
  /// A part of a single row of dimension 0. It begins near the rank's box of the last step with whole rows.
  Box shared_row(std::uint32_t rank) const {
    const std::int64_t ranks = line(1);
    std::uint32_t parts = 1;
    for (std::uint32_t next = next_parts(line(1), 1); !shares_rows(rank, next);
         next = next_parts(line(1), next))
      parts = next;
    const Share share = share_of(place(rank, 1), line(1), parts);
    const std::int64_t turn = share.row * (ranks / parts) + share.column;
    const Rows rows = x_.rows(rank), columns{0, x_.extent(1)};
    Box box;
    for (std::size_t d = 1; d < x_.dimensions(); ++d) box[d] = {0, x_.extent(d)};
    if (rows.empty()) {
      box[0] = {rows.begin, rows.begin};
      return box;
    }
    const std::int64_t row = turn * rows.size() / ranks;
    const auto first_of = [&](std::int64_t r) { return (r * ranks + rows.size() - 1) / rows.size(); };
    const std::int64_t first = first_of(row), count = first_of(row + 1) - first;
    box[0] = {rows.begin + row, rows.begin + row + 1};
    box[1] = {split(columns, turn - first, count), split(columns, turn - first + 1, count)};
    return box;
  }

  // The places along dimension d are those of its cut, each divided by the line along the next dimension.
  std::uint32_t place(std::uint32_t rank, std::size_t d) const {
    const std::uint32_t own = x_.place(rank, d);
    if (d + 1 >= x_.dimensions()) return own;
    const std::uint32_t next = line(d + 1);
    return own * next + share_of(place(rank, d + 1), next, next).row;
  }

  /// The first index of a place along dimension `d`.
  std::int64_t start(std::size_t d, std::uint32_t place) const {
    const std::uint32_t next = line(d + 1), own = place / next;
    if (own == x_.ranks(d)) return x_.extent(d);
    const std::uint32_t rank = own * next;  // with that place along d
    return split(x_.rows(rank, d), place % next, next);
  }

  const AnyDistributed& x_;
};

/// The elements of a box as consecutive ones of the whole array.
Rows numbers_of(const AnyDistributed& x, const Box& box) {
  if (box.empty()) return {0, 0};
  std::int64_t first = 0;
  for (std::size_t d = 0; d < x.dimensions(); ++d) first = first * x.extent(d) + box[d].begin;
  return {first, first + box.size()};
}

/// Moves the pieces of an array from layout to layout.
class Moves {
 public:
  Moves(const StreamRef& stream, const AnyDistributed& x) : stream_(stream), x_(x), now_(pieces_of(x)) {}

  /// Submits the step to boxes that meet only those of the `line` ranks around this one.
  void to(std::function<Box(std::uint32_t)> box, std::uint32_t line) {
    const std::uint32_t me = x_.world().rank(), first = me - me % line;
    const Box mine = box(me);
    AnyArray memory = array_for(stream_, x_.local(), mine);
    Pieces next{memory, {}, std::move(box)};
    for (std::size_t d = 0; d < max_rank; ++d) next.origin[d] = mine[d].begin;
    transfer(x_.world(), stream_, now_, next, {first, first + line});
    memory_ = std::move(memory);
    now_ = std::move(next);
  }

  /// `box` is that of any rank after its line's last step.
  Elements result(std::function<Box(std::uint32_t)> box) && {
    const AnyArrayView mine = flat(memory_);
    return {std::move(memory_), mine,
            [&x = x_, box = std::move(box)](std::uint32_t rank) { return numbers_of(x, box(rank)); }};
  }

 private:
  StreamRef stream_;
  const AnyDistributed& x_;
  AnyArray memory_;
  Pieces now_;
};

}  // namespace

Elements consecutive_elements(const StreamRef& stream, const AnyDistributed& x) {
  const auto layouts = std::make_shared<Layouts>(x);
  if (layouts->line(1) == 1) {
    OwnElements own = own_elements(stream, x);
    return {std::move(own.packed), own.mine, [&x](std::uint32_t rank) { return numbers_of(x, x.box(rank)); }};
  }
  Moves moves(stream, x);
  for (std::size_t d = x.dimensions() - 1; d > 0; --d) {
    const std::uint32_t line = layouts->line(d);
    bool shared = false;  // rows are, which is the last step of this line
    for (std::uint32_t parts = 1; parts < line && !shared;) {
      parts = next_parts(line, parts);
      moves.to([=](std::uint32_t rank) { return layouts->box(rank, d, parts); }, line);
      shared = d == 1 && layouts->shares_rows(x.world().rank(), parts);
    }
  }
  return std::move(moves).result([=](std::uint32_t rank) { return layouts->box(rank, 1, layouts->line(1)); });
}

}  // namespace weir::distributed
