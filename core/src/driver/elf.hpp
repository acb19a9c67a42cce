// SPDX-License-Identifier: Apache-2.0
// Reads the header of an ELF file, to say "made for aarch64" before the system's loader says less.
#pragma once

#include <cstdint>
#include <string>

namespace weir {

class TrustedFile;

struct ElfHeader {
  std::string machine;  ///< as `uname -m` says it: "x86_64", or "machine 243" when not known
  bool native = false;  ///< machine, word size and byte order are this process's own
  bool shared_object = false;
};

/// Throws Error{parse} when the file is no ELF file, is larger than 2 GiB or, for a native one, ends before
/// its program headers say: a process that maps such a file dies on first touch. Throws Error{system} when it
/// cannot be read.
ElfHeader read_elf_header(const TrustedFile& file);

}  // namespace weir
