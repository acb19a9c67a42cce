// SPDX-License-Identifier: Apache-2.0
// Reads the header of an ELF file, for a more precise message than that of the system's loader.
#pragma once

#include <cstdint>
#include <string>

namespace weir {

class TrustedFile;

struct ElfHeader {
  std::string machine;  ///< as printed by `uname -m`: "x86_64", or "machine 243" when not known
  bool native = false;  ///< machine, word size and byte order equal those of this process
  bool shared_object = false;
};

/// Throws Error{parse} when the file is not an ELF file, is larger than 2 GiB or, for a native file, ends
/// before its program headers say. A process that maps such a truncated file crashes on the first access.
/// Throws Error{system} when the file cannot be read.
ElfHeader read_elf_header(const TrustedFile& file);

}  // namespace weir
