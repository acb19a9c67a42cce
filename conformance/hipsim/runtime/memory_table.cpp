// SPDX-License-Identifier: Apache-2.0
#include "runtime/memory_table.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <mutex>
#include <new>

namespace weir::hipsim {
namespace {
constexpr std::uint64_t alignment = 256, gap = 256;
}

void MemoryTable::insert(const std::shared_ptr<Allocation>& block) {
  const std::unique_lock lock(mutex_);
  block->number = next_number_++;
  // The host returns an address again only after a quarantined memory block was released; no other memory
  // block can overlap.
  blocks_[block->begin] = block;
}

std::shared_ptr<Allocation> MemoryTable::allocate(std::uint64_t size, int device, MemoryKind kind) {
  const std::uint64_t whole = (size + alignment - 1) / alignment * alignment + 2 * gap;
  if (whole < size) return nullptr;
  auto* bytes = static_cast<std::uint8_t*>(std::aligned_alloc(alignment, whole));
  if (!bytes) return nullptr;
  auto block = std::make_shared<Allocation>();
  block->storage = std::shared_ptr<std::uint8_t[]>(bytes, [](std::uint8_t* p) { std::free(p); });
  block->begin = reinterpret_cast<std::uintptr_t>(bytes) + gap;
  block->size = size;
  block->device = device;
  block->kind = kind;
  insert(block);
  return block;
}

std::shared_ptr<Allocation> MemoryTable::adopt(std::uint64_t begin, std::uint64_t size, int device,
                                               MemoryKind kind) {
  auto block = std::make_shared<Allocation>();
  block->begin = begin, block->size = size, block->device = device, block->kind = kind;
  insert(block);
  return block;
}

void MemoryTable::free(const std::shared_ptr<Allocation>& block) {
  std::deque<std::shared_ptr<Allocation>> dropped;  // destroyed after the lock is released
  const std::unique_lock lock(mutex_);
  block->freed.store(true, std::memory_order_release);
  quarantine_.push_back(block);
  quarantined_ += block->size;
  while (quarantined_ > quarantine_limit_ && !quarantine_.empty()) {
    quarantined_ -= quarantine_.front()->size;
    blocks_.erase(quarantine_.front()->begin);
    dropped.push_back(std::move(quarantine_.front()));
    quarantine_.pop_front();
  }
}

void MemoryTable::forget(const std::shared_ptr<Allocation>& block) {
  const std::unique_lock lock(mutex_);
  block->freed.store(true, std::memory_order_release);
  const auto found = blocks_.find(block->begin);
  if (found != blocks_.end() && found->second == block) blocks_.erase(found);
}

std::shared_ptr<Allocation> MemoryTable::find(std::uint64_t address) const {
  const std::shared_lock lock(mutex_);
  auto next = blocks_.upper_bound(address);
  if (next == blocks_.begin()) return nullptr;
  --next;
  const bool empty_hit = next->second->size == 0 && next->second->begin == address;
  return address < next->second->end() || empty_hit ? next->second : nullptr;
}

std::string MemoryTable::describe(std::uint64_t address) const {
  const auto name = [](const Allocation& a) {
    const char* kind = a.kind == MemoryKind::device ? "device"
                       : a.kind == MemoryKind::host ? "pinned host"
                                                    : "code";
    return fmt::format("{}{} block {} of {} bytes at {:#x}", a.freed.load() ? "freed " : "", kind, a.number,
                       a.size, a.begin);
  };
  const std::shared_lock lock(mutex_);
  auto next = blocks_.upper_bound(address);
  const Allocation* before = next == blocks_.begin() ? nullptr : std::prev(next)->second.get();
  if (before && address < before->end()) return fmt::format("in {}", name(*before));
  constexpr std::uint64_t near = 1 << 20;
  if (before && address - before->end() < near)
    return fmt::format("{} bytes after the end of {}", address - before->end(), name(*before));
  if (next != blocks_.end() && next->first - address < near)
    return fmt::format("{} bytes before {}", next->first - address, name(*next->second));
  return "in no allocation";
}

std::string MemoryTable::judge(std::uint64_t address, std::uint64_t size) const {
  if (size == 0) return {};
  const auto block = find(address);
  if (!block) return fmt::format("{:#x} is {}", address, describe(address));
  if (block->freed.load()) return fmt::format("{:#x} is {}", address, describe(address));
  if (size > block->end() - address)
    return fmt::format("{} bytes at {:#x} extend {} bytes past the end of the block; the address is {}", size,
                       address, address + size - block->end(), describe(address));
  return {};
}

bool MemoryView::find(std::uint64_t address, std::uint64_t size) {
  if (address >= private_begin_ && address + size <= private_end_) return true;
  auto block = table_.find(address);
  if (!block || block->freed.load() || size > block->end() - address) return false;
  recent_[next_] = std::move(block);
  next_ = (next_ + 1) % 4;
  return true;
}

}  // namespace weir::hipsim
