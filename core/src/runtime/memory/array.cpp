// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <new>
#include <weir/array.hpp>
#include <weir/current_stream.hpp>

#include "ordinals.hpp"
#include "runtime/errors/stream_errors.hpp"
#include "runtime/memory/array_use.hpp"
#include "runtime/memory/unwritten.hpp"

namespace weir {

using detail::DeviceState;
using detail::live;
using detail::MemoryBlock;
using detail::StreamState;

namespace detail {

std::size_t checked_bytes(std::size_t count, std::size_t size) try {
  constexpr auto max_count = static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max());
  if (count > max_count)
    throw Error(ErrorCode::invalid,
                fmt::format("an array of {} elements is larger than any memory; expected at most {}; check "
                            "for a negative number that became unsigned",
                            count, max_count));
  if (size != 0 && count > max_count / size)
    throw Error(ErrorCode::invalid,
                fmt::format("an array of {} elements of {} bytes is larger than any memory; check "
                            "for a negative number that became unsigned",
                            count, size));
  return count * size;
} catch (...) {
  rethrow_as_error();
}

const AnyArrayView& expect_type(const AnyArrayView& view, ElementType element, std::size_t rank) try {
  if (view.element() == element && view.rank() == rank) return view;
  throw Error(ErrorCode::invalid,
              fmt::format("an array of {} with rank {}; expected one of {} with rank {}",
                          to_string(view.element()), view.rank(), to_string(element), rank));
} catch (...) {
  rethrow_as_error();
}

MemoryBlock& live_or_strided(const AnyArrayView& view) {
  if (!view.alive()) throw_dead("array");
  return *view.block();
}

MemoryBlock& live(const AnyArrayView& view) {
  MemoryBlock& block = live_or_strided(view);
  if (!view.contiguous()) throw_strided("this");
  return block;
}

void throw_strided(std::string_view what) {
  throw Error(ErrorCode::unsupported,
              fmt::format("{} takes contiguous arrays, but was given a strided one; copy it into an array of "
                          "the same extents with copy_from, and pass that",
                          what));
}

Reach reach_of_strided(const AnyArrayView& view) noexcept {
  const std::uint64_t scalar = size_of(view.element().scalar);
  std::uint64_t begin = view.offset(), bytes = view.element().size();
  for (std::size_t d = 0; d < view.rank(); ++d) {
    const std::int64_t distance = view.stride(d) * (view.extent(d) - 1);
    if (distance < 0) begin += static_cast<std::uint64_t>(distance) * scalar;
    bytes += static_cast<std::uint64_t>(std::abs(distance)) * scalar;
  }
  return {begin, bytes};
}

PinnedMemory::PinnedMemory(const Device& device, std::size_t bytes) try
    : device_(device.state()), bytes_(bytes) {
  if (bytes == 0) return;
  device_->memory.collect_pending();  // earlier pinned memory that was destroyed before its copies ended
  if (!device_->has(Capability::pinned_memory)) {
    data_ = ::operator new (bytes, std::align_val_t{64});
    std::memset(data_, 0, bytes);
    return;
  }
  if (const PinnedCache::Block kept = device_->pinned.take(bytes); kept.allocation) {
    allocation_ = kept.allocation;
    data_ = kept.data;
    std::memset(data_, 0, bytes);
    return;
  }
  weir_memory_options options{};
  options.struct_size = sizeof options;
  options.kind = WEIR_MEMORY_PINNED;
  options.size = bytes;
  const weir_device handle = device_->handle();
  weir_allocation allocation = nullptr;
  device_->call([&] { return fmt::format("allocate {} bytes of pinned memory", bytes); },
                [&](weir_status* status) {
                  return device_->table().memory_allocate(handle, &options, &allocation, status);
                });
  weir_memory_info info{};
  info.struct_size = sizeof info;
  try {
    device_->call("query the location of pinned memory", [&](weir_status* status) {
      return device_->table().memory_get_info(allocation, &info, status);
    });
    if (!info.host_pointer)
      throw Error(ErrorCode::unsupported,
                  fmt::format("the {} driver's pinned memory has no host address; update the driver",
                              device_->driver().name()));
  } catch (...) {
    device_->call_no_throw(
        [&](weir_status* status) { return device_->table().memory_free(allocation, status); });
    throw;
  }
  allocation_ = allocation;
  data_ = info.host_pointer;
  std::memset(data_, 0, bytes);
} catch (...) {
  rethrow_as_error();
}

// Copies that still use the memory end before it is freed.
PinnedMemory::~PinnedMemory() {
  if (!data_) return;
  // The capture is at most two words, which std::function stores without allocation.
  if (allocation_)
    device_->memory.when_unused([device = device_, allocation = allocation_]() noexcept {
      device->pinned.put(static_cast<weir_allocation>(allocation));
    });
  else
    device_->memory.when_unused(
        [data = data_]() noexcept { ::operator delete (data, std::align_val_t{64}); });
}

}  // namespace detail

AnyArray::AnyArray(const StreamRef& stream, ElementType element, std::span<const std::int64_t> extents) try
    : AnyArrayView(stream.device(), &stream, element, extents) {
} catch (...) {
  detail::rethrow_as_error();
}

AnyArray AnyArray::of_block(MemoryBlock* block, std::uint64_t offset, ElementType element,
                            std::span<const std::int64_t> extents,
                            std::span<const std::int64_t> strides) noexcept {
  AnyArray array;
  array.block_ = block;
  array.generation_ = block->generation.load(std::memory_order_relaxed);
  static_cast<AnyArrayView&>(array) = array.with_strides(offset, element, extents, strides);
  return array;
}

AnyArrayView::AnyArrayView(const Device& device, const StreamRef* stream, ElementType element,
                           std::span<const std::int64_t> extents) try
    : element_(element), rank_(static_cast<std::uint8_t>(extents.size())) {
  if (extents.size() > max_rank)
    throw Error(ErrorCode::invalid,
                fmt::format("an array of {} extents; arrays have at most {}", extents.size(), max_rank));
  if (element.scalar > ScalarType::f64 || element.rows < 1 || element.rows > 16 || element.cols < 1 ||
      element.cols > 16)
    throw Error(
        ErrorCode::invalid,
        fmt::format(
            "an array of elements of scalar type {} with {} rows and {} columns; rows and columns are 1 to "
            "16, scalar types those of ScalarType",
            static_cast<int>(element.scalar), element.rows, element.cols));
  const int dimensions = static_cast<int>(element.shape);
  if (dimensions > 2 || (dimensions < 2 && element.cols != 1) || (dimensions < 1 && element.rows != 1))
    throw Error(
        ErrorCode::invalid,
        fmt::format("an array of elements of shape {} with {} rows and {} columns; a scalar has one of "
                    "each, a vector one column; Shape names the three shapes",
                    dimensions, element.rows, element.cols));
  std::int64_t count = 1, bytes = 0;
  bool too_large = false;
  for (std::size_t d = 0; d < extents.size(); ++d) {
    if (extents[d] < 0)
      throw Error(ErrorCode::invalid,
                  fmt::format("array extent {} is {}; extents are 0 or more", d, extents[d]));
    extents_[d] = extents[d];
    too_large |= __builtin_mul_overflow(count, extents[d], &count);
  }
  if (std::ranges::count(extents, 0) != 0) {
    count = 0;
    too_large = false;
  }
  if (too_large || __builtin_mul_overflow(count, static_cast<std::int64_t>(element.size()), &bytes))
    throw Error(
        ErrorCode::invalid,
        fmt::format(
            "an array of {} elements of {} bytes is larger than any memory; check for a negative number "
            "that became unsigned",
            fmt::join(extents, " x "), element.size()));
  size_ = static_cast<std::uint64_t>(count);
  const StreamRef on = stream ? *stream : current_stream(device);
  StreamState& state = live(on);
  if (&state.device != device.state())
    throw Error(ErrorCode::invalid, "an array of " + device.name() + " cannot be allocated on a stream of " +
                                        state.device.device_name() + "; use a stream of the array's device");
  detail::throw_failure(state);
  block_ = state.device.memory.allocate(state, static_cast<std::uint64_t>(bytes));
  generation_ = block_->generation.load(std::memory_order_relaxed);
  if (detail::marks_new_arrays()) [[unlikely]] {
    try {
      detail::mark_unwritten(*block_, state, static_cast<std::uint64_t>(bytes));
    } catch (...) {
      release();
      throw;
    }
  }
} catch (...) {
  detail::rethrow_as_error();
}

bool AnyArrayView::alive() const noexcept {
  return detail::is_alive(*this);
}

void AnyArrayView::release() noexcept {
  if (alive()) block_->device.memory.release(block_);
  block_ = nullptr;
}

Device AnyArrayView::device() const try {
  return Device(&detail::live_or_strided(*this).device);
} catch (...) {
  detail::rethrow_as_error();
}

std::uint64_t AnyArrayView::device_address() const try {
  const MemoryBlock& block = detail::live_or_strided(*this);
  if (!block.address)
    throw Error(ErrorCode::unsupported, "device " + block.device.device_name() +
                                            " gives no addresses; pass the array itself instead");
  return block.address + offset_;
} catch (...) {
  detail::rethrow_as_error();
}

StreamRef AnyArrayView::stream_or_current() const try { return current_stream(device()); } catch (...) {
  detail::rethrow_as_error();
}

std::int64_t AnyArrayView::stride(std::size_t d) const noexcept {
  if (strided_) return strides_[d];
  auto stride = static_cast<std::int64_t>(element_.components());
  for (std::size_t inner = d + 1; inner < rank_; ++inner)
    stride *= std::max<std::int64_t>(extents_[inner], 1);
  return stride;
}

AnyArrayView AnyArrayView::with_strides(std::uint64_t offset, ElementType element,
                                        std::span<const std::int64_t> extents,
                                        std::span<const std::int64_t> strides) const noexcept {
  AnyArrayView view = reinterpreted(offset, element, extents);
  for (std::size_t d = 0; d < extents.size(); ++d)
    view.strided_ |= view.size_ != 0 && extents[d] != 1 && strides[d] != view.stride(d);
  if (!view.strided_) return view;
  std::ranges::copy(strides, view.strides_.begin());
  return view;
}

AnyArrayView AnyArrayView::sliced(std::size_t dimension, std::int64_t begin, std::int64_t end,
                                  std::int64_t step) const try {
  if (rank_ == 0) detail::throw_dead("array");
  if (dimension >= rank_)
    throw Error(ErrorCode::invalid,
                fmt::format("a slice along dimension {} of an array of {}; dimensions are 0 to {}", dimension,
                            rank_, rank_ - 1));
  if (begin < 0 || begin > end || end > extents_[dimension])
    throw Error(ErrorCode::invalid,
                fmt::format("slice [{0}, {1}) is outside an array of {2} along its {3} dimension; pass "
                            "0 <= begin <= end <= {2}",
                            begin, end, extents_[dimension], ordinals[dimension]));
  if (step <= 0)
    throw Error(ErrorCode::invalid, fmt::format("a slice with the step {}; steps are 1 or more", step));
  std::array<std::int64_t, max_rank> extents = extents_, strides{};
  for (std::size_t d = 0; d < rank_; ++d) strides[d] = stride(d);
  extents[dimension] = (end - begin) / step + ((end - begin) % step != 0);
  const auto first = static_cast<std::uint64_t>(begin * strides[dimension]) * size_of(element_.scalar);
  // A step that only one element takes may be any number.
  if (extents[dimension] > 1) strides[dimension] *= step;
  return with_strides(size_ ? first : 0, element_, {extents.data(), rank_}, {strides.data(), rank_});
} catch (...) {
  detail::rethrow_as_error();
}

AnyArrayView AnyArrayView::permuted_by(std::span<const std::size_t> order) const try {
  std::array<std::int64_t, max_rank> extents{}, strides{};
  std::uint32_t seen = 0;
  for (std::size_t d = 0; d < rank_; ++d) {
    if (order[d] >= rank_ || (seen >> order[d] & 1))
      throw Error(ErrorCode::invalid, fmt::format("dimensions in the order ({}); pass each of 0 to {} once",
                                                  fmt::join(order, ", "), rank_ - 1));
    seen |= 1u << order[d];
    extents[d] = extents_[order[d]];
    strides[d] = stride(order[d]);
  }
  return with_strides(0, element_, {extents.data(), rank_}, {strides.data(), rank_});
} catch (...) {
  detail::rethrow_as_error();
}

AnyArrayView AnyArrayView::reinterpreted(std::uint64_t offset, ElementType element,
                                         std::span<const std::int64_t> extents) const noexcept {
  AnyArrayView view = *this;
  view.offset_ += offset;
  view.element_ = element;
  view.rank_ = static_cast<std::uint8_t>(extents.size());
  view.extents_ = {};
  view.strided_ = false;
  view.size_ = 1;
  for (std::size_t d = 0; d < extents.size(); ++d) {
    view.extents_[d] = extents[d];
    view.size_ *= static_cast<std::uint64_t>(extents[d]);
  }
  return view;
}

AnyArrayView AnyArrayView::flattened() const try {
  if (strided_) detail::throw_strided("flat()");
  AnyArrayView flat = *this;
  flat.extents_ = {static_cast<std::int64_t>(size_), 0, 0, 0};
  flat.rank_ = 1;
  return flat;
} catch (...) {
  detail::rethrow_as_error();
}

}  // namespace weir
