// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>
#include <optional>
#include <weir/files.hpp>

#include "files/contents.hpp"

namespace weir {
namespace {

/// The dimensions of a Vec's or Mat's components.
std::vector<std::int64_t> component_shape(const ElementType& element) {
  switch (element.shape) {
    case ElementType::Shape::vector:
      return {element.rows};
    case ElementType::Shape::matrix:
      return {element.rows, element.cols};
    default:
      return {};
  }
}

}  // namespace

std::string files::shape_text(std::span<const std::int64_t> shape) {
  std::string text = "(";
  for (const std::int64_t extent : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(extent);
  return text + ")";
}

std::vector<std::int64_t> files::shape_of(const AnyArrayView& array) {
  std::vector<std::int64_t> shape;
  for (std::size_t d = 0; d < array.rank(); ++d) shape.push_back(array.extent(d));
  std::ranges::copy(component_shape(array.element()), std::back_inserter(shape));
  return shape;
}

std::optional<std::uint64_t> files::bytes_of(std::span<const std::int64_t> shape, ScalarType type) {
  if (shape.size() > max_dimensions) return std::nullopt;
  std::uint64_t bytes = size_of(type);
  for (const std::int64_t extent : shape) {
    if (extent < 0) return std::nullopt;
    if (extent != 0 && bytes > static_cast<std::uint64_t>(INT64_MAX) / static_cast<std::uint64_t>(extent))
      return std::nullopt;
    bytes *= static_cast<std::uint64_t>(extent);
  }
  return bytes;
}

std::string files::shape_fault(std::span<const std::int64_t> shape) {
  if (shape.size() > max_dimensions)
    return "expected at most " + std::to_string(max_dimensions) + " extents, as NumPy does, found " +
           std::to_string(shape.size());
  const auto negative = std::ranges::find_if(shape, [](std::int64_t extent) { return extent < 0; });
  if (negative == shape.end()) return "expected less than 2^63 bytes, found more";
  return "expected extents of at least 0, found " + std::to_string(*negative) + " as extent " +
         std::to_string(negative - shape.begin());
}

std::size_t HostArray::size() const noexcept {
  return data.size() / size_of(type);
}

void HostArray::check_type(ScalarType wanted) const {
  if (wanted != type)
    throw Error(ErrorCode::invalid, "the array holds " + std::string(to_string(type)) +
                                        ", but values() was asked for " + std::string(to_string(wanted)) +
                                        "; ask for the type that it holds");
}

HostArray HostArray::from_bytes(ScalarType type, std::vector<std::int64_t> shape,
                                std::span<const std::byte> bytes) try {
  const std::string array =
      "an array of " + std::string(to_string(type)) + " with the shape " + files::shape_text(shape);
  const std::optional<std::uint64_t> expected = files::bytes_of(shape, type);
  if (!expected) throw Error(ErrorCode::invalid, array + ": " + files::shape_fault(shape));
  if (*expected != bytes.size())
    throw Error(ErrorCode::invalid, array + " has " + std::to_string(*expected) + " bytes, found " +
                                        std::to_string(bytes.size()));
  return {type, std::move(shape), {bytes.begin(), bytes.end()}};
} catch (...) {
  detail::rethrow_as_error();
}

void detail::check_fits(const HostArray& array, const ElementType& element, std::size_t rank) {
  const std::vector<std::int64_t> components = component_shape(element);
  const bool same_rank = array.shape.size() == rank + components.size();
  const bool fits = array.type == element.scalar && same_rank &&
                    std::equal(components.begin(), components.end(),
                               array.shape.begin() + static_cast<std::ptrdiff_t>(rank)) &&
                    files::bytes_of(array.shape, array.type) == array.data.size();
  if (!fits)
    throw Error(ErrorCode::invalid,
                "an array of " + std::string(to_string(array.type)) + " with the shape " +
                    files::shape_text(array.shape) + " and " + std::to_string(array.data.size()) +
                    " bytes does not fit " + std::to_string(rank) +
                    (rank == 1 ? " dimension of " : " dimensions of ") + to_string(element) +
                    "; convert it, or ask for an array of its type and shape");
}

HostArray to_host(const StreamRef& stream, const AnyArrayView& array) try {
  HostArray result;
  result.type = array.element().scalar;
  result.shape = files::shape_of(array);
  result.data.resize(array.size_bytes());
  array.copy_to_bytes(stream, result.data);
  return result;
} catch (...) {
  detail::rethrow_as_error();
}

AnyArray to_device(const StreamRef& stream, const HostArray& array, ElementType element,
                   std::size_t rank) try {
  detail::check_fits(array, element, rank);
  AnyArray result(stream, element, std::span(array.shape.data(), rank));
  result.copy_from_bytes(stream, array.data);
  return result;
} catch (...) {
  detail::rethrow_as_error();
}

}  // namespace weir
