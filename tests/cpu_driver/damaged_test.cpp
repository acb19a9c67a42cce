// SPDX-License-Identifier: Apache-2.0
// Truncated or altered code objects: each is refused, or loads and unloads without harm. Altered instructions
// and data cannot be detected, so they are not run.
#include <elf.h>

#include <cstddef>
#include <random>

#include "support.hpp"

namespace cpu_test {
namespace {

constexpr int rounds = 1000;

std::vector<char> damaged_object(const std::string& name) {
  std::ifstream file(weir::test::built("tests/cpu_driver/objects/" + name + ".so"), std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

weir_result try_to_load(const std::vector<char>& bytes) {
  const weir_code_object object = code_object(bytes);
  weir_module module = nullptr;
  weir_status status = new_status();
  const weir_result result = table().module_load(first_device(), &object, &module, &status);
  if (result != WEIR_OK) {
    EXPECT_STRNE(status.message, "");
    return result;
  }
  const weir_kernel_layout layout{sizeof layout, 0, 0, nullptr};
  weir_kernel kernel = nullptr;
  table().module_get_kernel(module, "fill_in", &layout, &kernel, &status);
  call(table().module_unload, module);
  return WEIR_OK;
}

template <class T>
T read_at(const std::vector<char>& bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

class Damaged : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Objects, Damaged,
                         ::testing::Values("plain_gnu", "plain_sysv", "plain_relr", "plain_aligned",
                                           "plain_based"
#ifdef WEIR_GENERATED_OBJECT
                                           ,
                                           "generated"
#endif
                                           ));

// proves R35
TEST_P(Damaged, IsRefusedWhenItIsCutShort) {
  const std::vector<char> whole = damaged_object(GetParam());
  ASSERT_EQ(try_to_load(whole), WEIR_OK);
  std::mt19937 random(1);
  for (int i = 0; i < rounds; ++i) {
    const std::size_t size = i < 64 ? std::size_t(i) + 1 : 1 + random() % (whole.size() - 1);
    // A copy of exactly that size, so that a sanitizer detects reads beyond it.
    const std::vector<char> part(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_EQ(try_to_load(part), WEIR_ERROR_CODE_OBJECT) << size << " of " << whole.size() << " bytes";
  }
}

// proves R35
TEST_P(Damaged, DoesNoHarmWhenItIsAltered) {
  const std::vector<char> whole = damaged_object(GetParam());
  std::mt19937 random(2);
  int refused = 0;
  for (int i = 0; i < 2 * rounds; ++i) {
    std::vector<char> altered = whole;
    // Every other round alters headers and tables only, most of which a linker places first.
    const std::size_t range = i % 2 ? altered.size() : std::min<std::size_t>(altered.size(), 1024);
    for (unsigned changes = 1 + random() % 4; changes > 0; --changes) {
      char& byte = altered[random() % range];
      byte = random() % 2 ? static_cast<char>(random()) : static_cast<char>(byte ^ (1 << random() % 8));
    }
    const weir_result result = try_to_load(altered);
    EXPECT_TRUE(result == WEIR_OK || result == WEIR_ERROR_CODE_OBJECT || result == WEIR_ERROR_OUT_OF_MEMORY)
        << result << " in round " << i;
    refused += result != WEIR_OK;
  }
  EXPECT_GT(refused, rounds / 10);
}

// proves R35
TEST_P(Damaged, IsRefusedWithAHeaderOfAnotherKind) {
  const std::vector<char> whole = damaged_object(GetParam());
  const struct {
    std::size_t at;
    char value;
    const char* what;
  } fields[] = {{EI_MAG0, 0, "magic number"},
                {EI_CLASS, ELFCLASS32, "class"},
                {EI_DATA, ELFDATA2MSB, "byte order"},
                {EI_VERSION, 2, "version in e_ident"},
                {offsetof(Elf64_Ehdr, e_version), 2, "e_version"},
                {offsetof(Elf64_Ehdr, e_machine), EM_386, "e_machine"},
                {offsetof(Elf64_Ehdr, e_type), ET_REL, "e_type"},
                {offsetof(Elf64_Ehdr, e_type), ET_EXEC, "e_type"},
                {offsetof(Elf64_Ehdr, e_phentsize), sizeof(Elf64_Phdr) - 8, "e_phentsize"},
                {offsetof(Elf64_Ehdr, e_phentsize), sizeof(Elf64_Phdr) + 8, "e_phentsize"},
                {offsetof(Elf64_Ehdr, e_phoff) + 3, 127, "e_phoff"}};
  for (const auto& [at, value, what] : fields) {
    std::vector<char> altered = whole;
    ASSERT_NE(altered[at], value) << what;
    altered[at] = value;
    EXPECT_EQ(try_to_load(altered), WEIR_ERROR_CODE_OBJECT) << what << " " << int{value};
  }
}

// Each field of eight bytes in the tables that loading reads, which are at the begin of a file and, for
// debuggers, at its end, set to each extreme.
TEST_P(Damaged, DoesNoHarmWithExtremeNumbers) {
  const std::vector<char> whole = damaged_object(GetParam());
  const std::uint64_t extremes[] = {0, 1, 0x7fffffff, 0xffffffff, 1ull << 32, 1ull << 63, ~0ull - 7, ~0ull};
  std::vector<std::size_t> places;
  for (std::size_t at = 0; at + 8 <= std::min<std::size_t>(whole.size(), 2048); at += 8) places.push_back(at);
  const auto header = read_at<Elf64_Ehdr>(whole, 0);
  for (std::size_t at = header.e_shoff; at + 8 <= whole.size(); at += 8) places.push_back(at);
  for (const std::size_t at : places)
    for (const std::uint64_t extreme : extremes) {
      std::vector<char> altered = whole;
      std::memcpy(altered.data() + at, &extreme, sizeof extreme);
      try_to_load(altered);
    }
}

// A section that a table for debuggers relocates has no bytes in the file, but an offset and a size.
TEST_P(Damaged, DoesNoHarmWithRelocatedSectionsThatHaveNoBytes) {
  const std::vector<char> whole = damaged_object(GetParam());
  const auto header = read_at<Elf64_Ehdr>(whole, 0);
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    const std::size_t at = header.e_shoff + i * sizeof(Elf64_Shdr);
    auto section = read_at<Elf64_Shdr>(whole, at);
    section.sh_offset = std::uint64_t{1} << 33;
    section.sh_size = 1 << 20;
    for (const std::uint32_t type : {SHT_NULL, SHT_NOBITS}) {
      section.sh_type = type;
      std::vector<char> altered = whole;
      std::memcpy(altered.data() + at, &section, sizeof section);
      try_to_load(altered);
    }
  }
}

}  // namespace
}  // namespace cpu_test
