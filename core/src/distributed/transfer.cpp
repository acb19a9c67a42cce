// SPDX-License-Identifier: Apache-2.0
#include "distributed/transfer.hpp"

#include <algorithm>

namespace weir::distributed {
namespace {

/// Gives access to the protected parts of a view.
struct Open : AnyArrayView {
  explicit Open(const AnyArrayView& view) : AnyArrayView(view) {}
  using AnyArrayView::flattened;
  using AnyArrayView::sliced;
};

Rows common(const Rows& a, const Rows& b) {
  return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
}

/// The part of `view`, which holds the rows `held`, with the rows `wanted`.
AnyArrayView part_of(const AnyArrayView& view, const Rows& held, const Rows& wanted) {
  return rows_of(view, {wanted.begin - held.begin, wanted.end - held.begin});
}

}  // namespace

AnyArrayView rows_of(const AnyArrayView& view, const Rows& rows) {
  return Open(view).sliced(rows.begin, rows.end);
}

AnyArrayView flat(const AnyArrayView& view) {
  return Open(view).flattened();
}

void transfer(const Communicator& world, const StreamRef& stream, const AnyArrayView& from,
              std::span<const Rows> from_rows, const AnyArrayView& to, std::span<const Rows> to_rows) {
  const std::uint32_t me = world.rank();
  std::vector<Message> sends, receives;
  for (std::uint32_t rank = 0; rank < world.size(); ++rank) {
    const Rows out = common(from_rows[me], to_rows[rank]), in = common(to_rows[me], from_rows[rank]);
    if (rank == me) {
      if (!out.empty())
        part_of(to, to_rows[me], out).copy_from_array(stream, part_of(from, from_rows[me], out));
      continue;
    }
    if (!out.empty()) sends.push_back({part_of(from, from_rows[me], out), rank});
    if (!in.empty()) receives.push_back({part_of(to, to_rows[me], in), rank});
  }
  std::erase_if(sends, [](const Message& message) { return message.array.empty(); });
  std::erase_if(receives, [](const Message& message) { return message.array.empty(); });
  if (!sends.empty() || !receives.empty()) world.exchange(stream, sends, receives);
}

}  // namespace weir::distributed
