// SPDX-License-Identifier: Apache-2.0
#include "driver/elf.hpp"

#include <elf.h>
#include <fmt/format.h>

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
  return header;
}

}  // namespace weir
