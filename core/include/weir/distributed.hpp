// SPDX-License-Identifier: Apache-2.0
// Arrays that are cut along their leading dimensions over the ranks of a group. Not part of <weir/weir.hpp>.
//
// The constructors of a Distributed and its functions that take a stream are collective: every rank must call
// them in the same order. The functions submit, as the calls of a Communicator do. After a failure of the
// group the next call of its Communicator throws Error{rank}. One thread of a rank at a time uses the
// Distributed arrays of a Communicator. Indices and extents count elements; rows are those of the leading
// dimension.
//
// The ranks form a grid, with ranks(d) places along dimension d; those of an array with one cut are a column.
// The last place runs fastest: in a grid of 2 x 3, rank 4 has the places 1 and 1.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <vector>
#include <weir/algorithms.hpp>
#include <weir/communicator.hpp>

namespace weir {

/// The rows, or the indices along another dimension, [begin, end).
struct Rows {
  std::int64_t begin = 0, end = 0;

  std::int64_t size() const noexcept { return end - begin; }
  bool empty() const noexcept { return end <= begin; }
  friend bool operator==(const Rows&, const Rows&) = default;
};

/// The elements whose index along each dimension d is in box[d]. Dimensions that an array does not have are
/// [0, 1).
struct Box {
  std::array<Rows, max_rank> ranges{Rows{0, 1}, Rows{0, 1}, Rows{0, 1}, Rows{0, 1}};

  const Rows& operator[](std::size_t d) const noexcept { return ranges[d]; }
  Rows& operator[](std::size_t d) noexcept { return ranges[d]; }
  /// Number of elements.
  std::int64_t size() const noexcept {
    std::int64_t size = 1;
    for (const Rows& range : ranges) size *= range.empty() ? 0 : range.size();
    return size;
  }
  bool empty() const noexcept { return size() == 0; }
  friend bool operator==(const Box&, const Box&) = default;
};

/// The cut of an array along one dimension. All ranks must give equal cuts.
struct Cut {
  std::vector<std::int64_t> rows{};  ///< of each place, in order; empty: as even as possible
  std::int64_t halo = 0;             ///< rows of each neighbour that a rank holds besides its own
  bool periodic = false;             ///< the last row is the neighbour of the first
  std::uint32_t ranks = 0;           ///< places along the dimension; 0: as many as `rows`, or chosen
};

/// The cuts of the leading dimensions, in order. The others are not cut and have no halos.
using CutList = std::span<const Cut>;

class AnyDistributed;
namespace detail {
class SideStream;
}
/// Arrays whose halos are exchanged together.
using DistributedList = std::span<const std::reference_wrapper<const AnyDistributed>>;

/// A Distributed whose element type and number of dimensions are known at run time only.
///
/// Along each cut dimension d, local() holds three parts in this order: halo(d) indices of the place before,
/// the rank's own indices, halo(d) indices of the place after. There is no halo at an edge of the array
/// unless the dimension is periodic. The memory of a rank is its piece and one number for each place along
/// each dimension.
class WEIR_API AnyDistributed {
 public:
  /// Waits on the host until all ranks have made it; the elements are undefined. `extents` are those of the
  /// whole array, 1 to 4. `cuts` has at most as many members; none is one even cut. Numbers of ranks that
  /// `cuts` does not give are chosen for the smallest halos. `world` must not move while the Distributed
  /// lives. Throws Error{invalid}, with the rank and its cuts, in these cases:
  /// - The ranks give different elements, extents or cuts.
  /// - The numbers of ranks do not multiply to world.size().
  /// - The sizes along a dimension do not add up to its extent.
  /// - A rank with a neighbour along a dimension has fewer indices than the halo.
  AnyDistributed(const Communicator& world, const StreamRef& stream, ElementType element,
                 std::span<const std::int64_t> extents, CutList cuts);
  /// Cut along the first dimension, over all ranks.
  AnyDistributed(const Communicator& world, const StreamRef& stream, ElementType element,
                 std::span<const std::int64_t> extents, const Cut& cut = {})
      : AnyDistributed(world, stream, element, extents, CutList(&cut, 1)) {}
  AnyDistributed(const Communicator& world, const StreamRef& stream, ElementType element,
                 std::span<const std::int64_t> extents, std::initializer_list<Cut> cuts)
      : AnyDistributed(world, stream, element, extents, CutList(cuts.begin(), cuts.size())) {}
  /// An array of other elements with the extents, cuts and halos of `like`; the elements are undefined. The
  /// ranks neither wait nor exchange messages, because `like` has been checked. Throws as Device::array.
  AnyDistributed(const StreamRef& stream, const AnyDistributed& like, ElementType element);

  const Communicator& world() const noexcept { return *world_; }
  const ElementType& element() const noexcept { return local_.element(); }
  /// Number of dimensions.
  std::size_t dimensions() const noexcept { return local_.rank(); }

  // The functions below take a dimension `d` below dimensions().

  /// Extent of the whole array.
  std::int64_t extent(std::size_t d) const noexcept { return sides_[d].starts.back(); }
  /// Places along the dimension; 1 if it is not cut.
  std::uint32_t ranks(std::size_t d) const noexcept { return sides_[d].ranks(); }
  /// The place of `rank`, below world().size(), along the dimension.
  std::uint32_t place(std::uint32_t rank, std::size_t d) const noexcept;
  std::int64_t halo(std::size_t d = 0) const noexcept { return sides_[d].halo; }
  bool periodic(std::size_t d = 0) const noexcept { return sides_[d].periodic; }
  /// Whether a rank has halos along the dimension.
  bool has_halos(std::size_t d = 0) const noexcept { return halo(d) != 0 && (periodic(d) || ranks(d) > 1); }

  /// The indices of the whole array that `rank`, below world().size(), owns along the dimension.
  Rows rows(std::uint32_t rank, std::size_t d = 0) const noexcept {
    const std::uint32_t at = place(rank, d);
    return {sides_[d].starts[at], sides_[d].starts[at + 1]};
  }
  /// The rows of the whole array that this rank owns; rows().begin is the global index of its first row.
  Rows rows() const noexcept { return rows(world_->rank()); }
  /// This rank's own indices of local().
  Rows owned(std::size_t d = 0) const noexcept {
    return {sides_[d].low, sides_[d].low + rows(world_->rank(), d).size()};
  }
  /// The global index of index 0 of local(): row i of local() is row origin() + i of the whole array.
  /// Negative at the first place of a periodic dimension.
  std::int64_t origin(std::size_t d = 0) const noexcept {
    return rows(world_->rank(), d).begin - sides_[d].low;
  }
  /// The owned indices and the nearest `width` of each halo, 0 to halo(d). A step that computes them needs no
  /// exchange after it for the next one. Nothing is added where this rank has no halo. Throws Error{invalid}
  /// for another width.
  Rows extended(std::size_t d, std::int64_t width) const;
  /// Owned indices of local() from which halo(d) - `width` indices in both directions reach no halo of the
  /// dimension. Throws as extended().
  Rows interior(std::size_t d = 0, std::int64_t width = 0) const;
  /// The other indices of extended(d, width): before and after the interior. Either may be empty.
  std::array<Rows, 2> borders(std::size_t d = 0, std::int64_t width = 0) const;

  // The same for all dimensions together.

  /// The part of the whole array that `rank`, below world().size(), owns.
  Box box(std::uint32_t rank) const noexcept;
  /// The elements of local() that this rank owns.
  Box owned_box() const noexcept;
  /// extended(d, width) along each dimension with a halo(d), owned(d) along the others.
  Box extended_box(std::int64_t width) const;
  /// Owned elements of local() from which halo(d) - `width` indices along every dimension d with a halo(d)
  /// reach no halo.
  Box interior_box(std::int64_t width = 0) const;
  /// The other elements of extended_box(width), as boxes that share none: at most two for each dimension that
  /// has halos.
  std::vector<Box> border_boxes(std::int64_t width = 0) const;

  /// This rank's piece with its halos.
  const AnyArrayView& local() const noexcept { return local_; }
  /// The elements of local() that this rank owns. They are contiguous only if halos are along the first
  /// dimension. Throws Error{invalid} if another dimension has a halo, on any number of ranks; see
  /// copy_own_to().
  AnyArrayView own() const;
  /// Submits: `elements`, as many as this rank owns and of their type, become those, in row-major order.
  void copy_own_to(const StreamRef& stream, const AnyArrayView& elements) const;
  /// Submits: the owned elements become `elements`, as in copy_own_to(). Halos do not change.
  void copy_own_from(const StreamRef& stream, const AnyArrayView& elements) const;

  /// Submits: the halos become the elements that the neighbours own, those at corners included. This takes
  /// one step for each dimension with halos, the last dimension first. A step has at most two messages in
  /// each direction, on any number of ranks. A rank that is its own neighbour copies on its device.
  void exchange(const StreamRef& stream) const;

  /// Submits: `whole`, on the rank `root`, becomes the whole array. Other ranks may pass an empty view.
  /// Throws Error{invalid} on `root` if `whole` has another element type or other extents.
  void gather(const StreamRef& stream, const AnyArrayView& whole, std::uint32_t root) const;
  /// Submits: the owned elements become those of `whole` on the rank `root`. As gather(). Halos do not
  /// change.
  void scatter(const StreamRef& stream, const AnyArrayView& whole, std::uint32_t root) const;
  /// Submits: the owned elements become those of `other`, an array of the same extents in any cuts over the
  /// same group. Only ranks whose pieces meet exchange messages. Halos do not change.
  void copy_from(const StreamRef& stream, const AnyDistributed& other) const;

 private:
  /// One dimension: its cut, and the widths of this rank's halos before and after its own indices.
  struct Side {
    std::vector<std::int64_t> starts{0, 1};  // the first index of each place, then the extent
    std::int64_t halo = 0;
    bool periodic = false;
    std::int64_t low = 0, high = 0;

    std::uint32_t ranks() const noexcept { return static_cast<std::uint32_t>(starts.size() - 1); }
  };

  void check_width(std::int64_t width, std::size_t d) const;
  /// `width` along dimensions that have a halo(d).
  std::int64_t width_along(std::size_t d, std::int64_t width) const noexcept { return halo(d) ? width : 0; }
  void check_whole(const char* function, const AnyArrayView& whole, std::uint32_t root) const;
  void check_own(const char* function, const AnyArrayView& elements) const;

  friend class detail::SideStream;

  const Communicator* world_;
  std::array<Side, max_rank> sides_;
  AnyArray local_;
  mutable std::shared_ptr<detail::SideStream> side_stream_;  ///< of overlap_exchange(), made on first use
};

namespace detail {
/// `like`, if it has `dimensions` dimensions.
WEIR_API const AnyDistributed& expect_dimensions(const AnyDistributed& like, std::size_t dimensions);
}  // namespace detail

/// An array of T with `Rank` dimensions, cut along leading ones. Movable; its memory is freed as that of an
/// Array.
template <KernelElement T, std::size_t Rank = 1>
class Distributed : public AnyDistributed {
  static_assert(Rank >= 1 && Rank <= max_rank,
                "a Distributed has 1 to 4 dimensions, because it is cut along the first");
  using Extents = std::array<std::int64_t, Rank>;

 public:
  /// Cut along the first dimension, over all ranks.
  Distributed(const Communicator& world, const StreamRef& stream, const Extents& extents, const Cut& cut = {})
      : AnyDistributed(world, stream, element_type<T>, extents, cut) {}
  /// Cut along as many leading dimensions as there are `cuts`: {{.halo = 1}, {.halo = 1, .periodic = true}}.
  Distributed(const Communicator& world, const StreamRef& stream, const Extents& extents,
              std::initializer_list<Cut> cuts)
      : AnyDistributed(world, stream, element_type<T>, extents, CutList(cuts.begin(), cuts.size())) {}
  Distributed(const Communicator& world, const StreamRef& stream, const Extents& extents, CutList cuts)
      : AnyDistributed(world, stream, element_type<T>, extents, cuts) {}
  /// With the extents, cuts and halos of `like`, without communication. Throws Error{invalid} if `like` has
  /// another number of dimensions.
  Distributed(const StreamRef& stream, const AnyDistributed& like)
      : AnyDistributed(stream, detail::expect_dimensions(like, Rank), element_type<T>) {}

  /// This rank's piece with its halos.
  ArrayView<T, Rank> local() const noexcept { return Local(AnyDistributed::local()); }
  /// This rank's own elements. Throws as AnyDistributed::own().
  ArrayView<T, Rank> own() const { return Local(AnyDistributed::own()); }

 private:
  struct Local : ArrayView<T, Rank> {
    explicit Local(const AnyArrayView& view) noexcept : ArrayView<T, Rank>(view) {}
  };
};

/// Submits: as exchange() of each of `arrays`, but as one step for each dimension, whose messages do not wait
/// for each other. The arrays may have different elements, cuts and halos. Throws Error{invalid} unless all
/// have the same Communicator. Does nothing without arrays.
WEIR_API void exchange_halos(const StreamRef& stream, DistributedList arrays);
inline void exchange_halos(const StreamRef& stream,
                           std::initializer_list<std::reference_wrapper<const AnyDistributed>> arrays) {
  exchange_halos(stream, DistributedList(arrays.begin(), arrays.size()));
}

/// Submits the exchange of the halos of `arrays`, as exchange_halos() does, concurrently with body(rows) for
/// their interior. After both it submits body(rows) for each border that is not empty. `body` submits work to
/// `stream` that writes the given rows of other arrays. The work may read rows of `arrays` up to `halo` away,
/// and must not write `arrays`.
///
/// With a `width`, the rows are those of extended(0, width), and the work may read rows up to `halo` -
/// `width` away. So a step of a stencil with a radius of 1 writes all rows that are right without an exchange
/// if the width is halo - 1. The next step then needs no exchange and writes extended(0, halo - 2), and so
/// on.
///
/// Throws Error{invalid} unless all arrays have equal pieces and halos on this rank, and for a width as
/// extended(). It also throws if a dimension other than the first has a halo, because its borders are not
/// rows; use a `body` that takes a Box.
WEIR_API void overlap_exchange(const StreamRef& stream,
                               std::initializer_list<std::reference_wrapper<const AnyDistributed>> arrays,
                               const std::function<void(Rows)>& body, std::int64_t width = 0);

namespace detail {
WEIR_API void overlap_exchange_of_boxes(
    const StreamRef& stream, std::initializer_list<std::reference_wrapper<const AnyDistributed>> arrays,
    const std::function<void(const Box&)>& body, std::int64_t width);
}

/// The same for arrays in any cuts: body(box) for interior_box(width), then for each of border_boxes(width).
template <class Body>
requires(std::invocable<Body&, const Box&> && !std::invocable<Body&, Rows>) void overlap_exchange(
    const StreamRef& stream, std::initializer_list<std::reference_wrapper<const AnyDistributed>> arrays,
    Body&& body, std::int64_t width = 0) {
  detail::overlap_exchange_of_boxes(stream, arrays, std::ref(body), width);
}

/// How reduce() combines elements.
enum class ReduceOrder : std::uint8_t {
  prescribed,  ///< that of a reduction in a kernel over the whole array: the same bits in any cut
  fast  ///< each rank's elements first, then all_reduce: the bits depend on the cut and the communicator
};

namespace detail {
WEIR_API void reduce(const StreamRef& stream, const AnyDistributed& x, const AnyArrayView& result,
                     Combine combine, ReduceOrder order);
}

/// Submits: `result`, of one element, becomes the combination of all elements of `x`, on every rank with the
/// same bits. In the prescribed order a rank receives up to one chunk of elements from the ranks after it.
/// All ranks reduce the results of all chunks, at most 32768 numbers (sdk/docs/ir.md, "The order of a
/// reduction"). The device writes and reads another sixteenth of the elements. If dimensions other than the
/// first are cut, each rank first exchanges elements with the ranks of its rows, so that each has whole rows.
/// For a power of two of such ranks this takes log2 of their number in messages, each of half the rank's
/// elements.
template <KernelNumber T, std::size_t Rank>
void reduce(const StreamRef& stream, const Distributed<T, Rank>& x, const detail::Same<T>& result,
            Combine combine = Combine::sum, ReduceOrder order = ReduceOrder::prescribed) {
  detail::reduce(stream, x, result, combine, order);
}

}  // namespace weir
