// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <vector>
#include <weir/sdk/elf.hpp>

namespace {

using testing::AllOf;
using testing::HasSubstr;

using Bytes = std::vector<char>;

weir_code_object object_of(const Bytes& bytes) {
  return {sizeof(weir_code_object), "elf-x86_64", "x86-64", bytes.data(), bytes.size(), "piece"};
}

/// The message of the refusal, or "" if the bytes are accepted.
std::string refusal(const Bytes& bytes) {
  const weir_code_object object = object_of(bytes);
  try {
    weir::sdk::check_whole_elf(object);
    return {};
  } catch (const weir::sdk::Failure& failure) {
    EXPECT_EQ(failure.code, WEIR_ERROR_CODE_OBJECT);
    return failure.message;
  }
}

/// The beginning of this program, whose section headers are moved to the end of the piece.
Bytes small_file() {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  Bytes bytes(4096);
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof header);
  header.e_phnum = 1, header.e_shnum = 2;
  header.e_shoff = bytes.size() - 2 * sizeof(Elf64_Shdr);
  std::memcpy(bytes.data(), &header, sizeof header);
  Elf64_Phdr segment{};
  segment.p_type = PT_LOAD, segment.p_offset = 1000, segment.p_filesz = 500;
  std::memcpy(bytes.data() + header.e_phoff, &segment, sizeof segment);
  Elf64_Shdr sections[2] = {};
  sections[1].sh_type = SHT_PROGBITS, sections[1].sh_offset = 1500, sections[1].sh_size = 300;
  std::memcpy(bytes.data() + header.e_shoff, sections, sizeof sections);
  return bytes;
}

template <class T>
void change(Bytes& bytes, std::size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

TEST(WholeElf, ProgramIsWholeAndNoPieceOfItIs) {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  const Bytes program((std::istreambuf_iterator<char>(file)), {});
  EXPECT_EQ(refusal(program), "");
  for (const std::size_t part : {1u, 2u, 3u, 10u, 100u})
    EXPECT_NE(refusal(Bytes(program.begin(), program.end() - std::ptrdiff_t(program.size() / (part + 1)))), "");
  const Bytes small = small_file();
  EXPECT_EQ(refusal(small), "");
  for (std::size_t size = 0; size < small.size(); ++size)  // buffers of exactly that size, for sanitizers
    EXPECT_THAT(refusal(Bytes(small.begin(), small.begin() + std::ptrdiff_t(size))),
                AllOf(HasSubstr("'piece' is cut short"), HasSubstr(std::to_string(size) + " bytes")));
}

// proves R35
TEST(WholeElf, EachPartMayEndAtTheLastByteAndNotBeyond) {
  const Bytes whole = small_file();
  Elf64_Ehdr header;
  std::memcpy(&header, whole.data(), sizeof header);
  const std::size_t segment = header.e_phoff, section = header.e_shoff + sizeof(Elf64_Shdr);
  const auto expect_edge = [&](std::size_t field, std::uint64_t largest, const char* part) {
    Bytes changed = whole;
    change(changed, field, largest);
    EXPECT_EQ(refusal(changed), "") << part;
    for (const std::uint64_t beyond : {largest + 1, ~std::uint64_t{0}, ~std::uint64_t{0} - whole.size()}) {
      change(changed, field, beyond);
      EXPECT_THAT(refusal(changed), HasSubstr(part)) << beyond;
    }
  };
  expect_edge(segment + offsetof(Elf64_Phdr, p_filesz), whole.size() - 1000, "its segment of");
  expect_edge(segment + offsetof(Elf64_Phdr, p_offset), whole.size() - 500, "its segment of");
  expect_edge(section + offsetof(Elf64_Shdr, sh_size), whole.size() - 1500, "its section of");
  expect_edge(section + offsetof(Elf64_Shdr, sh_offset), whole.size() - 300, "its section of");
  expect_edge(offsetof(Elf64_Ehdr, e_shoff), header.e_shoff, "section");
}

TEST(WholeElf, NumberOfManySectionsIsInTheFirst) {
  Bytes bytes = small_file();
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof header);
  change(bytes, offsetof(Elf64_Ehdr, e_shnum), std::uint16_t{0});
  for (const std::uint64_t count : {2ull, 3ull, 1ull << 57, ~0ull}) {
    change(bytes, header.e_shoff + offsetof(Elf64_Shdr, sh_size), count);
    EXPECT_EQ(refusal(bytes) == "", count == 2) << count;
  }
}

TEST(WholeElf, OtherFilesAreRefused) {
  const auto changed = [](std::size_t at, auto value) {
    Bytes bytes = small_file();
    change(bytes, at, value);
    return refusal(bytes);
  };
  EXPECT_THAT(changed(0, 'E'), HasSubstr("is not a 64-bit little-endian ELF file"));
  EXPECT_THAT(changed(EI_CLASS, char{ELFCLASS32}), HasSubstr("is not a 64-bit"));
  EXPECT_THAT(changed(EI_DATA, char{ELFDATA2MSB}), HasSubstr("little-endian"));
  EXPECT_NE(changed(offsetof(Elf64_Ehdr, e_phentsize), std::uint16_t{8}), "");
  EXPECT_NE(changed(offsetof(Elf64_Ehdr, e_shentsize), std::uint16_t{8}), "");
}

}  // namespace
