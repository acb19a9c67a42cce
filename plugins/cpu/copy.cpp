// SPDX-License-Identifier: Apache-2.0
// Copies and fills: built-in kernels with one block per 512 KiB, so that large ones use all cores.
#include <cinttypes>
#include <cstring>

#include "functions.hpp"
#include "memory.hpp"
#include "stream.hpp"
#include "work.hpp"

namespace weir::cpu {
namespace {

constexpr std::uint64_t bytes_per_block = 512 * 1024;
// Below this size a wake-up costs more than the work.
constexpr std::uint64_t light_bytes = 64 * 1024;

struct CopyArguments {
  std::byte* destination;
  const std::byte* source;
  std::uint64_t size;
};

struct FillArguments {
  std::byte* destination;
  std::uint64_t size;
  std::byte pattern[16];  // repeated to its full length
};

void copy_blocks(const void* opaque, const weir_cpu_run* run) {
  const auto& arguments = *static_cast<const CopyArguments*>(opaque);
  const std::uint64_t begin = run->first_block * bytes_per_block;
  const std::uint64_t end = std::min(run->end_block * bytes_per_block, arguments.size);
  std::memcpy(arguments.destination + begin, arguments.source + begin, end - begin);
}

void fill_blocks(const void* opaque, const weir_cpu_run* run) {
  const auto& arguments = *static_cast<const FillArguments*>(opaque);
  std::byte* begin = arguments.destination + run->first_block * bytes_per_block;
  std::byte* end = arguments.destination + std::min(run->end_block * bytes_per_block, arguments.size);
  for (; end - begin >= 16; begin += 16) std::memcpy(begin, arguments.pattern, 16);
  if (begin != end) std::memcpy(begin, arguments.pattern, static_cast<std::size_t>(end - begin));
}

template <class Arguments>
CopyWork work_of(weir_cpu_kernel function, const Arguments& arguments) {
  static_assert(sizeof(Arguments) <= copy_argument_bytes && copy_argument_bytes <= inline_argument_bytes);
  CopyWork work;
  work.function = function;
  work.bytes = arguments.size;
  work.blocks = (arguments.size + bytes_per_block - 1) / bytes_per_block;
  std::memcpy(work.arguments, &arguments, sizeof arguments);
  return work;
}

CopyWork copy_of(void* destination, const void* source, std::uint64_t size) {
  return work_of(copy_blocks,
                 CopyArguments{static_cast<std::byte*>(destination), static_cast<const std::byte*>(source), size});
}

void submit_copy(Stream& stream, const CopyWork& work) {
  check_stream(stream);
  if (work.blocks == 0) return;
  submit(stream, work.bytes <= light_bytes, [&](Operation& operation) {
    operation.kind = Operation::Kind::blocks;
    operation.owns_arguments = false;
    std::memcpy(operation.arguments, work.arguments, sizeof work.arguments);
    operation.work = work.work(operation.arguments);
  });
}

void check_device(const Device& device, const char* owner, const Allocation& allocation, const char* what) {
  if (allocation.device != &device)
    fail(WEIR_ERROR_INVALID, "%s is of device %u, the %s of device %u", what, allocation.device->index, owner,
         device.index);
}

void check_apart(const Allocation& destination, std::uint64_t to, const Allocation& source, std::uint64_t from,
                 std::uint64_t size) {
  if (&destination == &source && size > 0 && to < from + size && from < to + size)
    fail(WEIR_ERROR_INVALID,
         "the ranges of %" PRIu64 " bytes at offsets %" PRIu64 " and %" PRIu64 " of one allocation overlap", size, from,
         to);
}

}  // namespace

CopyWork check_copy_to_device(const Device& device, const char* owner, weir_allocation destination,
                              std::uint64_t destination_offset, const void* source, std::uint64_t size) {
  Allocation& allocation = live<Allocation>(destination, "destination");
  check_device(device, owner, allocation, "destination");
  void* to = range_of(allocation, destination_offset, size, "destination");
  if (!source && size) fail(WEIR_ERROR_INVALID, "source is null");
  return copy_of(to, source, size);
}

CopyWork check_copy_to_host(const Device& device, const char* owner, void* destination, weir_allocation source,
                            std::uint64_t source_offset, std::uint64_t size) {
  Allocation& allocation = live<Allocation>(source, "source");
  check_device(device, owner, allocation, "source");
  const void* from = range_of(allocation, source_offset, size, "source");
  if (!destination && size) fail(WEIR_ERROR_INVALID, "destination is null");
  return copy_of(destination, from, size);
}

CopyWork check_copy_on_device(const Device& device, const char* owner, weir_allocation destination,
                              std::uint64_t destination_offset, weir_allocation source, std::uint64_t source_offset,
                              std::uint64_t size) {
  Allocation& to = live<Allocation>(destination, "destination");
  Allocation& from = live<Allocation>(source, "source");
  check_device(device, owner, to, "destination");
  check_device(device, owner, from, "source");
  void* to_address = range_of(to, destination_offset, size, "destination");
  const void* from_address = range_of(from, source_offset, size, "source");
  check_apart(to, destination_offset, from, source_offset, size);
  return copy_of(to_address, from_address, size);
}

CopyWork check_fill(const Device& device, const char* owner, weir_allocation destination, std::uint64_t offset,
                    std::uint64_t size, const void* pattern, std::uint32_t pattern_size) {
  Allocation& allocation = live<Allocation>(destination, "destination");
  check_device(device, owner, allocation, "destination");
  if (!pattern) fail(WEIR_ERROR_INVALID, "pattern is null");
  if (pattern_size == 0 || pattern_size > 16 || (pattern_size & (pattern_size - 1)))
    fail(WEIR_ERROR_INVALID, "pattern_size is %u; expected 1, 2, 4, 8 or 16", pattern_size);
  if (offset % pattern_size || size % pattern_size)
    fail(WEIR_ERROR_INVALID, "offset %" PRIu64 " and size %" PRIu64 " are not multiples of pattern_size %u", offset,
         size, pattern_size);
  FillArguments arguments{static_cast<std::byte*>(range_of(allocation, offset, size, "destination")), size, {}};
  for (std::uint32_t i = 0; i < sizeof arguments.pattern; i += pattern_size)
    std::memcpy(arguments.pattern + i, pattern, pattern_size);
  return work_of(fill_blocks, arguments);
}

weir_result copy_to_device(weir_stream stream_handle, weir_allocation destination, uint64_t destination_offset,
                           const void* source, uint64_t size, weir_status* status) {
  return guarded(status, [&] {
    Stream& stream = live<Stream>(stream_handle, "stream");
    submit_copy(stream, check_copy_to_device(*stream.device, "stream", destination, destination_offset, source, size));
  });
}

weir_result copy_to_host(weir_stream stream_handle, void* destination, weir_allocation source, uint64_t source_offset,
                         uint64_t size, weir_status* status) {
  return guarded(status, [&] {
    Stream& stream = live<Stream>(stream_handle, "stream");
    submit_copy(stream, check_copy_to_host(*stream.device, "stream", destination, source, source_offset, size));
  });
}

weir_result copy_on_device(weir_stream stream_handle, weir_allocation destination, uint64_t destination_offset,
                           weir_allocation source, uint64_t source_offset, uint64_t size, weir_status* status) {
  return guarded(status, [&] {
    Stream& stream = live<Stream>(stream_handle, "stream");
    submit_copy(stream, check_copy_on_device(*stream.device, "stream", destination, destination_offset, source,
                                             source_offset, size));
  });
}

weir_result copy_peer(weir_stream stream_handle, weir_allocation destination, uint64_t destination_offset,
                      weir_allocation source, uint64_t source_offset, uint64_t size, weir_status* status) {
  return guarded(status, [&] {
    Stream& stream = live<Stream>(stream_handle, "stream");
    Allocation& to = live<Allocation>(destination, "destination");
    Allocation& from = live<Allocation>(source, "source");
    if (to.device != stream.device && from.device != stream.device)
      fail(WEIR_ERROR_INVALID, "the stream is of device %u; expected that of destination, %u, or of source, %u",
           stream.device->index, to.device->index, from.device->index);
    void* to_address = range_of(to, destination_offset, size, "destination");
    const void* from_address = range_of(from, source_offset, size, "source");
    check_apart(to, destination_offset, from, source_offset, size);
    submit_copy(stream, copy_of(to_address, from_address, size));
  });
}

weir_result fill(weir_stream stream_handle, weir_allocation destination, uint64_t offset, uint64_t size,
                 const void* pattern, uint32_t pattern_size, weir_status* status) {
  return guarded(status, [&] {
    Stream& stream = live<Stream>(stream_handle, "stream");
    submit_copy(stream, check_fill(*stream.device, "stream", destination, offset, size, pattern, pattern_size));
  });
}

}  // namespace weir::cpu
