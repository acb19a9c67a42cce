// SPDX-License-Identifier: Apache-2.0
// Arrays of the user's structs in device memory, in a chosen layout: an owner, and a cheap view.
//
// Threads and errors: as in array.hpp.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>
#include <weir/array.hpp>
#include <weir/current_stream.hpp>
#include <weir/struct_layout.hpp>
#include <weir/struct_members.hpp>

namespace weir {

namespace detail {
/// Size of a struct array. Throws Error{invalid} for a size that is negative or too large, and for a member
/// that is not aligned.
WEIR_API std::int64_t struct_array_bytes(const StructType& type, const Layout& layout, std::int64_t size);
/// The arguments of a launch, one for each member, in `bytes` of that layout.
WEIR_API void member_arguments(const AnyArrayView& bytes, const StructType& type, const Layout& layout,
                               std::size_t size, AnyArrayView* out) noexcept;
/// The member at `offset` as an array of 1 + its rank dimensions. Throws Error{invalid} unless the layout is
/// struct_of_arrays().
WEIR_API AnyArrayView member_array(const AnyArrayView& bytes, const StructType& type, const Layout& layout,
                                   std::size_t size, std::uint32_t offset);
/// Copies structs of the host into the bytes of a layout. Throws Error{invalid} unless there are `size`.
WEIR_API std::vector<std::byte> arrange_structs(const StructType& type, const Layout& layout,
                                                std::size_t size, std::span<const std::byte> structs);
/// The reverse; does not change the padding of `structs`.
WEIR_API void collect_structs(const StructType& type, const Layout& layout, std::size_t size,
                              std::span<const std::byte> bytes, std::span<std::byte> structs);
WEIR_API void check_same_layout(const Layout& to, std::size_t to_size, const Layout& from,
                                std::size_t from_size);

/// The element of a member, and the number of arrays of fixed length around it.
template <class M>
struct MemberArray {
  using Element = M;
  static constexpr std::size_t rank = 0;
};
template <FixedArrayType M>
struct MemberArray<M> {
  using Of = MemberArray<typename FixedArray<M>::Element>;
  using Element = typename Of::Element;
  static constexpr std::size_t rank = 1 + Of::rank;
};
}  // namespace detail

/// A view of an array of structs: cheap, copyable, owns nothing. Functions that take no stream use the
/// current one.
template <class T>
class StructArrayView {
  static_assert(KernelStruct<T>, "a struct array holds structs: aggregates that are trivially copyable");
  static_assert((detail::check_struct<T>(), true));

 public:
  using value_type = T;

  StructArrayView() = default;

  /// Number of structs.
  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  const Layout& layout() const noexcept { return layout_; }
  bool alive() const noexcept { return bytes_.alive(); }
  Device device() const { return bytes_.device(); }
  /// All memory of the array, padding included, for copies of whole arrays and graphs. With
  /// Layout::array_of_structs() these are the bytes of a T[size()].
  const ArrayView<std::uint8_t>& bytes() const noexcept { return bytes_; }

  /// Uploads; returns when `source` has been read. Throws Error{invalid} unless the sizes match. One copy in
  /// every layout; layouts other than array_of_structs() are arranged on the host first.
  void copy_from(const StreamRef& stream, std::span<const T> source) const {
    const auto structs = std::as_bytes(source);
    if (layout_.kind() == Layout::Kind::structs) return bytes_.copy_from_bytes(stream, structs);
    bytes_.copy_from_bytes(stream, detail::arrange_structs(type(), layout_, size_, structs));
  }
  void copy_from(std::span<const T> source) const { copy_from(current_stream(device()), source); }
  /// Submits a copy on the device or between devices. Throws Error{invalid} unless sizes and layouts match; a
  /// kernel with to[i] = from[i] copies between layouts.
  void copy_from(const StreamRef& stream, const StructArrayView& source) const {
    detail::check_same_layout(layout_, size_, source.layout_, source.size_);
    bytes_.copy_from(stream, source.bytes_);
  }

  /// Downloads; returns when `destination` holds the structs. Throws Error{invalid} unless the sizes match.
  /// Padding is copied with Layout::array_of_structs(), and unchanged with other layouts.
  void copy_to(const StreamRef& stream, std::span<T> destination) const {
    const auto structs = std::as_writable_bytes(destination);
    if (layout_.kind() == Layout::Kind::structs) return bytes_.copy_to_bytes(stream, structs);
    std::vector<std::byte> bytes = detail::host_values<std::byte>(bytes_.size());
    bytes_.copy_to_bytes(stream, bytes);
    detail::collect_structs(type(), layout_, size_, bytes, structs);
  }
  void copy_to(std::span<T> destination) const { copy_to(current_stream(device()), destination); }
  /// Waits for `stream` and returns the structs.
  std::vector<T> to_host(const StreamRef& stream) const {
    std::vector<T> structs = detail::host_values<T>(size_);
    copy_to(stream, structs);
    return structs;
  }
  std::vector<T> to_host() const { return to_host(current_stream(device())); }

  /// Submits: every byte becomes 0.
  void fill_zero(const StreamRef& stream) const { bytes_.fill_zero(stream); }

  /// A member as an array, for other kernels: member(&Particle::mass), and of a nested struct
  /// member(&Particle::inner, &Nested::energy). Each array of fixed length adds a dimension. The array is
  /// contiguous with struct_of_arrays(), so that algorithms take it too, and strided with array_of_structs().
  /// Throws Error{invalid} for blocks, in which the distance between neighbours varies.
  template <class M, class... Inner>
  auto member(M T::*outer, Inner... inner) const {
    return member_at<M, detail::MemberArray<M>::rank>(detail::member_offset(outer), inner...);
  }

 protected:
  StructArrayView(const AnyArrayView& bytes, std::size_t size, const Layout& layout) noexcept
      : bytes_(bytes), size_(size), layout_(layout) {}
  static const detail::StructType& type() { return detail::struct_type<T>(); }

 private:
  template <class Outer, std::size_t Rank, class M, class S, class... Inner>
  auto member_at(std::uint32_t offset, M S::*next, Inner... inner) const {
    static_assert(std::same_as<S, typename detail::MemberArray<Outer>::Element>,
                  "the member named is one of another struct");
    return member_at<M, Rank + detail::MemberArray<M>::rank>(offset + detail::member_offset(next), inner...);
  }
  template <class M, std::size_t Rank>
  auto member_at(std::uint32_t offset) const {
    using Element = typename detail::MemberArray<M>::Element;
    static_assert(KernelElement<Element>,
                  "this member is a struct: name one of its members, member(&T::inner, &Inner::m)");
    return ArrayView<Element, 1 + Rank>(detail::member_array(bytes_, type(), layout_, size_, offset));
  }

  ArrayView<std::uint8_t> bytes_;
  std::size_t size_ = 0;
  Layout layout_;
};

/// A struct array that belongs to this object: move-only. Its memory comes from the device's pool and returns
/// to it as that of Array does. A moved-from or default-made StructArray is empty and not alive.
template <class T>
class StructArray : public StructArrayView<T> {
 public:
  StructArray() = default;
  /// In the order of the current stream of the device; the contents are undefined.
  template <std::integral Size>
  StructArray(const Device& device, Size size, const Layout& layout = {})
      : StructArray(device.array<std::uint8_t>(bytes_of(size, layout)), size, layout) {}
  /// In the order of `stream`.
  template <std::integral Size>
  StructArray(const StreamRef& stream, Size size, const Layout& layout = {})
      : StructArray(stream.device().array<std::uint8_t>(stream, bytes_of(size, layout)), size, layout) {}
  StructArray(StructArray&& other) noexcept
      : StructArrayView<T>(std::exchange(other.as_view(), StructArrayView<T>())),
        memory_(std::move(other.memory_)) {}
  StructArray& operator=(StructArray&& other) noexcept {
    if (this != &other) {
      as_view() = std::exchange(other.as_view(), StructArrayView<T>());
      memory_ = std::move(other.memory_);
    }
    return *this;
  }

 private:
  template <std::integral Size>
  static std::int64_t bytes_of(Size size, const Layout& layout) {
    return detail::struct_array_bytes(StructArrayView<T>::type(), layout, detail::checked_extent(size));
  }
  template <std::integral Size>
  StructArray(Array<std::uint8_t> memory, Size size, const Layout& layout)
      : StructArrayView<T>(memory, static_cast<std::size_t>(size), layout), memory_(std::move(memory)) {}
  StructArrayView<T>& as_view() noexcept { return *this; }

  Array<std::uint8_t> memory_;
};

}  // namespace weir
