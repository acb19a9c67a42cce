// SPDX-License-Identifier: Apache-2.0
// Lets exceptions and backtraces in the process pass through code that the dynamic linker did not load.
#pragma once

#include <cstddef>

#include "elf_file.hpp"

namespace weir::cpu {

/// Registers the .eh_frame of an image whose first page is at `memory`. Returns a token for
/// remove_unwind_tables(); null when the image has none, or one that could confuse an unwinder.
void* add_unwind_tables(const ElfFile& file, std::byte* memory);
void remove_unwind_tables(void* tables) noexcept;

}  // namespace weir::cpu
