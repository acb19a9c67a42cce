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

/// Throws Error{parse} if the file is not an ELF file or is larger than 2 GiB, and for a native file that is
/// shorter than its program headers require. A process that maps such a truncated file crashes on the first
/// access. Throws Error{system} when the file cannot be read.
ElfHeader read_elf_header(const TrustedFile& file);

}  // namespace weir
