// SPDX-License-Identifier: Apache-2.0
// GDB's JIT compilation interface: symbols and source lines of code that the dynamic
// linker did not load, for a debugger that starts the process or attaches to it later.
#pragma once

#include <cstddef>

#include "code/elf_file.hpp"

namespace weir::cpu {

struct DebuggerEntry;

/// Registers a copy of the file with the process's addresses: adds `bias` to the addresses of the file. In
/// debug sections it does so for the words with a relocation of type R_X86_64_64, which `ld --emit-relocs`
/// keeps. Without these relocations a debugger has names but no lines. Null when there is nothing to
/// register. Thread-safe.
DebuggerEntry* register_with_debugger(const ElfFile& file, const std::byte* bias);
void unregister_from_debugger(DebuggerEntry* entry) noexcept;

}  // namespace weir::cpu
