// SPDX-License-Identifier: Apache-2.0
#include <kernel_arguments.hpp>

#include "simulator.hpp"

namespace amdgpu_test {
namespace {

std::span<const char> as_chars(const std::vector<std::uint8_t>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(KernelArguments, MatchTheHostsLayout) {
  for (const char* architecture : {"gfx906", "gfx90a", "gfx1100", "gfx1201"}) {
    const auto found = weir::amdgpu::read_kernel_arguments(as_chars(kernels_for(architecture)));
    EXPECT_EQ(found.at("add").bytes, 28u) << "three addresses and a number, without the hidden arguments";
    EXPECT_EQ(found.at("stops").bytes, 0u);
    EXPECT_EQ(found.at("divide").bytes, 40u);
    EXPECT_EQ(found.at("add").offsets, (std::vector<std::uint32_t>{0, 8, 16, 24}));
  }
}

// proves R35
TEST(KernelArguments, DamagedFilesGiveNoLayoutAndAreNotReadPastTheirEnd) {
  const std::vector<std::uint8_t>& whole = kernels_for("gfx90a");
  // A buffer of exactly `size` bytes, so that a sanitizer detects reads beyond it.
  for (std::size_t size = 0; size < whole.size(); size += 7) {
    const std::vector<std::uint8_t> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    weir::amdgpu::read_kernel_arguments(as_chars(cut));
  }
  for (std::size_t at = 0; at < std::min<std::size_t>(whole.size(), 4096); ++at)
    for (const std::uint8_t value : {0x00, 0x7f, 0x9f, 0xdf, 0xdd, 0xcf, 0xff}) {
      std::vector<std::uint8_t> changed = whole;
      changed[at] = value;
      weir::amdgpu::read_kernel_arguments(as_chars(changed));
    }
  EXPECT_TRUE(weir::amdgpu::read_kernel_arguments({}).empty());
  const std::string text =
      "not an ELF file, though long enough to be one, as far as the header goes: 64 bytes";
  EXPECT_TRUE(weir::amdgpu::read_kernel_arguments(text).empty());
}

}  // namespace
}  // namespace amdgpu_test
