// SPDX-License-Identifier: Apache-2.0
// Whether a code object that is an ELF file is complete. Loaders that take only an address, such as
// cuModuleLoadData, hipModuleLoadData and dlopen, follow the file's headers. They therefore read past the end
// of a truncated file.
#pragma once

#include <elf.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <weir/sdk/status.hpp>

namespace weir::sdk {

/// Whether a code object begins with an ELF file's magic number.
inline bool is_elf(const weir_code_object& object) noexcept {
  return object.size >= SELFMAG && std::memcmp(object.data, ELFMAG, SELFMAG) == 0;
}

/// Throws Failure{WEIR_ERROR_CODE_OBJECT} unless the code object is a 64-bit little-endian ELF file that
/// holds its headers, segments and sections. Reads nothing outside of the object. Thread-safe.
inline void check_whole_elf(const weir_code_object& object) {
  const auto* bytes = static_cast<const unsigned char*>(object.data);
  const std::uint64_t size = object.size;
  const auto check = [&](const char* part, std::uint64_t offset, std::uint64_t length) {
    if (length != 0 && (offset > size || length > size - offset))
      fail(WEIR_ERROR_CODE_OBJECT,
           "code object '%.64s' is cut short: it has %llu bytes, and its %s of %llu bytes begins at byte %llu; "
           "load the whole file",
           object.name ? object.name : "", static_cast<unsigned long long>(size), part,
           static_cast<unsigned long long>(length), static_cast<unsigned long long>(offset));
  };
  check("ELF header", 0, sizeof(Elf64_Ehdr));
  Elf64_Ehdr header;
  std::memcpy(&header, bytes, sizeof header);
  const bool expected = is_elf(object) && header.e_ident[EI_CLASS] == ELFCLASS64 &&
                        header.e_ident[EI_DATA] == ELFDATA2LSB &&
                        (header.e_phnum == 0 || header.e_phentsize == sizeof(Elf64_Phdr)) &&
                        (header.e_shoff == 0 || header.e_shentsize == sizeof(Elf64_Shdr));
  if (!expected)
    fail(WEIR_ERROR_CODE_OBJECT,
         "code object '%.64s' is not a 64-bit little-endian ELF file; load a compiled code object",
         object.name ? object.name : "");

  check("table of segments", header.e_phoff, std::uint64_t{header.e_phnum} * sizeof(Elf64_Phdr));
  for (std::uint64_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    std::memcpy(&segment, bytes + header.e_phoff + i * sizeof segment, sizeof segment);
    if (segment.p_type != PT_NULL) check("segment", segment.p_offset, segment.p_filesz);
  }
  if (header.e_shoff == 0) return;
  // A file with 65,280 sections or more keeps their number in the first one (System V ABI, "ELF Header").
  Elf64_Shdr section;
  check("first section header", header.e_shoff, sizeof section);
  std::memcpy(&section, bytes + header.e_shoff, sizeof section);
  const std::uint64_t sections = header.e_shnum ? header.e_shnum : section.sh_size;
  check("table of sections", header.e_shoff, std::min(sections, size) * sizeof section);
  for (std::uint64_t i = 0; i < sections; ++i) {
    std::memcpy(&section, bytes + header.e_shoff + i * sizeof section, sizeof section);
    if (section.sh_type != SHT_NULL && section.sh_type != SHT_NOBITS)
      check("section", section.sh_offset, section.sh_size);
  }
}

}  // namespace weir::sdk
