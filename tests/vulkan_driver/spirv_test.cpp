// SPDX-License-Identifier: Apache-2.0
// Damaged modules are refused before the vendor's compiler reads them.
#include "code/spirv.hpp"

#include "kernels.hpp"

namespace vulkan_test {
namespace {

using testing::HasSubstr;
using weir::vulkan::read_spirv;
using weir::vulkan::SpirvModule;

std::vector<std::uint32_t> words_of(const char* name) {
  const std::vector<char> bytes = kernel_file(name);
  std::vector<std::uint32_t> words(bytes.size() / 4);
  std::memcpy(words.data(), bytes.data(), words.size() * 4);
  return words;
}

TEST(Spirv, EntryPointsAndCapabilitiesAreRead) {
  SpirvModule module;
  EXPECT_EQ(read_spirv(words_of("iota"), module), "");
  ASSERT_EQ(module.entry_points.size(), 1u);
  EXPECT_EQ(module.entry_points[0].name, "iota");
  EXPECT_EQ(module.entry_points[0].push_bytes, 8u);                           // the address of the arguments
  EXPECT_THAT(module.capabilities, testing::IsSupersetOf({1u, 11u, 5347u}));  // Shader, Int64, addresses
}

TEST(Spirv, TheBytesOfPushConstantsAreRead) {
  for (const auto& [name, bytes] : {std::pair{"tally", 16u}, {"scale_add", 40u}}) {
    SpirvModule module;
    EXPECT_EQ(read_spirv(words_of(name), module), "");
    ASSERT_EQ(module.entry_points.size(), 1u);
    EXPECT_EQ(module.entry_points[0].push_bytes, bytes) << name;
  }
}

TEST(Spirv, EveryPrefixIsRefused) {
  const std::vector<std::uint32_t> words = words_of("iota");
  SpirvModule module;
  for (std::size_t length = 0; length < words.size(); ++length)
    EXPECT_NE(read_spirv(std::span(words).first(length), module), "") << length << " words";
}

TEST(Spirv, AWrongLengthOfAnInstructionIsRefused) {
  std::vector<std::uint32_t> words = words_of("iota");
  words[5] &= 0xffffu;  // no words at all
  SpirvModule module;
  EXPECT_THAT(read_spirv(words, module), HasSubstr("has a length of 0 words"));
  words[5] |= 0xffff0000u;
  EXPECT_THAT(read_spirv(words, module), HasSubstr("has a length of 65535 words"));
}

TEST(Spirv, OtherBytesAreNamed) {
  std::vector<std::uint32_t> words = words_of("iota");
  words[0] = 0x464c457f;  // ELF
  SpirvModule module;
  EXPECT_THAT(read_spirv(words, module), HasSubstr("begins with 0x464c457f"));
}

TEST_F(Open, ACapabilityThatNoKernelHasIsRefused) {
  std::vector<std::uint32_t> words = words_of("iota");
  words[6] = 4;  // Kernel, of OpenCL, in the first OpCapability
  weir_module out = nullptr;
  const weir_code_object object{sizeof object, "spirv-vulkan",   "vulkan1.3",
                                words.data(),  words.size() * 4, "odd"};
  EXPECT_THAT(refusal(WEIR_ERROR_CODE_OBJECT, table().module_load, device, &object, &out),
              HasSubstr("capability 4"));
}

}  // namespace
}  // namespace vulkan_test
