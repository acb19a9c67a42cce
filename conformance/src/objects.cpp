// SPDX-License-Identifier: Apache-2.0
#include "objects.hpp"

#include "driver/live_objects.hpp"
#include "kernels/gate.hpp"

namespace weir::conformance {
namespace {

bool ready(weir_result result, const weir_status& status) {
  if (result != WEIR_OK && result != WEIR_NOT_READY) fail_call(result, status);
  return result == WEIR_OK;
}

LiveObjects<weir_stream>& streams() {
  static LiveObjects<weir_stream> instance;
  return instance;
}

}  // namespace

void remember_stream(weir_stream stream) {
  streams().add(stream);
}

void forget_stream(weir_stream stream) noexcept {
  streams().remove(stream);
}

void let_work_end() noexcept {
  open_all_gates();
  streams().each([](weir_stream stream) { (void)result_of(table().stream_synchronize, stream); });
}

void fail_call(weir_result result, const weir_status& status) {
  const std::string words =
      std::string(last_slot()) + " returned " + result_name(result) + ": " + status.message;
  let_work_end();
  throw CallFailed(result, words);
}

bool Stream::done() const {
  weir_status status = new_status();
  return ready(table().stream_query(*this, &status), status);
}

bool Event::done() const {
  weir_status status = new_status();
  return ready(table().event_query(*this, &status), status);
}

testing::AssertionResult same_bytes(std::span<const std::uint8_t> found,
                                    std::span<const std::uint8_t> expected) {
  if (found.size() != expected.size())
    return testing::AssertionFailure() << found.size() << " bytes were read; expected " << expected.size();
  const auto [first, wanted] = std::ranges::mismatch(found, expected);
  if (first == found.end()) return testing::AssertionSuccess();
  const int value = *first;  // of a copy that was not complete, it may change
  std::ptrdiff_t wrong = 0;
  for (std::size_t i = 0; i < found.size(); ++i) wrong += found[i] != expected[i];
  return testing::AssertionFailure()
         << wrong << " of " << found.size() << " bytes differ, the first at offset " << first - found.begin()
         << ": it is " << value << "; expected " << int(*wanted)
         << (wrong == 0 || value == int(*wanted)
                 ? ". It was written while it was compared: the work counted as complete too early"
                 : ". The work wrote something else, or it counted as complete too early");
}

Bytes pattern(std::size_t size, std::uint32_t seed) {
  Bytes bytes(size);
  std::uint32_t state = seed * 2654435761u + 12345u;
  for (std::uint8_t& byte : bytes) {
    state = state * 1664525u + 1013904223u;
    byte = static_cast<std::uint8_t>(state >> 24);
  }
  return bytes;
}

Memory::Memory(std::uint64_t size, std::uint32_t kind, weir_device on) : size_(size) {
  const weir_memory_options options = memory_options(size, kind);
  call(table().memory_allocate, on, &options, out());
}

weir_memory_info Memory::info() const {
  weir_memory_info filled{};
  filled.struct_size = sizeof filled;
  call(table().memory_get_info, weir_allocation(*this), &filled);
  return filled;
}

void Memory::write(std::span<const std::uint8_t> bytes, std::uint64_t offset) const {
  const Stream stream;
  call(table().copy_to_device, weir_stream(stream), weir_allocation(*this), offset,
       static_cast<const void*>(bytes.data()), std::uint64_t{bytes.size()});
  stream.synchronize();
}

Bytes Memory::read(std::uint64_t offset, std::uint64_t size) const {
  Bytes bytes(size);
  const Stream stream;
  call(table().copy_to_host, weir_stream(stream), static_cast<void*>(bytes.data()), weir_allocation(*this),
       offset, size);
  stream.synchronize();
  return bytes;
}

HostMemory::HostMemory(std::uint64_t size) : size_(size) {
  if (has(WEIR_CAP_PINNED_MEMORY)) {
    pinned_.emplace_back(size, WEIR_MEMORY_PINNED);
    data_ = static_cast<std::uint8_t*>(pinned_.back().info().host_pointer);
    if (!data_) throw std::runtime_error("pinned memory has no host_pointer");
  } else {
    plain_.resize(size);
    data_ = plain_.data();
  }
}

}  // namespace weir::conformance
