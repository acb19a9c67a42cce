// SPDX-License-Identifier: Apache-2.0
// Arrays that are cut along their leading dimension over the ranks of a group. Not part of <weir/weir.hpp>.
//
// Making a Distributed and calling its functions that take a stream is collective: every rank does it in the
// same order. The functions submit, as the calls of a Communicator do; after a failure of the group the next
// call of its Communicator throws Error{rank}. One thread of a rank at a time uses the Distributed arrays of
// a Communicator. Indices and extents count elements; rows are those of the leading dimension.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <vector>
#include <weir/algorithms.hpp>
#include <weir/communicator.hpp>

namespace weir {

/// The rows [begin, end).
struct Rows {
  std::int64_t begin = 0, end = 0;

  std::int64_t size() const noexcept { return end - begin; }
  bool empty() const noexcept { return end <= begin; }
  friend bool operator==(const Rows&, const Rows&) = default;
};

/// How an array is cut. All ranks give the same.
struct Cut {
  std::vector<std::int64_t> rows{};  ///< of each rank, in the order of ranks; empty: as even as possible
  std::int64_t halo = 0;             ///< rows of each neighbour that a rank holds besides its own
  bool periodic = false;             ///< the last row is the neighbour of the first
};

class AnyDistributed;
/// Arrays whose halos travel together.
using DistributedList = std::span<const std::reference_wrapper<const AnyDistributed>>;

/// A Distributed whose element type and number of dimensions are known at run time only.
///
/// local() of a rank holds, in this order: `halo` rows of the rank before, the rank's own rows, `halo` rows
/// of the rank after. There is no halo at an edge of the array unless it is periodic. The memory of a rank is
/// its piece and one number for each rank.
class WEIR_API AnyDistributed {
 public:
  /// Waits on the host until all ranks have made it; the elements are undefined. `extents` are those of the
  /// whole array, 1 to 4. `world` must stay where it is while the Distributed lives.
  /// Throws Error{invalid}, with the rank and its cut, if the ranks give different elements, extents or cuts,
  /// if the sizes do not add up to extents[0], or if a rank with a neighbour has fewer rows than the halo.
  AnyDistributed(const Communicator& world, const StreamRef& stream, ElementType element,
                 std::span<const std::int64_t> extents, const Cut& cut = {});
  /// An array of other elements with the extents, cut and halos of `like`; the elements are undefined. The
  /// ranks neither wait nor exchange messages, because `like` has been checked. Throws as Device::array.
  AnyDistributed(const StreamRef& stream, const AnyDistributed& like, ElementType element);

  const Communicator& world() const noexcept { return *world_; }
  const ElementType& element() const noexcept { return local_.element(); }
  /// Number of dimensions.
  std::size_t dimensions() const noexcept { return local_.rank(); }
  /// Extent of the whole array along dimension `d`, below dimensions().
  std::int64_t extent(std::size_t d) const noexcept { return d == 0 ? starts_.back() : local_.extent(d); }
  std::int64_t halo() const noexcept { return halo_; }
  bool periodic() const noexcept { return periodic_; }

  /// The rows of the whole array that `rank`, below world().size(), owns.
  Rows rows(std::uint32_t rank) const noexcept { return {starts_[rank], starts_[rank + 1]}; }
  /// The rows of the whole array that this rank owns; rows().begin is the global index of its first row.
  Rows rows() const noexcept { return rows(world_->rank()); }
  /// The same rows as indices of local().
  Rows owned() const noexcept { return {low_, low_ + rows().size()}; }
  /// The global index of row 0 of local(): row i of local() is row origin() + i of the whole array. Negative
  /// in the first rank of a periodic array.
  std::int64_t origin() const noexcept { return rows().begin - low_; }
  /// Rows of local(), owned by this rank, from which `halo` rows in both directions reach no halo.
  Rows interior() const noexcept;
  /// The other owned rows: before and after the interior. Either may be empty.
  std::array<Rows, 2> borders() const noexcept;

  /// This rank's piece with its halos.
  const AnyArrayView& local() const noexcept { return local_; }
  /// The rows of local() that this rank owns.
  AnyArrayView own() const;

  /// Submits: the halos become the rows that the neighbours own. One step of at most two messages in each
  /// direction, whatever the number of ranks.
  void exchange(const StreamRef& stream) const;

  /// Submits: `whole`, on the rank `root`, becomes the whole array. Other ranks may pass an empty view.
  /// Throws Error{invalid} on `root` if `whole` has another element type or other extents.
  void gather(const StreamRef& stream, const AnyArrayView& whole, std::uint32_t root) const;
  /// Submits: the owned rows become those of `whole` on the rank `root`. As gather(). Halos do not change.
  void scatter(const StreamRef& stream, const AnyArrayView& whole, std::uint32_t root) const;
  /// Submits: the owned rows become those of `other`, an array of the same extents in any cut over the same
  /// group. Only ranks whose rows meet exchange messages. Halos do not change.
  void copy_from(const StreamRef& stream, const AnyDistributed& other) const;

 private:
  friend WEIR_API void exchange_halos(const StreamRef& stream, DistributedList arrays);
  void append_halos(std::vector<Message>& sends, std::vector<Message>& receives) const;
  void check_whole(const char* function, const AnyArrayView& whole, std::uint32_t root) const;
  std::vector<Rows> pieces() const;
  std::vector<Rows> on_root(std::uint32_t root) const;

  const Communicator* world_;
  std::vector<std::int64_t> starts_;  // first row of each rank, then the number of rows
  std::int64_t halo_;
  bool periodic_;
  std::int64_t low_ = 0, high_ = 0;  // rows of this rank's halos
  AnyArray local_;
};

namespace detail {
/// `like`, if it has `dimensions` dimensions.
WEIR_API const AnyDistributed& expect_dimensions(const AnyDistributed& like, std::size_t dimensions);
}  // namespace detail

/// An array of T with `Rank` dimensions, cut along the first. Movable; its memory is freed as that of an
/// Array.
template <KernelElement T, std::size_t Rank = 1>
class Distributed : public AnyDistributed {
  static_assert(Rank >= 1 && Rank <= max_rank,
                "a Distributed has 1 to 4 dimensions, because it is cut along the first");

 public:
  Distributed(const Communicator& world, const StreamRef& stream,
              const std::array<std::int64_t, Rank>& extents, const Cut& cut = {})
      : AnyDistributed(world, stream, element_type<T>, extents, cut) {}
  /// With the extents, cut and halos of `like`, without communication. Throws Error{invalid} if `like` has
  /// another number of dimensions.
  Distributed(const StreamRef& stream, const AnyDistributed& like)
      : AnyDistributed(stream, detail::expect_dimensions(like, Rank), element_type<T>) {}

  /// This rank's piece with its halos.
  ArrayView<T, Rank> local() const noexcept { return Local(AnyDistributed::local()); }
  /// This rank's own rows.
  ArrayView<T, Rank> own() const { return local().slice(owned().begin, owned().end); }

 private:
  struct Local : ArrayView<T, Rank> {
    explicit Local(const AnyArrayView& view) noexcept : ArrayView<T, Rank>(view) {}
  };
};

/// Submits: as exchange() of each of `arrays`, but as one step, whose messages do not wait for each other.
/// The arrays may have different elements, cuts and halos. Throws Error{invalid} unless all have the same
/// Communicator; no array is a step of nothing.
WEIR_API void exchange_halos(const StreamRef& stream, DistributedList arrays);
inline void exchange_halos(const StreamRef& stream,
                           std::initializer_list<std::reference_wrapper<const AnyDistributed>> arrays) {
  exchange_halos(stream, DistributedList(arrays.begin(), arrays.size()));
}

/// Submits the exchange of the halos of `arrays`, as one step, and, at the same time, body(rows) for their
/// interior; then, after both, body(rows) for each border that is not empty. `body` submits to `stream` work
/// that writes the given rows of other arrays and reads rows of `arrays` up to `halo` away; it does not write
/// `arrays`. Throws Error{invalid} unless all arrays have this rank's rows and halos in common.
WEIR_API void overlap_exchange(const StreamRef& stream,
                               std::initializer_list<std::reference_wrapper<const AnyDistributed>> arrays,
                               const std::function<void(Rows)>& body);

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
/// same bits. In the prescribed order a rank receives up to one chunk of elements from the ranks after it,
/// and all ranks reduce the results of all chunks, at most 32768 numbers (sdk/docs/ir.md, "The order of a
/// reduction"); the device writes and reads another sixteenth of the elements.
template <KernelNumber T, std::size_t Rank>
void reduce(const StreamRef& stream, const Distributed<T, Rank>& x, const detail::Same<T>& result,
            Combine combine = Combine::sum, ReduceOrder order = ReduceOrder::prescribed) {
  detail::reduce(stream, x, result, combine, order);
}

}  // namespace weir
