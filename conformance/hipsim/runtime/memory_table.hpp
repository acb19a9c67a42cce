// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <shared_mutex>
#include <string>

namespace weir::hipsim {

enum class MemoryKind : std::uint8_t { device, host, code };

/// A live or freed memory block. Freed memory blocks stay in the table, and mapped, for a while, so that
/// later use is detected.
struct Allocation {
  std::uint64_t begin = 0, size = 0;
  int device = 0;
  MemoryKind kind = MemoryKind::device;
  std::uint32_t number = 0;  ///< counts allocations, for messages
  std::atomic<bool> freed{false};
  bool pooled = false;                      ///< came from a memory pool, which keeps it when it is freed
  std::shared_ptr<std::uint8_t[]> storage;  ///< empty if the memory belongs to another owner
  std::uint64_t end() const { return begin + size; }
};

/// All memory blocks that kernels and copies may access, by address. Thread-safe.
class MemoryTable {
 public:
  /// `quarantine` is the number of bytes of freed memory blocks that are kept.
  explicit MemoryTable(std::uint64_t quarantine) : quarantine_limit_(quarantine) {}

  /// Allocates a memory block, aligned to 256 bytes. Gaps before and after it are in no memory block, so
  /// accesses there are detected. Returns null if the host has no memory.
  std::shared_ptr<Allocation> allocate(std::uint64_t size, int device, MemoryKind kind);
  /// Adds memory of another owner to the table.
  std::shared_ptr<Allocation> adopt(std::uint64_t begin, std::uint64_t size, int device, MemoryKind kind);
  /// Marks a memory block as freed; its memory is released when the quarantine overflows.
  void free(const std::shared_ptr<Allocation>& block);
  /// Removes an adopted memory block at once.
  void forget(const std::shared_ptr<Allocation>& block);

  /// The memory block that contains `address`, freed ones included; null if there is none.
  std::shared_ptr<Allocation> find(std::uint64_t address) const;
  /// A description of the address and the memory blocks near it.
  std::string describe(std::uint64_t address) const;
  /// A description of an access's fault; empty for a valid access.
  std::string judge(std::uint64_t address, std::uint64_t size) const;

 private:
  void insert(const std::shared_ptr<Allocation>& block);
  mutable std::shared_mutex mutex_;
  std::map<std::uint64_t, std::shared_ptr<Allocation>> blocks_;  // by begin
  std::deque<std::shared_ptr<Allocation>> quarantine_;
  std::uint64_t quarantine_limit_, quarantined_ = 0;
  std::uint32_t next_number_ = 1;
};

/// One thread's cache of the table: keeps the memory blocks that were found last.
class MemoryView {
 public:
  explicit MemoryView(const MemoryTable& table) : table_(table) {}
  /// A range that only this launch may access, such as its arguments.
  void set_private_range(std::uint64_t begin, std::uint64_t end) {
    private_begin_ = begin, private_end_ = end;
  }
  /// Whether an access is valid.
  bool good(std::uint64_t address, std::uint64_t size) {
    for (std::size_t k = 0; k < 4; ++k) {
      const Allocation* block = recent_[k].get();
      if (block && address >= block->begin && address + size <= block->end() && address + size >= address)
        return !block->freed.load(std::memory_order_acquire);
    }
    return find(address, size);
  }
  const MemoryTable& table() const { return table_; }

 private:
  bool find(std::uint64_t address, std::uint64_t size);
  const MemoryTable& table_;
  std::shared_ptr<Allocation> recent_[4];
  unsigned next_ = 0;
  std::uint64_t private_begin_ = 0, private_end_ = 0;
};

}  // namespace weir::hipsim
