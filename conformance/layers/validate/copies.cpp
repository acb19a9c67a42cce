// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cinttypes>

#include "validate.hpp"

namespace weir::validate {

void Validate::check_range(const Allocation& allocation, std::uint64_t at, std::uint64_t size,
                           const char* what) {
  if (at > allocation.size || size > allocation.size - at)
    refuse("argument", "%s: %" PRIu64 " bytes at offset %" PRIu64 " are not inside %s", what, size, at,
           describe(allocation).c_str());
}

void Validate::check_pattern(std::uint64_t at, std::uint64_t size, const void* pattern,
                             std::uint32_t pattern_size) {
  if (!pattern) refuse("null", "pattern is null; expected %u bytes", pattern_size);
  if (pattern_size > 16 || !std::has_single_bit(pattern_size))
    refuse("argument", "pattern_size is %u; expected 1, 2, 4, 8 or 16", pattern_size);
  if (at % pattern_size || size % pattern_size)
    refuse("argument", "offset %" PRIu64 " and size %" PRIu64 " are not multiples of pattern_size %u", at,
           size, pattern_size);
}

weir_result Validate::copy_to_device(weir_stream stream_handle, weir_allocation to_handle, std::uint64_t at,
                                     const void* from, std::uint64_t size, weir_status* status) {
  const std::shared_ptr<Stream> stream = live<Stream>(stream_handle, "stream");
  const std::shared_ptr<Allocation> to = live<Allocation>(to_handle, "destination");
  check_device(*to, *stream->device, "destination");
  check_range(*to, at, size, "destination");
  if (!from && size) refuse("null", "source is null; expected %" PRIu64 " bytes", size);
  const weir_result result = next.copy_to_device(stream->real, to->real, at, from, size, status);
  if (result != WEIR_OK || size == 0) return result;
  return taken([&] {
    touch(*stream, {use_of(to, at, size, WEIR_ACCESS_WRITE, "copy_to_device"),
                    host_use(*stream->device, from, size, WEIR_ACCESS_READ, "copy_to_device")});
  });
}

weir_result Validate::copy_to_host(weir_stream stream_handle, void* to, weir_allocation from_handle,
                                   std::uint64_t at, std::uint64_t size, weir_status* status) {
  const std::shared_ptr<Stream> stream = live<Stream>(stream_handle, "stream");
  const std::shared_ptr<Allocation> from = live<Allocation>(from_handle, "source");
  check_device(*from, *stream->device, "source");
  check_range(*from, at, size, "source");
  if (!to && size) refuse("null", "destination is null; expected room for %" PRIu64 " bytes", size);
  const weir_result result = next.copy_to_host(stream->real, to, from->real, at, size, status);
  if (result != WEIR_OK || size == 0) return result;
  return taken([&] {
    touch(*stream, {use_of(from, at, size, WEIR_ACCESS_READ, "copy_to_host"),
                    host_use(*stream->device, to, size, WEIR_ACCESS_WRITE, "copy_to_host")});
  });
}

weir_result Validate::copy_on_device(weir_stream stream_handle, weir_allocation to_handle,
                                     std::uint64_t to_at, weir_allocation from_handle, std::uint64_t from_at,
                                     std::uint64_t size, weir_status* status) {
  const std::shared_ptr<Stream> stream = live<Stream>(stream_handle, "stream");
  const std::shared_ptr<Allocation> to = live<Allocation>(to_handle, "destination");
  const std::shared_ptr<Allocation> from = live<Allocation>(from_handle, "source");
  check_device(*to, *stream->device, "destination");
  check_device(*from, *stream->device, "source");
  check_range(*to, to_at, size, "destination");
  check_range(*from, from_at, size, "source");
  if (to == from && size && to_at < from_at + size && from_at < to_at + size)
    refuse("argument", "the ranges of %" PRIu64 " bytes at offsets %" PRIu64 " and %" PRIu64 " of %s overlap",
           size, from_at, to_at, describe(*to).c_str());
  const weir_result result =
      next.copy_on_device(stream->real, to->real, to_at, from->real, from_at, size, status);
  if (result != WEIR_OK || size == 0) return result;
  return taken([&] {
    touch(*stream, {use_of(from, from_at, size, WEIR_ACCESS_READ, "copy_on_device"),
                    use_of(to, to_at, size, WEIR_ACCESS_WRITE, "copy_on_device")});
  });
}

weir_result Validate::copy_peer(weir_stream stream_handle, weir_allocation to_handle, std::uint64_t to_at,
                                weir_allocation from_handle, std::uint64_t from_at, std::uint64_t size,
                                weir_status* status) {
  const std::shared_ptr<Stream> stream = live<Stream>(stream_handle, "stream");
  const std::shared_ptr<Allocation> to = live<Allocation>(to_handle, "destination");
  const std::shared_ptr<Allocation> from = live<Allocation>(from_handle, "source");
  if (stream->device != to->device && stream->device != from->device)
    refuse("foreign", "stream is %s; expected one of the device of %s or of %s", describe(*stream).c_str(),
           describe(*to).c_str(), describe(*from).c_str());
  check_range(*to, to_at, size, "destination");
  check_range(*from, from_at, size, "source");
  const weir_result result = next.copy_peer(stream->real, to->real, to_at, from->real, from_at, size, status);
  if (result != WEIR_OK || size == 0) return result;
  return taken([&] {
    touch(*stream, {use_of(from, from_at, size, WEIR_ACCESS_READ, "copy_peer"),
                    use_of(to, to_at, size, WEIR_ACCESS_WRITE, "copy_peer")});
  });
}

weir_result Validate::fill(weir_stream stream_handle, weir_allocation to_handle, std::uint64_t at,
                           std::uint64_t size, const void* pattern, std::uint32_t pattern_size,
                           weir_status* status) {
  const std::shared_ptr<Stream> stream = live<Stream>(stream_handle, "stream");
  const std::shared_ptr<Allocation> to = live<Allocation>(to_handle, "destination");
  check_device(*to, *stream->device, "destination");
  check_range(*to, at, size, "destination");
  check_pattern(at, size, pattern, pattern_size);
  const weir_result result = next.fill(stream->real, to->real, at, size, pattern, pattern_size, status);
  if (result != WEIR_OK || size == 0) return result;
  return taken([&] { touch(*stream, {use_of(to, at, size, WEIR_ACCESS_WRITE, "fill")}); });
}

}  // namespace weir::validate
