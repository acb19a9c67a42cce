// SPDX-License-Identifier: Apache-2.0
#include "algorithms/arguments.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ir/task.hpp"
#include "runtime/errors/stream_errors.hpp"
#include "runtime/memory/array_use.hpp"

namespace weir::algorithms {

namespace {

/// Gives access to the protected parts of a view.
struct Words : AnyArrayView {
  explicit Words(const AnyArrayView& view) : AnyArrayView(view) {
    static constexpr ScalarType by_size[] = {ScalarType::u8, ScalarType::u16, ScalarType::u32,
                                             ScalarType::u64};
    const std::size_t size = size_of(element_.scalar);
    size_ *= element_.components();
    extents_ = {static_cast<std::int64_t>(size_), 0, 0, 0};
    rank_ = 1;
    element_ = {by_size[size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : 3]};
  }
};

/// A part of an array of bytes.
struct PartOf : AnyArrayView {
  PartOf(const AnyArrayView& bytes, std::uint64_t offset, const Workspace::Part& part) : AnyArrayView(bytes) {
    offset_ += offset;
    element_ = part.element;
    size_ = static_cast<std::uint64_t>(part.count);
    extents_ = {part.count, 0, 0, 0};
  }
};

constexpr std::uint64_t part_alignment = 256;
constexpr std::uint64_t min_chunk = 1024;
constexpr std::uint64_t chunks_per_core = 4;

Chunks chunks_of(std::uint64_t elements, std::uint64_t size) {
  return {static_cast<std::int64_t>(size), static_cast<std::int64_t>((elements + size - 1) / size)};
}

}  // namespace

void expect_usable(std::string_view function, const StreamRef& stream, std::initializer_list<Named> arrays) {
  const Device device = stream.device();
  for (const auto& [name, view] : arrays) {
    if (!view.alive())
      throw Error(
          ErrorCode::invalid,
          fmt::format("{}: the array '{}' does not exist: it was freed, moved from, or never created; keep "
                      "its Array alive until the call returns",
                      function, name));
    if (view.device().state() != device.state())
      detail::throw_other_device(fmt::format("{}: '{}' is on device", function, name), *view.device().state(),
                                 "but the stream is of", *device.state(), detail::copy_array_there);
  }
}

void expect_equal_size(std::string_view function, const Named& array, const Named& as) {
  if (array.view.size() == as.view.size()) return;
  throw Error(
      ErrorCode::invalid,
      fmt::format(
          "{}: '{}' needs {} elements, as many as '{}', but has {}; allocate as many, or pass a slice",
          function, array.name, as.view.size(), as.name, array.view.size()));
}

void expect_one_element(std::string_view function, const Named& array) {
  if (array.view.size() == 1) return;
  throw Error(
      ErrorCode::invalid,
      fmt::format("{}: '{}' receives a number and needs 1 element, but has {}; allocate one, or pass a slice",
                  function, array.name, array.view.size()));
}

void expect_apart(std::string_view function, const Named& result, const Named& other) {
  if (!detail::overlap(result.view, other.view)) return;
  throw Error(
      ErrorCode::invalid,
      fmt::format("{}: '{}' is expected to share no memory with '{}', but does; write to another array",
                  function, result.name, other.name));
}

AnyArrayView as_words(const AnyArrayView& view) {
  return Words(view);
}

AnyArray scratch(const StreamRef& stream, ElementType element, std::int64_t count) {
  const std::int64_t extents[] = {count};
  return AnyArray(stream, element, extents);
}

Workspace::Workspace(const StreamRef& stream, std::initializer_list<Part> parts) {
  std::vector<std::uint64_t> offsets;
  std::uint64_t bytes = 0;
  for (const Part& part : parts) {
    offsets.push_back(bytes);
    const std::uint64_t size = static_cast<std::uint64_t>(part.count) * part.element.size();
    bytes += (size + part_alignment - 1) / part_alignment * part_alignment;
  }
  memory_ = scratch(stream, element_type<std::uint8_t>, static_cast<std::int64_t>(bytes));
  for (const Part& part : parts) parts_.push_back(PartOf(memory_, offsets[parts_.size()], part));
}

Chunks fixed_chunks(std::uint64_t elements) {
  return chunks_of(elements, ir::reduce_chunk(elements));
}

Chunks device_chunks(const Device& device, std::uint64_t elements, std::uint64_t limit) {
  const DeviceInfo& info = device.info();
  const std::uint64_t units = std::max(info.multiprocessors, 1u);
  const std::uint64_t threads =
      info.max_threads_per_multiprocessor ? info.max_threads_per_multiprocessor : 2048;
  const std::uint64_t max_chunks =
      std::clamp<std::uint64_t>(units * (info.kind == DeviceKind::cpu ? chunks_per_core : threads), 1, limit);
  return chunks_of(elements, std::max(min_chunk, (elements + max_chunks - 1) / max_chunks));
}

}  // namespace weir::algorithms
