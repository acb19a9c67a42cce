// SPDX-License-Identifier: Apache-2.0
#include "compilation/private_descriptor.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <utility>

namespace weir::compilation {
namespace {

// A table without a lock, because another thread may hold a lock at the moment of a fork. With more
// descriptors than slots, a forked child keeps copies of the others, which only delays the end of the helper.
constexpr std::size_t slots = 512;
constinit std::array<std::atomic<int>, slots> open_numbers{};  // number + 1; 0 for a free slot

std::size_t note(int number) noexcept {
  for (std::size_t slot = 0; slot < slots; ++slot) {
    int free = 0;
    if (open_numbers[slot].compare_exchange_strong(free, number + 1)) return slot;
  }
  return slots;
}

}  // namespace

PrivateDescriptor::PrivateDescriptor(int number) noexcept : number_(number) {
  if (number_ < 0) return;
  if (number_ <= STDERR_FILENO) {
    number_ = fcntl(number, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    close(number);
  }
  slot_ = note(number_);
}

PrivateDescriptor::PrivateDescriptor(PrivateDescriptor&& other) noexcept
    : number_(std::exchange(other.number_, -1)), slot_(other.slot_) {}

PrivateDescriptor& PrivateDescriptor::operator=(PrivateDescriptor&& other) noexcept {
  if (this == &other) return *this;
  reset();
  number_ = std::exchange(other.number_, -1);
  slot_ = other.slot_;
  return *this;
}

void PrivateDescriptor::reset() noexcept {
  if (number_ < 0) return;
  if (slot_ < slots) open_numbers[slot_].store(0);
  close(std::exchange(number_, -1));
}

void close_private_descriptors() noexcept {
  for (std::atomic<int>& slot : open_numbers)
    if (const int number = slot.exchange(0) - 1; number >= 0) close(number);
}

}  // namespace weir::compilation
