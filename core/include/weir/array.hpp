// SPDX-License-Identifier: Apache-2.0
// Arrays in device memory: an owner, cheap views, and a view whose type is known at run time only.
//
// Threads: every const function may be called from any thread. An object may be assigned, moved or destroyed
// by one thread while no other thread uses it. Errors: functions that access the memory throw Error{invalid}
// when it was freed or when the stream is of another device. They also throw the failure of earlier work on
// the stream. Making an array throws Error{out_of_memory}.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>
#include <weir/device.hpp>
#include <weir/element.hpp>
#include <weir/error.hpp>
#include <weir/export.hpp>
#include <weir/stream.hpp>

namespace weir {

class AnyArrayView;

namespace detail {
struct MemoryBlock;  // a piece of the device's memory pool

/// Throws Error{invalid} unless the view is of that element type and rank. Returns it.
WEIR_API const AnyArrayView& expect_type(const AnyArrayView& view, ElementType element, std::size_t rank);

/// A temporary range that owns its elements, which an asynchronous copy would outlive.
template <class R>
concept OwningTemporary = !std::is_lvalue_reference_v<R> &&
                          !std::ranges::enable_borrowed_range<std::remove_cv_t<R>> && requires(R & range) {
  range.data();
  range.size();
};

template <class T>
std::vector<T> host_values(std::size_t count) try {
  return std::vector<T>(count);
} catch (...) {
  rethrow_as_error();
}
}  // namespace detail

/// A view of an array whose element type and rank are known at run time: cheap, copyable, owns nothing.
/// Functions that reach the memory throw Error{invalid} when it was freed.
///
/// Elements are contiguous, the last index runs fastest. Only slices along other dimensions than the first,
/// permuted views and tensors of other libraries may be strided: their elements have equal distances along
/// each dimension. Kernels, copies and fills take both kinds, and so do slices and exports of tensors. What
/// takes contiguous arrays only throws Error{unsupported}: graph copies and fills, algorithms, code objects
/// of other compilers, communicators.
class WEIR_API AnyArrayView {
 public:
  AnyArrayView() = default;

  const ElementType& element() const noexcept { return element_; }
  std::size_t rank() const noexcept { return rank_; }
  /// Number of elements along dimension `d`, below rank().
  std::int64_t extent(std::size_t d) const noexcept { return extents_[d]; }
  /// Number of elements.
  std::size_t size() const noexcept { return size_; }
  std::size_t size_bytes() const noexcept { return size_ * element_.size(); }
  bool empty() const noexcept { return size_ == 0; }
  bool contiguous() const noexcept { return !strided_; }
  /// The distance between neighbours along dimension `d`, below rank(), in scalars: the components of an
  /// element are adjacent. Negative where the index runs against the addresses.
  std::int64_t stride(std::size_t d) const noexcept;

  bool alive() const noexcept;
  Device device() const;
  /// Of the element with all indices 0. Throws Error{unsupported} if the driver has no addresses. The caller
  /// must order its own accesses.
  std::uint64_t device_address() const;

  // Copies. Those without `async` return when host memory may be accessed again. Those with it return at
  // once: the host memory must stay valid, and unchanged for uploads, until `stream` has passed the copy.
  // Sizes must match exactly.
  void copy_from_bytes(const StreamRef& stream, std::span<const std::byte> source) const;
  void copy_from_bytes_async(const StreamRef& stream, std::span<const std::byte> source) const;
  void copy_to_bytes(const StreamRef& stream, std::span<std::byte> destination) const;
  void copy_to_bytes_async(const StreamRef& stream, std::span<std::byte> destination) const;
  template <detail::OwningTemporary R>
  void copy_from_bytes_async(const StreamRef&, R&&) const = delete;
  template <detail::OwningTemporary R>
  void copy_to_bytes_async(const StreamRef&, R&&) const = delete;
  /// Submits a copy between arrays of equal size in bytes, also of two devices of one driver with peer
  /// copies. `stream` is of either device. Throws Error{invalid} when the ranges overlap, Error{unsupported}
  /// between devices without peer copies. A strided array is copied by a kernel on its device, of which
  /// `stream` must then be. An array on another device must be contiguous.
  void copy_from_array(const StreamRef& stream, const AnyArrayView& source) const;
  /// Submits: every byte becomes 0.
  void fill_zero(const StreamRef& stream) const;

  // For the runtime.
  detail::MemoryBlock* block() const noexcept { return block_; }
  std::uint64_t generation() const noexcept { return generation_; }
  std::uint64_t offset() const noexcept { return offset_; }
  /// The memory from byte `offset` on as a contiguous array of other elements, which must end inside this
  /// view.
  AnyArrayView reinterpreted(std::uint64_t offset, ElementType element,
                             std::span<const std::int64_t> extents) const noexcept;
  /// The memory from the element with all indices 0, which is at byte `offset`, with these strides. The
  /// elements must share no bytes and lie inside this view.
  AnyArrayView with_strides(std::uint64_t offset, ElementType element, std::span<const std::int64_t> extents,
                            std::span<const std::int64_t> strides) const noexcept;

 protected:
  /// A new memory block; see Device::array. `stream` may be null for the current one.
  AnyArrayView(const Device& device, const StreamRef* stream, ElementType element,
               std::span<const std::int64_t> extents);
  void fill_bytes(const StreamRef& stream, const void* element) const;
  StreamRef stream_or_current() const;
  AnyArrayView sliced(std::size_t dimension, std::int64_t begin, std::int64_t end, std::int64_t step) const;
  AnyArrayView permuted_by(std::span<const std::size_t> order) const;
  AnyArrayView flattened() const;
  void release() noexcept;

  detail::MemoryBlock* block_ = nullptr;
  std::uint64_t generation_ = 0;
  std::uint64_t offset_ = 0;  // bytes into the memory block
  std::uint64_t size_ = 0;
  std::array<std::int64_t, max_rank> extents_{};
  std::array<std::int64_t, max_rank> strides_{};  // in scalars; of strided views only
  ElementType element_;
  std::uint8_t rank_ = 0;
  bool strided_ = false;
};

/// Owner of an array whose element type and rank are known at run time only, as Array owns and ArrayView does
/// not.
class WEIR_API AnyArray : public AnyArrayView {
 public:
  AnyArray() = default;
  /// As Device::array; `stream` is of the array's device. `extents` has at most 4 members.
  AnyArray(const StreamRef& stream, ElementType element, std::span<const std::int64_t> extents);
  AnyArray(AnyArray&& other) noexcept
      : AnyArrayView(std::exchange(static_cast<AnyArrayView&>(other), AnyArrayView())) {}
  AnyArray& operator=(AnyArray&& other) noexcept {
    if (this != &other) {
      release();
      static_cast<AnyArrayView&>(*this) = std::exchange(static_cast<AnyArrayView&>(other), AnyArrayView());
    }
    return *this;
  }
  ~AnyArray() { release(); }

  /// For the runtime: the owner of a memory block of the pool, with elements as for with_strides().
  static AnyArray of_block(detail::MemoryBlock* block, std::uint64_t offset, ElementType element,
                           std::span<const std::int64_t> extents,
                           std::span<const std::int64_t> strides) noexcept;
};

/// A view of an array of T with `Rank` dimensions. An array of 0 dimensions has one element. Functions that
/// take no stream use the current one.
template <KernelElement T, std::size_t Rank = 1>
class ArrayView : public AnyArrayView {
  static_assert(Rank <= max_rank, "arrays have at most 4 dimensions");

 public:
  using value_type = T;

  ArrayView() = default;

  /// Uploads, in row-major order; returns when `source` has been read. Throws Error{invalid} unless the sizes
  /// match.
  void copy_from(const StreamRef& stream, std::span<const T> source) const {
    copy_from_bytes(stream, std::as_bytes(source));
  }
  void copy_from(std::span<const T> source) const { copy_from(stream_or_current(), source); }
  /// Uploads; `source` must stay valid and unchanged until `stream` has passed the copy.
  void copy_from_async(const StreamRef& stream, std::span<const T> source) const {
    copy_from_bytes_async(stream, std::as_bytes(source));
  }
  template <detail::OwningTemporary R>
  void copy_from_async(const StreamRef&, R&&) const = delete;  // it would be destroyed before it is read
  /// Submits a copy on the device or between devices; see copy_from_array.
  void copy_from(const StreamRef& stream, const ArrayView& source) const { copy_from_array(stream, source); }
  void copy_from(const ArrayView& source) const { copy_from_array(stream_or_current(), source); }

  /// Downloads, in row-major order; returns when `destination` holds the values.
  void copy_to(const StreamRef& stream, std::span<T> destination) const {
    copy_to_bytes(stream, std::as_writable_bytes(destination));
  }
  void copy_to(std::span<T> destination) const { copy_to(stream_or_current(), destination); }
  /// Downloads; `destination` must stay valid until `stream` has passed the copy.
  void copy_to_async(const StreamRef& stream, std::span<T> destination) const {
    copy_to_bytes_async(stream, std::as_writable_bytes(destination));
  }
  template <detail::OwningTemporary R>
  void copy_to_async(const StreamRef&, R&&) const = delete;
  /// Waits for `stream` and returns the values. Arrays of bool return std::vector<std::uint8_t>, 0 or 1 each,
  /// because std::vector<bool> has no contiguous elements.
  std::vector<T> to_host(const StreamRef& stream) const requires(!std::same_as<T, bool>) {
    std::vector<T> values = detail::host_values<T>(size());
    copy_to(stream, values);
    return values;
  }
  /// \cond
  std::vector<std::uint8_t> to_host(const StreamRef& stream) const requires(std::same_as<T, bool>) {
    std::vector<std::uint8_t> values = detail::host_values<std::uint8_t>(size());
    copy_to_bytes(stream, std::as_writable_bytes(std::span(values)));
    return values;
  }
  /// \endcond
  /// On the current stream of this thread.
  auto to_host() const { return to_host(stream_or_current()); }
  /// Waits for `stream` and returns the element of an array of 0 dimensions. fill() sets it.
  T value(const StreamRef& stream) const requires(Rank == 0) {
    T element{};
    copy_to_bytes(stream, std::as_writable_bytes(std::span(&element, 1)));
    return element;
  }
  T value() const requires(Rank == 0) { return value(stream_or_current()); }

  /// Submits: every element becomes `value`.
  void fill(const StreamRef& stream, const T& value) const { fill_bytes(stream, &value); }
  void fill(const T& value) const { fill(stream_or_current(), value); }

  /// Elements [begin, end) of the leading dimension. Throws Error{invalid} outside 0 <= begin <= end <=
  /// extent(0).
  ArrayView slice(std::int64_t begin, std::int64_t end) const requires(Rank >= 1) {
    return ArrayView(sliced(0, begin, end, 1));
  }
  /// Elements begin, begin + step, ... below `end` of a dimension; strided unless they are contiguous. Throws
  /// Error{invalid} outside 0 <= begin <= end <= extent(dimension), and unless step > 0.
  ArrayView slice(std::size_t dimension, std::int64_t begin, std::int64_t end, std::int64_t step = 1) const
      requires(Rank >= 1) {
    return ArrayView(sliced(dimension, begin, end, step));
  }
  /// Dimension d of the result is dimension order[d] of this view: permuted({1, 0}) is a transposed matrix.
  /// Throws Error{invalid} unless `order` has each dimension once.
  ArrayView permuted(const std::array<std::size_t, Rank>& order) const requires(Rank >= 1) {
    return ArrayView(permuted_by(order));
  }
  /// The same elements as one dimension. Throws Error{unsupported} if they are strided.
  ArrayView<T, 1> flat() const { return ArrayView<T, 1>(flattened()); }

 protected:
  template <KernelElement U, std::size_t R>
  friend class ArrayView;
  template <class U>
  friend class StructArrayView;
  explicit ArrayView(const AnyArrayView& view) noexcept : AnyArrayView(view) {}
};

/// An array that belongs to this object: made by Device::array, move-only. Destroying it gives the memory
/// back to the pool in the order of all streams that used it, without waiting. A moved-from or default-made
/// Array is empty and not alive.
template <KernelElement T, std::size_t Rank>
class Array : public ArrayView<T, Rank> {
 public:
  Array() = default;
  Array(const Array&) = delete;  // arrays are moved; make another one and copy_from() this one
  Array(Array&& other) noexcept : ArrayView<T, Rank>(std::exchange(other.as_view(), ArrayView<T, Rank>())) {}
  Array& operator=(Array&& other) noexcept {
    if (this != &other) {
      this->release();
      as_view() = std::exchange(other.as_view(), ArrayView<T, Rank>());
    }
    return *this;
  }
  ~Array() { this->release(); }
  /// Takes over an array of this element type and rank. Throws Error{invalid} for another one, which stays as
  /// it was.
  explicit Array(AnyArray&& array) : ArrayView<T, Rank>(detail::expect_type(array, element_type<T>, Rank)) {
    static_cast<AnyArrayView&>(array) = AnyArrayView();
  }

 private:
  friend class Device;
  Array(const Device& device, const StreamRef* stream, std::span<const std::int64_t> extents)
      : ArrayView<T, Rank>(Access(device, stream, element_type<T>, extents)) {}
  struct Access : AnyArrayView {
    using AnyArrayView::AnyArrayView;
    Access(const Device& device, const StreamRef* stream, ElementType element,
           std::span<const std::int64_t> extents)
        : AnyArrayView(device, stream, element, extents) {}
  };
  ArrayView<T, Rank>& as_view() noexcept { return *this; }
};

namespace detail {
/// Host memory that copies use at full speed, or ordinary memory where the driver has none.
class WEIR_API PinnedMemory {
 public:
  PinnedMemory() = default;
  PinnedMemory(const Device& device, std::size_t bytes);
  PinnedMemory(PinnedMemory&& other) noexcept { swap(other); }
  PinnedMemory& operator=(PinnedMemory&& other) noexcept {
    PinnedMemory(std::move(other)).swap(*this);
    return *this;
  }
  ~PinnedMemory();
  void* data() const noexcept { return data_; }

 private:
  void swap(PinnedMemory& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(allocation_, other.allocation_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
  }
  DeviceState* device_ = nullptr;
  void* allocation_ = nullptr;
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};
}  // namespace detail

/// Host memory for fast copies, made by Device::pinned_array, zero filled, move-only. It must outlive the
/// asynchronous copies that use it, like any host memory. A moved-from or default-made PinnedArray is empty.
template <KernelElement T>
class PinnedArray {
 public:
  PinnedArray() = default;
  PinnedArray(PinnedArray&& other) noexcept
      : memory_(std::move(other.memory_)), size_(std::exchange(other.size_, 0)) {}
  PinnedArray& operator=(PinnedArray&& other) noexcept {
    PinnedArray taken(std::move(other));
    std::swap(memory_, taken.memory_);
    std::swap(size_, taken.size_);
    return *this;
  }
  T* data() const noexcept { return static_cast<T*>(memory_.data()); }
  std::size_t size() const noexcept { return size_; }
  T* begin() const noexcept { return data(); }
  T* end() const noexcept { return data() + size_; }
  T& operator[](std::size_t i) const noexcept { return data()[i]; }
  operator std::span<T>() const noexcept { return {data(), size_}; }
  operator std::span<const T>() const noexcept { return {data(), size_}; }

 private:
  friend class Device;
  PinnedArray(const Device& device, std::size_t size);
  detail::PinnedMemory memory_;
  std::size_t size_ = 0;
};

namespace detail {
/// `count` times `size` in bytes; throws Error{invalid} on overflow.
WEIR_API std::size_t checked_bytes(std::size_t count, std::size_t size);
/// An extent as a signed number; throws Error{invalid} when it is too large.
template <std::integral E>
std::int64_t checked_extent(E extent) {
  if constexpr (std::unsigned_integral<E> && sizeof(E) == 8) {
    if (extent > static_cast<E>(INT64_MAX)) checked_bytes(extent, SIZE_MAX);
  }
  return static_cast<std::int64_t>(extent);
}
}  // namespace detail

template <KernelElement T>
PinnedArray<T>::PinnedArray(const Device& device, std::size_t size)
    : memory_(device, detail::checked_bytes(size, sizeof(T))), size_(size) {}

template <KernelElement T, std::integral... Extents>
requires(sizeof...(Extents) <= max_rank) Array<T, sizeof...(Extents)> Device::array(Extents... extents)
const {
  const std::array<std::int64_t, sizeof...(Extents)> list{detail::checked_extent(extents)...};
  return Array<T, sizeof...(Extents)>(*this, nullptr, list);
}

template <KernelElement T, std::integral... Extents>
requires(sizeof...(Extents) <= max_rank) Array<T, sizeof...(Extents)> Device::array(const StreamRef& stream,
                                                                                    Extents... extents)
const {
  const std::array<std::int64_t, sizeof...(Extents)> list{detail::checked_extent(extents)...};
  return Array<T, sizeof...(Extents)>(*this, &stream, list);
}

template <KernelElement T>
Array<T> Device::array_of(std::span<const T> values) const {
  Array<T> result = array<T>(values.size());
  result.copy_from(values);
  return result;
}

template <KernelElement T>
Array<T> Device::array_of(const StreamRef& stream, std::span<const T> values) const {
  Array<T> result = array<T>(stream, values.size());
  result.copy_from(stream, values);
  return result;
}

template <KernelElement T>
PinnedArray<T> Device::pinned_array(std::size_t size) const {
  return PinnedArray<T>(*this, size);
}

}  // namespace weir
