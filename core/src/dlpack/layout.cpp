// SPDX-License-Identifier: Apache-2.0
#include "dlpack/layout.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace weir::dlpack {
namespace {

[[noreturn, gnu::cold]] void refuse(const std::string& words) {
  throw Error(ErrorCode::invalid, "DLPack tensor: " + words);
}

std::string describe(const DataType& type) {
  static constexpr std::string_view names[] = {"int", "uint", "float", "opaque", "bfloat", "complex"};
  std::string words = type.code == boolean ? "bool"
                      : type.code < std::size(names)
                          ? fmt::format("{}{}", names[type.code], type.bits)
                          : fmt::format("type code {} of {} bits", type.code, type.bits);
  if (type.code == boolean && type.bits != 8) words += fmt::format(" of {} bits", type.bits);
  if (type.lanes != 1) words += fmt::format(" with {} lanes", type.lanes);
  return words;
}

std::size_t element_dimensions(const ElementType& element) {
  return element.shape == ElementType::Shape::scalar   ? 0
         : element.shape == ElementType::Shape::vector ? 1
                                                       : 2;
}

/// True if the lanes of the tensor are the components of a Vec.
bool check_type(const DataType& type, const ElementType& element) {
  const DataType expected = data_type(element.scalar);
  const bool same_scalar = type.code == expected.code && type.bits == expected.bits;
  const bool lanes_are_components = element.shape == ElementType::Shape::vector && type.lanes == element.rows;
  if (same_scalar && (type.lanes == 1 || lanes_are_components)) return type.lanes != 1;
  refuse(fmt::format(
      "the elements are {}; expected {} for an array of {}; convert them in the library that made "
      "the tensor",
      describe(type), describe(expected), to_string(element)));
}

}  // namespace

std::string describe_device(std::int32_t type, std::int32_t id) {
  const std::string_view name = device_type_name(type);
  return name.empty() ? fmt::format("device {} of type {}", id, type)
                      : fmt::format("device {} of type {} ({})", id, type, name);
}

DataType data_type(ScalarType scalar) noexcept {
  const auto bits = static_cast<std::uint8_t>(8 * size_of(scalar));
  const std::uint8_t code = scalar == ScalarType::boolean ? boolean
                            : is_float(scalar)            ? floating
                            : is_signed(scalar)           ? signed_integer
                                                          : unsigned_integer;
  return {code, bits, 1};
}

namespace {

/// Whether each stride is longer than all shorter ones reach together.
bool are_apart(const Layout& layout) {
  std::vector<std::pair<std::int64_t, std::int64_t>> dimensions;  // stride, last index
  for (std::size_t d = 0; d < layout.shape.size(); ++d)
    if (layout.shape[d] > 1) dimensions.emplace_back(std::abs(layout.strides[d]), layout.shape[d] - 1);
  std::ranges::sort(dimensions);
  std::int64_t reach = 0;
  for (const auto& [stride, last] : dimensions) {
    if (stride <= reach) return false;
    reach += stride * last;
  }
  return true;
}

bool are_adjacent(const Layout& layout) {
  std::int64_t expected = 1;
  for (std::size_t d = layout.shape.size(); d-- > layout.extents.size(); expected *= layout.shape[d])
    if (layout.strides[d] != expected) return false;
  return true;
}

}  // namespace

Layout::Range Layout::range() const noexcept {
  std::int64_t first = 0, last = 0;
  for (std::size_t d = 0; d < shape.size(); ++d)
    (strides[d] < 0 ? first : last) += strides[d] * (shape[d] - 1);
  return {address + static_cast<std::uint64_t>(first) * scalar_bytes,
          static_cast<std::uint64_t>(last - first + 1) * scalar_bytes};
}

std::vector<std::byte> Layout::gathered() const {
  std::vector<std::byte> result(bytes());
  std::byte* to = result.data();
  const auto copy = [&](const auto& self, std::size_t dimension, std::uint64_t from) -> void {
    if (dimension == shape.size()) {
      std::memcpy(to, reinterpret_cast<const void*>(from), scalar_bytes);
      to += scalar_bytes;
      return;
    }
    for (std::int64_t i = 0; i < shape[dimension]; ++i)
      self(self, dimension + 1, from + static_cast<std::uint64_t>(i * strides[dimension]) * scalar_bytes);
  };
  copy(copy, 0, address);
  return result;
}

Layout check_layout(const Tensor& tensor, ElementType element, std::size_t rank) {
  const bool lanes = check_type(tensor.type, element);
  const std::size_t inner = element_dimensions(element), given = inner - lanes;
  if (tensor.dimensions < 0 || static_cast<std::size_t>(tensor.dimensions) != rank + given)
    refuse(fmt::format("it has {} dimensions; expected {} for an array of {} with rank {}", tensor.dimensions,
                       rank + given, to_string(element), rank));
  if (tensor.dimensions > 0 && !tensor.shape)
    refuse("its shape is null; report it to the author of the library that made it");

  Layout layout;
  layout.scalar_bytes = size_of(element.scalar);
  layout.shape.assign(tensor.shape, tensor.shape + tensor.dimensions);
  for (std::size_t d = 0; d < layout.shape.size(); ++d)
    if (layout.shape[d] < 0)
      refuse(fmt::format("extent {} of its shape is {}; extents are 0 or more", d, layout.shape[d]));
  const std::array<std::int64_t, 2> components{element.rows, element.cols};
  for (std::size_t d = 0; d < given; ++d)
    if (layout.shape[rank + d] != components[d])
      refuse(fmt::format("its shape is ({}); expected {} at the end for elements of type {}",
                         fmt::join(layout.shape, ", "),
                         fmt::join(components.begin(), components.begin() + static_cast<int>(given), ", "),
                         to_string(element)));
  layout.extents.assign(layout.shape.begin(), layout.shape.begin() + static_cast<std::ptrdiff_t>(rank));

  if (tensor.strides) layout.strides.assign(tensor.strides, tensor.strides + tensor.dimensions);
  if (lanes) {  // strides count whole elements
    for (std::int64_t& stride : layout.strides)
      if (__builtin_mul_overflow(stride, element.rows, &stride))
        refuse("a stride is larger than any memory; report it to the author of the library that made it");
    layout.shape.push_back(element.rows);
    if (tensor.strides) layout.strides.push_back(1);
  }

  if (std::ranges::count(layout.shape, 0) !=
      0) {  // of no elements, whatever the other extents and the strides
    layout.contiguous = true;
    return layout;
  }

  // Products of extents and strides must fit 64 bits, in bytes.
  std::int64_t count = 1, bytes = 0, reach = 0;
  bool too_large = false;
  for (const std::int64_t extent : layout.shape) too_large |= __builtin_mul_overflow(count, extent, &count);
  too_large |= __builtin_mul_overflow(count, static_cast<std::int64_t>(layout.scalar_bytes), &bytes);
  layout.scalars = static_cast<std::uint64_t>(count);

  layout.contiguous = true;
  std::int64_t expected = 1;
  if (!tensor.strides) layout.strides.resize(layout.shape.size());
  for (std::size_t d = too_large ? 0 : layout.shape.size(); d-- > 0;) {
    const std::int64_t extent = layout.shape[d];
    std::int64_t& stride = layout.strides[d];
    if (!tensor.strides || extent == 1) stride = expected;
    layout.contiguous &= stride == expected;
    expected *= extent;
    std::int64_t part = 0;
    too_large |= __builtin_mul_overflow(stride, extent - 1, &part) || part == INT64_MIN ||
                 __builtin_add_overflow(reach, part < 0 ? -part : part, &reach) || reach > INT64_MAX / 16;
  }
  if (too_large)
    refuse(
        fmt::format("its shape ({}) and strides describe more bytes than any memory has; report it to the "
                    "author of the library that made it",
                    fmt::join(layout.shape, ", ")));

  layout.adjacent = are_adjacent(layout);
  layout.apart = are_apart(layout);

  if (!tensor.data)
    refuse(fmt::format(
        "its data is null, but it has {} elements; report it to the author of the library that made it",
        layout.scalars));
  if (__builtin_add_overflow(reinterpret_cast<std::uint64_t>(tensor.data), tensor.byte_offset,
                             &layout.address))
    refuse(
        fmt::format("its byte_offset is {}, past the end of all memory; report it to the author of the "
                    "library that made it",
                    tensor.byte_offset));
  if (layout.address % layout.scalar_bytes)
    refuse(fmt::format(
        "its elements begin at 0x{:x}, which is no multiple of their {} bytes; copy it in the library "
        "that made it",
        layout.address, layout.scalar_bytes));
  return layout;
}

}  // namespace weir::dlpack
