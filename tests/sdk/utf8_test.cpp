// SPDX-License-Identifier: Apache-2.0
// All code points and the sequences of bytes that are none, against an encoder.
#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>
#include <weir/sdk/status.hpp>
#include <weir/sdk/utf8.hpp>

namespace {

std::string encode(std::uint32_t c) {
  const auto byte = [](std::uint32_t v) { return static_cast<char>(v); };
  const auto next = [&](unsigned shift) { return byte(0x80 | ((c >> shift) & 0x3f)); };
  if (c < 0x80) return {byte(c)};
  if (c < 0x800) return {byte(0xc0 | (c >> 6)), next(0)};
  if (c < 0x10000) return {byte(0xe0 | (c >> 12)), next(6), next(0)};
  return {byte(0xf0 | (c >> 18)), next(12), next(6), next(0)};
}

TEST(Utf8, EveryCharacterHasItsLengthAndNoPartIsOne) {
  for (std::uint32_t c = 0; c < 0x110000; ++c) {
    const std::string text = encode(c);
    const bool surrogate = c >= 0xd800 && c < 0xe000;
    ASSERT_EQ(weir::sdk::character_length(text + "x"), surrogate ? 0 : text.size()) << std::hex << c;
    for (std::size_t cut = 1; cut < text.size(); ++cut)
      ASSERT_EQ(weir::sdk::character_length(text.substr(0, cut)), 0u) << std::hex << c;
  }
  EXPECT_EQ(weir::sdk::character_length(encode(0x110000)), 0u);
  EXPECT_EQ(weir::sdk::character_length(""), 0u);
}

TEST(Utf8, NoOtherSequenceOfThreeBytesIsOne) {
  std::set<std::string> characters;
  for (std::uint32_t c = 0; c < 0x10000; ++c)
    if (c < 0xd800 || c >= 0xe000) characters.insert(encode(c));
  const auto expected = [&](const std::string& text) -> std::size_t {
    for (std::size_t size = 1; size <= text.size(); ++size)
      if (characters.count(text.substr(0, size))) return size;
    return 0;
  };
  for (std::uint32_t start = 0; start < 0x10000; ++start)
    for (const int last : {0x00, 0x7f, 0x80, 0xbf, 0xc0, 0xff}) {
      const std::string text{static_cast<char>(start >> 8), static_cast<char>(start),
                             static_cast<char>(last)};
      ASSERT_EQ(weir::sdk::character_length(text), expected(text)) << std::hex << start << ' ' << last;
    }
}

TEST(Utf8, AStatusKeepsWholeCharacters) {
  const std::string long_text = std::string(WEIR_STATUS_MESSAGE_BYTES - 2, 'a') + "\xc3\xa9";
  weir_status status{};
  status.struct_size = sizeof status;
  weir::sdk::guarded(&status, [&] { weir::sdk::fail(WEIR_ERROR_INVALID, "%s", long_text.c_str()); });
  EXPECT_EQ(std::string(status.message), std::string(WEIR_STATUS_MESSAGE_BYTES - 2, 'a'));
  weir::sdk::guarded(&status, [&] { weir::sdk::fail(WEIR_ERROR_INVALID, "\xed\xa0\x80 and \xc3\xa9"); });
  EXPECT_EQ(std::string(status.message), "??? and \xc3\xa9") << "a surrogate is not a character";
}

}  // namespace
