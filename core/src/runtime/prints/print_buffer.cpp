// SPDX-License-Identifier: Apache-2.0
#include "runtime/prints/print_buffer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "driver/environment.hpp"
#include "runtime/devices/device_state.hpp"
#include "runtime/errors/stream_errors.hpp"
#include "runtime/prints/print_output.hpp"
#include "runtime/prints/print_sites.hpp"
#include "runtime/streams/submission.hpp"

namespace weir::detail {
namespace {

constexpr std::uint64_t usual_bytes = 1 << 20, min_bytes = 4096;

std::uint64_t buffer_bytes() {
  const char* const name = "WEIR_PRINT_BYTES";
  const std::string text = secure_environment(name);
  const std::uint64_t bytes = parse_bytes(name, text).value_or(usual_bytes);
  constexpr std::uint64_t max_bytes = std::uint64_t{ir::max_print_words} * 8;
  if (bytes < min_bytes || bytes > max_bytes) refuse_environment(name, text, "4K to 4G");
  return bytes / 8 * 8;
}

ir::PrintHeader empty_header(std::uint64_t bytes) noexcept {
  return {0, 0, static_cast<std::uint32_t>((bytes - ir::print_header_bytes) / 8), 0};
}

/// Clears `claimed` and `lost` after the stream's work so far.
void clear(StreamState& stream, const PrintBuffer& buffer) {
  clear_report_memory(stream, buffer.memory, offsetof(ir::PrintHeader, capacity));
}

/// Sets the capacity of a buffer that the host cannot write.
void set_header(StreamState& stream, const PrintBuffer& buffer) {
  const ir::PrintHeader header = empty_header(buffer.bytes);
  DeviceState& device = stream.device;
  {
    const Submission submission(stream);
    device.call("set a stream's print buffer", [&](weir_status* status) {
      return device.table().copy_to_device(stream.stream, buffer.memory.allocation, 0, &header, sizeof header,
                                           status);
    });
    stream.note_submission();
  }
  wait_for_report(stream, buffer.memory);
}

/// Copies `bytes` of the buffer and clears it, in the order of the stream: launches of other threads write
/// before or after both.
std::vector<std::byte> take(StreamState& stream, const PrintBuffer& buffer, std::uint64_t bytes) {
  DeviceState& device = stream.device;
  std::vector<std::byte> copy(bytes);
  {
    const Submission submission(stream);
    device.call("read a stream's print buffer", [&](weir_status* status) {
      return device.table().copy_to_host(stream.stream, copy.data(), buffer.memory.allocation, 0, bytes,
                                         status);
    });
    stream.note_submission();
    try {
      clear(stream, buffer);
    } catch (...) {
      device.streams.wait_for_all_of(stream);  // the copy above writes to memory that unwinding frees
      throw;
    }
  }
  wait_for_report(stream, buffer.memory);
  return copy;
}

/// Takes the contents while no work of the stream is in flight.
std::vector<std::byte> take_in_place(PrintBuffer& buffer) {
  ir::PrintHeader* header = buffer.header();
  const auto* bytes = reinterpret_cast<const std::byte*>(header);
  const std::uint32_t words =
      std::min(std::atomic_ref(header->claimed).load(std::memory_order_acquire), header->capacity);
  std::vector<std::byte> copy(bytes, bytes + ir::print_header_bytes + std::size_t{8} * words);
  std::atomic_ref(header->claimed).store(0, std::memory_order_release);
  std::atomic_ref(header->lost).store(0, std::memory_order_release);
  return copy;
}

std::vector<std::byte> take(StreamState& stream, PrintBuffer& buffer) {
  try {
    const StreamPin pinned(stream);
    if (buffer.header()) {  // most streams are idle after the wait; then little of a large buffer is read
      const Submission submission(stream);
      const bool idle = stream.device.query(nullptr, "query a stream", [&](weir_status* status) {
        return stream.device.table().stream_query(stream.stream, status);
      });
      if (idle) return take_in_place(buffer);
    }
    return take(stream, buffer, buffer.bytes);
  } catch (...) {  // a destroyed stream, or a failed device
    if (!buffer.header()) throw;
    return take_in_place(buffer);
  }
}

/// Lines that cannot be shown.
struct LostLines {
  std::uint32_t for_space = 0, of_destroyed = 0;  ///< the buffer was full; their kernels are forgotten
};

std::vector<std::string> lines_of(const std::vector<std::byte>& bytes, LostLines& lost) {
  ir::PrintHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  lost.for_space = header.lost;
  const std::uint64_t held = (bytes.size() - ir::print_header_bytes) / 8;
  const auto end =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(std::min(header.claimed, header.capacity), held));
  const std::byte* words = bytes.data() + ir::print_header_bytes;
  std::vector<Printed> all;
  std::map<std::uint32_t, std::shared_ptr<const PrintSite>> sites;
  ir::PrintEntry entry;
  for (std::uint32_t at = 0; at + ir::print_entry_words <= end; at += entry.words) {
    std::memcpy(&entry, words + std::size_t{8} * at, sizeof entry);
    if (entry.site == 0 || entry.words < ir::print_entry_words || entry.words > end - at) break;
    const auto [site, fresh] = sites.try_emplace(entry.site);
    if (fresh) site->second = find_print(entry.site);
    if (!site->second) {
      ++lost.of_destroyed;
      continue;
    }
    Printed printed{entry.launch, site->second, {}, {}};
    std::copy(std::begin(entry.index), std::end(entry.index), printed.index.begin());
    printed.values.resize(entry.words - ir::print_entry_words);
    if (!printed.values.empty())
      std::memcpy(printed.values.data(), words + std::size_t{8} * (at + ir::print_entry_words),
                  8 * printed.values.size());
    all.push_back(std::move(printed));
  }
  return lines_in_order(std::move(all));
}

}  // namespace

PrintBuffer& print_buffer(StreamState& stream) {
  if (PrintBuffer* buffer = stream.prints.load(std::memory_order_acquire)) return *buffer;
  DeviceState& device = stream.device;
  auto buffer = std::make_unique<PrintBuffer>();
  buffer->bytes = buffer_bytes();
  buffer->memory = allocate_report_memory(device, "print buffer", buffer->bytes);
  try {
    if (ir::PrintHeader* header = buffer->header())
      *header = empty_header(buffer->bytes);
    else
      set_header(stream, *buffer);
  } catch (...) {
    free_report_memory(device, buffer->memory);
    throw;
  }
  PrintBuffer* expected = nullptr;
  if (stream.prints.compare_exchange_strong(expected, buffer.get(), std::memory_order_acq_rel))
    return *buffer.release();
  free_report_memory(device, buffer->memory);
  return *expected;
}

namespace {

/// Passes on the lines of `buffer.taken` and empties it.
void show_taken(const StreamState& stream, PrintBuffer& buffer) {
  if (buffer.taken.empty()) return;
  LostLines lost;
  std::vector<std::string> lines = lines_of(buffer.taken, lost);
  if (lost.of_destroyed != 0)
    lines.push_back(
        fmt::format("weir: {} lines of kernels on {} were lost, because these kernels and many others were "
                    "destroyed before the stream was waited for; keep kernels until then",
                    lost.of_destroyed, stream.device.device_name()));
  if (lost.for_space != 0)
    lines.push_back(fmt::format(
        "weir: {} more lines of kernels on {} were lost, because a stream keeps {} bytes of them between two "
        "waits; wait for it more often, or set WEIR_PRINT_BYTES to a larger number",
        lost.for_space, stream.device.device_name(), buffer.bytes));
  output_lines(lines);
  buffer.taken = {};
}

}  // namespace

bool show_printed_lines(StreamState& stream, PrintBuffer& buffer) noexcept try {
  // If a function of on_print waits for a stream, against its contract, it finds no lines instead of a
  // deadlock. So does a wait inside of a sequence: the thread that shows lines may wait for its end. A later
  // wait shows them.
  thread_local bool is_showing = false;
  if (is_showing || in_any_sequence()) return true;
  struct Showing {
    Showing() { is_showing = true; }
    ~Showing() { is_showing = false; }
  } const showing;
  const std::lock_guard lock(buffer.showing);
  show_taken(stream, buffer);
  if (!buffer.is_empty()) {
    buffer.has_taken.store(true, std::memory_order_release);
    buffer.taken = take(stream, buffer);
    show_taken(stream, buffer);
  }
  buffer.has_taken.store(false, std::memory_order_release);
  return true;
} catch (const std::bad_alloc&) {
  return false;
} catch (...) {  // the device's failure is reported by the call that waited
  return true;
}

}  // namespace weir::detail
