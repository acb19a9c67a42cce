// SPDX-License-Identifier: Apache-2.0
#include "driver/trust/elf.hpp"

#include <fmt/format.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <string_view>
#include <weir/error.hpp>

#include "driver/trust/trust.hpp"

namespace weir {
namespace {

struct Machine {
  std::uint16_t number;
  std::string_view name;
};
constexpr std::array machines{
    Machine{EM_X86_64, "x86_64"}, Machine{EM_AARCH64, "aarch64"}, Machine{EM_386, "i386"},
    Machine{EM_ARM, "arm"},       Machine{EM_PPC64, "ppc64le"},   Machine{EM_RISCV, "riscv64"},
    Machine{EM_S390, "s390x"},    Machine{EM_MIPS, "mips"},       Machine{EM_LOONGARCH, "loongarch64"},
};

std::string machine_name(std::uint16_t number) {
  for (const Machine& machine : machines)
    if (machine.number == number) return std::string(machine.name);
  return fmt::format("machine {}", number);
}

// Code of x86-64's small model spans at most 2 GiB, and hashing a larger sparse file would take seconds.
constexpr std::uint64_t max_library_bytes = std::uint64_t{2} << 30;

[[noreturn]] void refuse(const TrustedFile& file, const std::string& what) {
  throw Error(ErrorCode::parse, fmt::format("the library {} {}", file.named().string(), what));
}

// Returns false at the end of the file.
template <class T>
bool read_at(const TrustedFile& file, std::uint64_t offset, T& out) {
  const ssize_t got = pread(file.descriptor(), &out, sizeof out, static_cast<off_t>(offset));
  if (got < 0)
    throw Error(ErrorCode::system, fmt::format("the library {} cannot be read: {}", file.named().string(),
                                               strerrordesc_np(errno)));
  return got == sizeof out;
}

// Whether a native file contains all bytes that the system's loader would map.
bool is_whole(const TrustedFile& file) {
  ElfW(Ehdr) header;
  if (!read_at(file, 0, header) || header.e_phentsize != sizeof(ElfW(Phdr))) return false;
  for (std::uint64_t i = 0; i < header.e_phnum; ++i) {
    ElfW(Phdr) segment;
    if (header.e_phoff > file.size() || !read_at(file, header.e_phoff + i * sizeof segment, segment))
      return false;
    if (segment.p_type != PT_LOAD) continue;
    if (segment.p_offset > file.size() || segment.p_filesz > file.size() - segment.p_offset) return false;
  }
  return true;
}

}  // namespace

ElfHeader read_elf_header(const TrustedFile& file) {
  // The fields used here have the same offsets in 32-bit and 64-bit headers.
  std::array<unsigned char, EI_NIDENT + 4> bytes{};
  if (!read_at(file, 0, bytes) || memcmp(bytes.data(), ELFMAG, SELFMAG) != 0)
    refuse(file, "is not a shared object: it has no ELF header");
  if (file.size() > max_library_bytes)
    refuse(file,
           fmt::format("is too large: {} bytes, at most {} are expected", file.size(), max_library_bytes));

  const bool big = bytes[EI_DATA] == ELFDATA2MSB;
  const auto half = [&](std::size_t at) {
    const std::uint16_t first = bytes[at], second = bytes[at + 1];
    return static_cast<std::uint16_t>(big ? first << 8 | second : second << 8 | first);
  };
  ElfHeader header;
  header.machine = machine_name(half(EI_NIDENT + 2));
  header.shared_object = half(EI_NIDENT) == ET_DYN;
  const bool wide = bytes[EI_CLASS] == ELFCLASS64;
  const bool native_order = big == (std::endian::native == std::endian::big);
  if (wide != (sizeof(void*) == 8)) header.machine += wide ? ", 64 bit" : ", 32 bit";
  if (!native_order) header.machine += big ? ", big endian" : ", little endian";
  header.native = header.machine == WEIR_MACHINE;
  if (header.native && !is_whole(file))
    refuse(file, "is incomplete: its program headers refer to bytes after its end");
  return header;
}

}  // namespace weir
