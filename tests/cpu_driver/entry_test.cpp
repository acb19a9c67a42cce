// SPDX-License-Identifier: Apache-2.0
#include "support.hpp"

namespace cpu_test {

const weir_driver_table* table_for(std::uint32_t oldest, std::uint32_t newest) {
  const weir_host host{sizeof(weir_host), oldest, newest};
  const weir_driver_table* out = nullptr;
  weir_status status = new_status();
  EXPECT_EQ(entry()(&host, &out, &status), WEIR_OK) << status.message;
  return out;
}

// proves R33
TEST(Entry, OffersTheNewestVersionThatTheHostSpeaks) {
  constexpr std::uint32_t first = WEIR_ABI_VERSION(1, 0), second = WEIR_ABI_VERSION(1, 1),
                          third = WEIR_ABI_VERSION(1, 2), fourth = WEIR_ABI_VERSION(1, 3),
                          fifth = WEIR_ABI_VERSION(1, 4);
  EXPECT_EQ(table_for(first, first)->abi_version, first);
  EXPECT_EQ(table_for(first, second)->abi_version, second);
  EXPECT_EQ(table_for(first, WEIR_ABI_VERSION(1, 9))->abi_version, fifth);
  EXPECT_EQ(table_for(first, fourth)->abi_version, fourth);
  EXPECT_EQ(table_for(first, third)->abi_version, third);
  EXPECT_EQ(table_for(second, second)->abi_version, second);
  EXPECT_EQ(table().struct_size, sizeof(weir_driver_table));
  EXPECT_STREQ(table().name, "cpu");
}

// proves R33
TEST(Entry, RefusesAHostOfAnotherMajorVersionAndNamesBoth) {
  const weir_host host{sizeof(weir_host), WEIR_ABI_VERSION(2, 0), WEIR_ABI_VERSION(2, 3)};
  const weir_driver_table* out = nullptr;
  weir_status status = new_status();
  EXPECT_EQ(entry()(&host, &out, &status), WEIR_ERROR_ABI);
  EXPECT_EQ(out, nullptr);
  EXPECT_STREQ(status.message, "the CPU driver speaks driver ABI 1.0 to 1.4; the host speaks 2.0 to 2.3");
}

// proves R35
TEST(Entry, RefusesNullsWithoutAStatus) {
  const weir_host host{sizeof(weir_host), WEIR_ABI_CURRENT, WEIR_ABI_CURRENT};
  const weir_driver_table* out = nullptr;
  EXPECT_EQ(entry()(nullptr, &out, nullptr), WEIR_ERROR_INVALID);
  EXPECT_EQ(entry()(&host, nullptr, nullptr), WEIR_ERROR_INVALID);
}

TEST(Entry, FillsEverySlot) {
  const auto* slots = reinterpret_cast<void* const*>(&table().device_count);
  for (std::size_t i = 0; i < (sizeof(weir_driver_table) - 32) / sizeof(void*); ++i)
    EXPECT_NE(slots[i], nullptr) << "slot " << i;
}

TEST(Entry, HasNoExtensions) {
  const void* extension = nullptr;
  const std::string message = refusal(WEIR_ERROR_NOT_FOUND, table().get_extension, "graphs", 1u, &extension);
  EXPECT_NE(message.find("'graphs'"), std::string::npos) << message;
}

TEST(Entry, WritesAStatusOnlyUpToItsStructSize) {
  struct {
    weir_status status = new_status();
    char guard = 42;
  } guarded;
  guarded.status.struct_size = 16;
  guarded.status.message[0] = 'x';
  EXPECT_EQ(table().stream_synchronize(nullptr, &guarded.status), WEIR_ERROR_INVALID);
  EXPECT_EQ(guarded.status.code, WEIR_ERROR_INVALID);
  EXPECT_EQ(guarded.status.message[0], 'x');
}

}  // namespace cpu_test
