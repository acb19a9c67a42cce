// SPDX-License-Identifier: Apache-2.0
// Copies and fills.
#include <fmt/format.h>

#include <utility>

#include "runtime/devices/profile.hpp"
#include "runtime/errors/stream_errors.hpp"
#include "runtime/memory/array_use.hpp"
#include "runtime/memory/copy_strided.hpp"
#include "runtime/memory/fill_pattern.hpp"
#include "runtime/streams/submission.hpp"

namespace weir {

using detail::DeviceState;
using detail::live;
using detail::MemoryBlock;
using detail::StreamManager;
using detail::StreamPin;
using detail::StreamState;
using detail::Submission;

namespace {

std::string array_word() {
  return "the array";
}

/// Submits a copy by `call`, a call of the driver. `what` is "copy " and where to. `bytes` are those that are
/// read and written on the device.
template <class Call>
void submit_copy(StreamState& stream, const char* what, std::uint64_t bytes, const Call& call) {
  static const std::string* const name = detail::intern("copy");
  const auto submit = [&] {
    stream.device.call_for(stream.launched_last(), what, call);
    stream.note_submission();
  };
  const std::string_view where = std::string_view(what).substr(name->size() + 1);
  detail::submit_timed(stream, {name, where}, submit, [&] { return bytes; });
}

/// Submits a copy that uses the caller's memory, and waits for it, even if another thread destroys the stream
/// during the wait. The caller's memory may be freed when this returns or throws.
template <class Submit>
void copy_and_wait(const StreamRef& on, const Submit& submit) {
  StreamState& stream = live(on);
  const StreamPin pinned(stream);  // keeps the driver's stream, and its slot from being reused
  submit();
  StreamManager& streams = stream.device.streams;
  streams.wait_before_throwing(stream, [&] { streams.synchronize(pinned, stream); });
}

/// Kernels that copy a strided array run on its device.
void check_there(const StreamRef& on, const MemoryBlock& strided) {
  const StreamState& stream = live(on);
  if (&strided.device != &stream.device)
    detail::throw_other_device("the strided array is on device", strided.device, "but the stream is of",
                               stream.device, "pass a stream of the array's device");
}

/// An array of the shape of `view`, which is strided.
AnyArray contiguous_like(const StreamRef& on, const AnyArrayView& view) {
  check_there(on, *view.block());
  return AnyArray(on, view.element(), detail::Extents(view));
}

void check_size(std::size_t host, const AnyArrayView& view) {
  if (host == view.size_bytes()) return;
  const std::size_t element = view.element().size();
  throw Error(ErrorCode::invalid, fmt::format("a copy needs {} elements ({} bytes) of host memory; found {} "
                                              "({} bytes); pass as many, or copy a slice",
                                              view.size(), view.size_bytes(), host / element, host));
}

}  // namespace

void AnyArrayView::copy_from_bytes_async(const StreamRef& on, std::span<const std::byte> source) const try {
  StreamState& stream = live(on);
  detail::live_or_strided(*this);
  check_size(source.size(), *this);
  detail::throw_failure(stream);
  if (strided_) {
    const AnyArray between = contiguous_like(on, *this);
    between.copy_from_bytes_async(on, source);
    // After a failure the caller may free its memory.
    return stream.device.streams.wait_before_throwing(stream,
                                                      [&] { detail::copy_strided(on, *this, between); });
  }
  if (source.empty()) return;
  MemoryBlock& block = detail::use_on(*this, stream, array_word);
  DeviceState& device = stream.device;
  const Submission submission(stream);
  submit_copy(stream, "copy to the device", source.size(), [&](weir_status* status) {
    return device.table().copy_to_device(stream.stream, block.allocation, offset_, source.data(),
                                         source.size(), status);
  });
} catch (...) {
  detail::rethrow_as_error();
}

void AnyArrayView::copy_to_bytes_async(const StreamRef& on, std::span<std::byte> destination) const try {
  StreamState& stream = live(on);
  detail::live_or_strided(*this);
  check_size(destination.size(), *this);
  detail::throw_failure(stream);
  if (strided_) {
    const AnyArray between = contiguous_like(on, *this);
    detail::copy_strided(on, between, *this);
    return between.copy_to_bytes_async(on, destination);
  }
  if (destination.empty()) return;
  MemoryBlock& block = detail::use_on(*this, stream, array_word);
  DeviceState& device = stream.device;
  const Submission submission(stream);
  submit_copy(stream, "copy to the host", destination.size(), [&](weir_status* status) {
    return device.table().copy_to_host(stream.stream, destination.data(), block.allocation, offset_,
                                       destination.size(), status);
  });
} catch (...) {
  detail::rethrow_as_error();
}

void AnyArrayView::copy_from_bytes(const StreamRef& on, std::span<const std::byte> source) const try {
  copy_and_wait(on, [&] { copy_from_bytes_async(on, source); });
} catch (...) {
  detail::rethrow_as_error();
}

void AnyArrayView::copy_to_bytes(const StreamRef& on, std::span<std::byte> destination) const try {
  copy_and_wait(on, [&] { copy_to_bytes_async(on, destination); });
} catch (...) {
  detail::rethrow_as_error();
}

void AnyArrayView::copy_from_array(const StreamRef& on, const AnyArrayView& source) const try {
  StreamState& stream = live(on);
  MemoryBlock& to = detail::live_or_strided(*this);
  MemoryBlock& from = detail::live_or_strided(source);
  if (source.size_bytes() != size_bytes())
    throw Error(ErrorCode::invalid,
                fmt::format("a copy between arrays needs equal sizes; the source has {} bytes, the "
                            "destination {}; copy a slice of the larger",
                            source.size_bytes(), size_bytes()));
  if (&to.device == &from.device && detail::overlap(*this, source))
    throw Error(ErrorCode::invalid,
                "a copy between arrays that overlap or interleave; copy through a third array");
  detail::throw_failure(stream);
  if (size_bytes() == 0) return;
  if (strided_ || source.strided_) {
    if (&to.device == &from.device) {
      check_there(on, to);
      return detail::copy_strided(on, *this, source);
    }
    if (strided_ && source.strided_)
      throw Error(ErrorCode::unsupported,
                  fmt::format("a copy between strided arrays of {} and {}; copy the source into a contiguous "
                              "array of its device first",
                              from.device.device_name(), to.device.device_name()));
    if (source.strided_) {
      const AnyArray between = contiguous_like(on, source);
      detail::copy_strided(on, between, source);
      return copy_from_array(on, between);
    }
    const AnyArray between = contiguous_like(on, *this);
    between.copy_from_array(on, source);
    return detail::copy_strided(on, *this, between);
  }
  DeviceState& device = stream.device;
  if (&to.device == &from.device) {
    detail::use_on(*this, stream, array_word);
    detail::use_on(source, stream, array_word);
    const Submission submission(stream);
    submit_copy(stream, "copy on the device", 2 * size_bytes(), [&](weir_status* status) {
      return device.table().copy_on_device(stream.stream, to.allocation, offset_, from.allocation,
                                           source.offset_, size_bytes(), status);
    });
    return;
  }
  const bool possible = &to.device.driver() == &from.device.driver() && device.has(Capability::peer_copy);
  if (!possible || (&device != &to.device && &device != &from.device))
    throw Error(ErrorCode::unsupported,
                fmt::format("cannot copy from {} to {} on a stream of {}: {}; copy through the host",
                            from.device.device_name(), to.device.device_name(), device.device_name(),
                            possible ? "the stream must be of one of the two devices"
                                     : "there are no peer copies between them"));
  // The event after the copy, which order_free_after() records, must be of the same stream.
  const StreamPin pinned(stream);
  to.device.memory.use_by_peer(to, stream);
  from.device.memory.use_by_peer(from, stream);
  {
    const Submission submission(stream);
    submit_copy(stream, "copy between devices", size_bytes(), [&](weir_status* status) {
      return device.table().copy_peer(stream.stream, to.allocation, offset_, from.allocation, source.offset_,
                                      size_bytes(), status);
    });
  }
  MemoryBlock& other = &to.device == &device ? from : to;
  other.device.memory.order_free_after(other, stream);
} catch (...) {
  detail::rethrow_as_error();
}

void AnyArrayView::fill_zero(const StreamRef& stream) const try {
  const std::byte zeros[16 * 16 * 8] = {};
  fill_bytes(stream, zeros);
} catch (...) {
  detail::rethrow_as_error();
}

void AnyArrayView::fill_bytes(const StreamRef& on, const void* element) const try {
  StreamState& stream = live(on);
  detail::live_or_strided(*this);
  if (strided_) {
    check_there(on, *block_);
    detail::throw_failure(stream);
    const std::int64_t one[] = {1};
    const AnyArray value(on, element_, one);
    value.fill_bytes(on, element);
    return detail::fill_strided(on, *this, value);
  }
  const std::size_t size = element_.size();
  const auto* bytes = static_cast<const std::byte*>(element);
  const std::uint32_t pattern = detail::pattern_size(bytes, size);
  detail::throw_failure(stream);
  if (size_ == 0) return;
  MemoryBlock& block = detail::use_on(*this, stream, array_word);
  DeviceState& device = stream.device;
  const weir_driver_table& table = device.table();
  const auto submit = [&](const auto& call) {
    device.call_for(stream.launched_last(), "fill an array", call);
    stream.note_submission();
  };
  const auto fill = [&](std::uint64_t offset, std::uint64_t length, const std::byte* pattern_bytes,
                        std::uint32_t pattern_bytes_size) {
    submit([&](weir_status* status) {
      return table.fill(stream.stream, block.allocation, offset, length, pattern_bytes, pattern_bytes_size,
                        status);
    });
  };
  const auto submit_all = [&] {
    if (pattern) return fill(offset_, size_bytes(), bytes, pattern);
    detail::fill_by_copies(
        bytes, size, offset_, size_bytes(),
        [&](std::uint64_t at, const std::byte* piece, std::uint32_t length) {
          fill(at, length, piece, length);
        },
        [&](std::uint64_t to, std::uint64_t from, std::uint64_t length) {
          submit([&](weir_status* status) {
            return table.copy_on_device(stream.stream, block.allocation, to, block.allocation, from, length,
                                        status);
          });
        });
  };
  static const std::string* const name = detail::intern("fill");
  const Submission submission(stream);
  detail::submit_timed(stream, {name, "fill"}, submit_all, [&] { return size_bytes(); });
} catch (...) {
  detail::rethrow_as_error();
}

}  // namespace weir
