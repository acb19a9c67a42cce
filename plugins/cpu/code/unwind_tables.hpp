// SPDX-License-Identifier: Apache-2.0
// Lets exceptions and backtraces in the process pass through code that the dynamic linker did not load.
#pragma once

#include <array>
#include <cstddef>
#include <memory>

#include "code/elf_file.hpp"

namespace weir::cpu {

/// The .eh_frame of an image whose first page is at `memory`, registered while this object exists. Nothing is
/// registered when the image has none, or one that could confuse an unwinder. Throws std::bad_alloc.
class UnwindTables {
 public:
  UnwindTables(const ElfFile& file, std::byte* memory);
  ~UnwindTables();
  UnwindTables(const UnwindTables&) = delete;
  UnwindTables& operator=(const UnwindTables&) = delete;

 private:
  // libgcc's entry in its list of tables. Its struct object has up to 7 words in GCC 4 to 15.
  using Entry = std::array<void*, 16>;
  std::unique_ptr<Entry> entry_;
  const void* eh_frame_ = nullptr;
};

}  // namespace weir::cpu
