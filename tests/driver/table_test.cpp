// SPDX-License-Identifier: Apache-2.0
#include "driver/table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <weir/error.hpp>

#include "broken/complete.h"
#include "driver/gpu_driver.hpp"

namespace weir::test {
namespace {

using testing::HasSubstr;

constexpr std::uint32_t first = WEIR_ABI_VERSION(1, 0);

GpuDriver make(const weir_driver_table& table) {
  return GpuDriver(table, first, WEIR_ABI_CURRENT);
}

Error refusal(const weir_driver_table& table) {
  try {
    make(table);
  } catch (const Error& error) {
    return error;
  }
  return Error(ErrorCode::unknown, "accepted");
}

TEST(Table, MissingOptionalSlotsAnswerUnsupportedAndSayTheirName) {
  const GpuDriver driver = make(make_table("x"));
  try {
    driver.memory_allocate_async(nullptr, 64);
    FAIL() << "it answered";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
    EXPECT_STREQ(error.what(),
                 "x driver: cannot allocate 64 bytes on a stream: the driver has no memory_allocate_async");
  }
}

// proves R35
TEST(Table, HasNoNullFunction) {
  const GpuDriver driver = make(make_table("x"));
  const auto* slots = reinterpret_cast<void* const*>(reinterpret_cast<const char*>(&driver.table()) +
                                                     offsetof(weir_driver_table, device_count));
  for (std::size_t i = 0;
       i < (sizeof(weir_driver_table) - offsetof(weir_driver_table, device_count)) / sizeof(void*); ++i)
    EXPECT_NE(slots[i], nullptr) << i;
}

TEST(Table, UnsupportedSlotTakesANullStatus) {
  const GpuDriver driver = make(make_table("x"));
  EXPECT_EQ(driver.table().stream_host_callback(nullptr, nullptr, nullptr, nullptr), WEIR_ERROR_UNSUPPORTED);
}

TEST(Table, EveryMissingRequiredSlotIsNamed) {
  weir_driver_table table = make_table("x");
  table.device_open = nullptr;
  table.fill = nullptr;
  const Error error = refusal(table);
  EXPECT_EQ(error.code(), ErrorCode::invalid);
  EXPECT_THAT(error.what(), HasSubstr("lacks required functions: device_open, fill"));
}

TEST(Table, SizeThatEndsInsideASlotEndsBeforeIt) {
  weir_driver_table table = make_table("x");
  table.struct_size = offsetof(weir_driver_table, kernel_launch) + 3;
  EXPECT_THAT(refusal(table).what(), HasSubstr("lacks required functions: kernel_launch"));
}

TEST(Table, SizeSmallerThanItsHeadIsRefused) {
  weir_driver_table table = make_table("x");
  table.struct_size = 8;
  EXPECT_THAT(refusal(table).what(), HasSubstr("declares 8 bytes, fewer than its head of 32"));
}

TEST(Table, VersionOutsideTheRangeIsAnAbiError) {
  weir_driver_table table = make_table("x");
  table.abi_version = WEIR_ABI_VERSION(3, 1);
  const Error error = refusal(table);
  EXPECT_EQ(error.code(), ErrorCode::abi);
  EXPECT_STREQ(error.what(), "the driver supports ABI 3.1; this Weir supports 1.0 to 1.4");
}

TEST(Table, CapabilitiesArePossibleWhenAllTheirSlotsAreThere) {
  weir_driver_table table = make_table("x");
  table.memory_allocate_async = [](weir_stream, const weir_memory_options*, weir_allocation*, weir_status*) {
    return weir_result{WEIR_OK};
  };
  EXPECT_FALSE(make(table).possible_capabilities() & WEIR_CAP_STREAM_ORDERED_ALLOCATION);
  table.memory_free_async = [](weir_stream, weir_allocation, weir_status*) { return weir_result{WEIR_OK}; };
  EXPECT_TRUE(make(table).possible_capabilities() & WEIR_CAP_STREAM_ORDERED_ALLOCATION);
}

TEST(Table, CapabilitiesWithoutSlotsAreAlwaysPossible) {
  EXPECT_TRUE(make(make_table("x")).possible_capabilities() & WEIR_CAP_CONCURRENT_STREAMS);
}

TEST(Table, NamesAreCopied) {
  std::string name = "fleeting";
  const weir_driver_table table = make_table(name.c_str());
  const GpuDriver driver = make(table);
  name.assign("overwritten");
  EXPECT_EQ(driver.name(), "fleeting");
  EXPECT_STREQ(driver.table().name, "fleeting");
}

TEST(Table, QueriesDistinguishNotReadyFromFailure) {
  weir_driver_table table = make_table("x");
  table.stream_query = [](weir_stream, weir_status*) { return weir_result{WEIR_NOT_READY}; };
  table.event_query = [](weir_event, weir_status*) { return weir_result{WEIR_ERROR_DEVICE_LOST}; };
  const GpuDriver driver = make(table);
  EXPECT_FALSE(driver.stream_query(nullptr));
  EXPECT_THROW(driver.event_query(nullptr), Error);
}

}  // namespace
}  // namespace weir::test
