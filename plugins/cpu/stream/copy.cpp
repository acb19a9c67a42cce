// SPDX-License-Identifier: Apache-2.0
// Copies and fills: built-in kernels with one block per 512 KiB, so that large ones use all cores.
#include <cinttypes>
#include <cstring>

#include "functions.hpp"
#include "memory.hpp"
#include "stream/stream.hpp"
#include "stream/work.hpp"

namespace weir::cpu {
namespace {

constexpr std::uint64_t bytes_per_block = 512 * 1024;
// Below this size a wake-up costs more than the work.
constexpr std::uint64_t light_bytes = 64 * 1024;
constexpr std::uint64_t medium_bytes = 4 * 1024 * 1024;  // half a millisecond of one core

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

void submit_copy(Stream& stream, const CopyWork& work) {
  check_stream(stream);
  if (work.blocks == 0) return;
  const Weight weight = work.bytes <= light_bytes    ? Weight::light
                        : work.bytes <= medium_bytes ? Weight::medium
                                                     : Weight::heavy;
  submit(stream, weight, [&](Operation& operation) {
    operation.kind = Operation::Kind::blocks;
    operation.owns_arguments = false;
    std::memcpy(operation.arguments, work.arguments, sizeof work.arguments);
    operation.work = work.work(operation.arguments);
  });
}

/// The address of a range of an allocation of `device`.
std::byte* live_range(const Device& device, weir_allocation handle, std::uint64_t offset, std::uint64_t size,
                      const char* what) {
  const Allocation& allocation = live<Allocation>(handle, what);
  sdk::check_device(device, allocation, what);
  return range_of(allocation, offset, size, what);
}

/// Submits the copy of a range of `from` to `to`.
void copy_range(Stream& stream, const Allocation& to, std::uint64_t to_offset, const Allocation& from,
                std::uint64_t from_offset, std::uint64_t size) {
  std::byte* const destination = range_of(to, to_offset, size, "destination");
  const std::byte* const source = range_of(from, from_offset, size, "source");
  sdk::check_apart(to, to_offset, from, from_offset, size);
  submit_copy(stream, copy_of(destination, source, size));
}

}  // namespace

CopyWork copy_of(void* destination, const void* source, std::uint64_t size) noexcept {
  return work_of(copy_blocks, CopyArguments{static_cast<std::byte*>(destination),
                                            static_cast<const std::byte*>(source), size});
}

CopyWork fill_of(void* destination, std::uint64_t size, const sdk::Pattern& pattern) noexcept {
  FillArguments arguments{static_cast<std::byte*>(destination), size, {}};
  std::memcpy(arguments.pattern, pattern.bytes, sizeof arguments.pattern);
  return work_of(fill_blocks, arguments);
}

weir_result copy_to_device(weir_stream stream_handle, weir_allocation destination,
                           uint64_t destination_offset, const void* source, uint64_t size,
                           weir_status* status) {
  return guarded(status, [&] {
    Stream& stream = live<Stream>(stream_handle, "stream");
    std::byte* const to = live_range(*stream.device, destination, destination_offset, size, "destination");
    if (!source && size) fail(WEIR_ERROR_INVALID, "source is null");
    submit_copy(stream, copy_of(to, source, size));
  });
}

weir_result copy_to_host(weir_stream stream_handle, void* destination, weir_allocation source,
                         uint64_t source_offset, uint64_t size, weir_status* status) {
  return guarded(status, [&] {
    Stream& stream = live<Stream>(stream_handle, "stream");
    const std::byte* const from = live_range(*stream.device, source, source_offset, size, "source");
    if (!destination && size) fail(WEIR_ERROR_INVALID, "destination is null");
    submit_copy(stream, copy_of(destination, from, size));
  });
}

weir_result copy_on_device(weir_stream stream_handle, weir_allocation destination,
                           uint64_t destination_offset, weir_allocation source, uint64_t source_offset,
                           uint64_t size, weir_status* status) {
  return guarded(status, [&] {
    Stream& stream = live<Stream>(stream_handle, "stream");
    const Allocation& to = live<Allocation>(destination, "destination");
    const Allocation& from = live<Allocation>(source, "source");
    sdk::check_device(*stream.device, to, "destination");
    sdk::check_device(*stream.device, from, "source");
    copy_range(stream, to, destination_offset, from, source_offset, size);
  });
}

weir_result copy_peer(weir_stream stream_handle, weir_allocation destination, uint64_t destination_offset,
                      weir_allocation source, uint64_t source_offset, uint64_t size, weir_status* status) {
  return guarded(status, [&] {
    Stream& stream = live<Stream>(stream_handle, "stream");
    const Allocation& to = live<Allocation>(destination, "destination");
    const Allocation& from = live<Allocation>(source, "source");
    if (to.device != stream.device && from.device != stream.device)
      fail(WEIR_ERROR_INVALID,
           "the stream is of device %u; expected that of destination, %u, or of source, %u",
           stream.device->index, to.device->index, from.device->index);
    copy_range(stream, to, destination_offset, from, source_offset, size);
  });
}

weir_result fill(weir_stream stream_handle, weir_allocation destination, uint64_t offset, uint64_t size,
                 const void* pattern, uint32_t pattern_size, weir_status* status) {
  return guarded(status, [&] {
    Stream& stream = live<Stream>(stream_handle, "stream");
    std::byte* const to = live_range(*stream.device, destination, offset, size, "destination");
    submit_copy(stream, fill_of(to, size, sdk::check_pattern(offset, size, pattern, pattern_size)));
  });
}

}  // namespace weir::cpu
