// SPDX-License-Identifier: Apache-2.0
#include "driver/elf.hpp"

#include <fmt/format.h>
#include <link.h>

#include <array>
#include <bit>
#include <cstring>
#include <fstream>
#include <string_view>
#include <weir/error.hpp>

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

template <class T>
bool read_at(std::ifstream& in, std::uint64_t offset, T& out) {
  in.clear();
  in.seekg(static_cast<std::streamoff>(offset));
  in.read(reinterpret_cast<char*>(&out), sizeof out);
  return in.gcount() == sizeof out;
}

// Whether all that the system's loader would map of a native file is there.
bool is_whole(std::ifstream& in, std::uint64_t file_size) {
  ElfW(Ehdr) header;
  if (!read_at(in, 0, header) || header.e_phentsize != sizeof(ElfW(Phdr))) return false;
  for (std::uint64_t i = 0; i < header.e_phnum; ++i) {
    ElfW(Phdr) segment;
    if (header.e_phoff > file_size || !read_at(in, header.e_phoff + i * sizeof segment, segment))
      return false;
    if (segment.p_type != PT_LOAD) continue;
    if (segment.p_offset > file_size || segment.p_filesz > file_size - segment.p_offset) return false;
  }
  return true;
}

}  // namespace

ElfHeader read_elf_header(const std::filesystem::path& file) {
  // The fields used here lie at the same offsets in 32-bit and 64-bit headers.
  constexpr std::size_t needed = EI_NIDENT + 4;
  std::array<unsigned char, needed> bytes{};
  std::ifstream in(file, std::ios::binary);
  if (!in)
    throw Error(ErrorCode::system,
                fmt::format("the library {} cannot be opened: {}", file.string(), std::strerror(errno)));
  in.read(reinterpret_cast<char*>(bytes.data()), bytes.size());
  if (in.gcount() < static_cast<std::streamsize>(needed) || std::memcmp(bytes.data(), ELFMAG, SELFMAG) != 0)
    throw Error(ErrorCode::parse,
                fmt::format("the library {} is not a shared object: it has no ELF header", file.string()));

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
  std::error_code error;
  const std::uint64_t size = std::filesystem::file_size(file, error);
  if (header.native && (error || !is_whole(in, size)))
    throw Error(ErrorCode::parse,
                fmt::format("the library {} is incomplete: it ends before what its program headers name",
                            file.string()));
  return header;
}

}  // namespace weir
