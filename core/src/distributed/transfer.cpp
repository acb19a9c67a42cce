// SPDX-License-Identifier: Apache-2.0
#include "distributed/transfer.hpp"

namespace weir::distributed {

Pieces pieces_of(const AnyDistributed& x) {
  Pieces pieces{x.local(), {}, [&x](std::uint32_t rank) { return x.box(rank); }};
  for (std::size_t d = 0; d < x.dimensions(); ++d) pieces.origin[d] = x.origin(d);
  return pieces;
}

Pieces pieces_on(std::uint32_t root, const AnyArrayView& whole, const AnyDistributed& like) {
  Box all;
  for (std::size_t d = 0; d < like.dimensions(); ++d) all[d] = {0, like.extent(d)};
  return {whole, {}, [=](std::uint32_t rank) {
            Box box = all;
            if (rank != root) box[0].end = 0;
            return box;
          }};
}

void transfer(const Communicator& world, const StreamRef& stream, const Pieces& from, const Pieces& to,
              const RankRange& among) {
  const std::uint32_t me = world.rank();
  const Box held = from.box(me), wanted = to.box(me);
  if (const Box kept = common(held, wanted); !kept.empty())
    copy_box(stream, to.memory, relative_to(to.origin, kept), from.memory, relative_to(from.origin, kept));
  BoxMessages messages(stream);
  for (std::uint32_t rank = among.begin; rank < among.end; ++rank) {
    if (rank == me) continue;
    const Box out = common(held, to.box(rank)), in = common(wanted, from.box(rank));
    if (!out.empty()) messages.send(from.memory, relative_to(from.origin, out), rank);
    if (!in.empty()) messages.receive(to.memory, relative_to(to.origin, in), rank);
  }
  messages.exchange(world);
}

}  // namespace weir::distributed
