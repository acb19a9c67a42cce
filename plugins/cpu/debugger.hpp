// SPDX-License-Identifier: Apache-2.0
// GDB's JIT compilation interface: symbols and source lines of code that the dynamic
// linker did not load, for a debugger that starts the process or attaches to it later.
#pragma once

#include <cstddef>

#include "elf_file.hpp"

namespace weir::cpu {

struct DebuggerEntry;

/// Offers a copy of the file in which addresses are those of the process: `bias` is what is added to an
/// address of the file. In debug sections that is done for the words that relocations of type R_X86_64_64
/// name, which `ld --emit-relocs` keeps; without those a debugger has names but no lines. Null when there is
/// nothing to offer. Thread-safe.
DebuggerEntry* tell_debugger(const ElfFile& file, const std::byte* bias);
void forget_by_debugger(DebuggerEntry* entry) noexcept;

}  // namespace weir::cpu
