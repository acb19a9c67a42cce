// SPDX-License-Identifier: Apache-2.0
// Boxes of an array in device memory: their places, copies of them, messages with them, and transfers of
// parts of an array between ranks.
#pragma once

#include <functional>
#include <optional>
#include <weir/distributed.hpp>

namespace weir::distributed {

/// One number for each dimension.
using Indices = std::array<std::int64_t, max_rank>;

/// The elements that are in both.
Box common(const Box& a, const Box& b);
/// The indices of `box` less `origin`.
Box relative_to(const Indices& origin, const Box& box);
/// All elements of an array with the extents of `view`.
Box all_of(const AnyArrayView& view);

/// Rows [rows.begin, rows.end) of `view`.
AnyArrayView rows_of(const AnyArrayView& view, const Rows& rows);
/// The elements of `view` as one dimension.
AnyArrayView flat(const AnyArrayView& view);
/// The elements of `view` in `at` as an array of its own; nothing if other elements are between them.
std::optional<AnyArrayView> contiguous(const AnyArrayView& view, const Box& at);
/// An array for the elements of a box of `view`.
AnyArray array_for(const StreamRef& stream, const AnyArrayView& view, const Box& box);

/// The elements of an array that this rank owns, as one dimension.
struct OwnElements {
  AnyArray packed;    ///< empty if the owned elements are contiguous
  AnyArrayView mine;  ///< in `packed`, or in the array
};
/// Submits the packing, if there is one.
OwnElements own_elements(const StreamRef& stream, const AnyDistributed& x);

std::vector<std::int64_t> extents_of(const Box& box, std::size_t dimensions);
/// Submits: the elements of `to` in `to_at` become those of `from` in `from_at`, a box of the same shape. The
/// arrays have the same element type, and the boxes share no element.
void copy_box(const StreamRef& stream, const AnyArrayView& to, const Box& to_at, const AnyArrayView& from,
              const Box& from_at);

/// Messages with boxes. A box that is not contiguous is packed into separate memory, because a message is
/// contiguous. Empty boxes are no messages.
class BoxMessages {
 public:
  explicit BoxMessages(const StreamRef& stream) : stream_(stream) {}

  /// The elements of `from` in `at` go to `rank`. Submits their packing.
  void send(const AnyArrayView& from, const Box& at, std::uint32_t rank);
  /// Those of `to` in `at` come from `rank`.
  void receive(const AnyArrayView& to, const Box& at, std::uint32_t rank);
  /// Submits all messages as one step, then the unpacking.
  void exchange(const Communicator& world);

 private:
  struct Unpacking {
    Unpacking(const AnyArrayView& array, const Box& box, AnyArray memory)
        : to(array), at(box), packed(std::move(memory)) {}
    AnyArrayView to;
    Box at;
    AnyArray packed;
  };
  StreamRef stream_;
  std::vector<Message> sends_, receives_;
  std::vector<AnyArray> packed_;
  std::vector<Unpacking> unpackings_;
};

/// An array of which each rank holds a box, and this rank's memory of it.
struct Pieces {
  AnyArrayView memory;                      ///< not read where this rank's box is empty
  Indices origin{};                         ///< the index in the whole array of the first element of `memory`
  std::function<Box(std::uint32_t)> box{};  ///< of a rank, in indices of the whole array
};
/// The elements that each rank owns.
Pieces pieces_of(const AnyDistributed& x);
/// The whole array on one rank.
Pieces pieces_on(std::uint32_t root, const AnyArrayView& whole, const AnyDistributed& like);

/// Ranks [begin, end).
struct RankRange {
  std::uint32_t begin, end;
};

/// Submits: `to` receives the elements that the ranks hold in `from`. No two ranks hold an element in `from`;
/// elements that none holds do not change. A rank's own elements are copied on its device. The boxes of ranks
/// outside `among`, which contains this rank, do not meet its own.
void transfer(const Communicator& world, const StreamRef& stream, const Pieces& from, const Pieces& to,
              const RankRange& among);

}  // namespace weir::distributed
