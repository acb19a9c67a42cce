// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>
#include <weir/error.hpp>

#include "driver/gpu_driver.hpp"

namespace weir::test {
namespace {

Error caught(weir_result result, const weir_status& status) {
  try {
    throw_driver_error("cpu", "allocate 64 bytes", result, status);
  } catch (const Error& error) {
    return error;
  }
}

TEST(DriverError, NamesTheDriverTheActionAndTheDriversMessage) {
  Status status;
  std::strcpy(status.message, "only 12 bytes are free");
  const Error error = caught(WEIR_ERROR_OUT_OF_MEMORY, status);
  EXPECT_EQ(error.code(), ErrorCode::out_of_memory);
  EXPECT_STREQ(error.what(), "cpu driver: cannot allocate 64 bytes: only 12 bytes are free");
}

TEST(DriverError, CarriesTheVendorsCodeAndName) {
  Status status;
  std::strcpy(status.message, "the context is gone");
  std::strcpy(status.vendor_name, "CUDA_ERROR_X");
  status.vendor_code = 709;
  const Error error = caught(WEIR_ERROR_DEVICE_LOST, status);
  EXPECT_EQ(error.code(), ErrorCode::device_lost);
  EXPECT_EQ(error.vendor_code(), 709);
  EXPECT_EQ(error.vendor_name(), "CUDA_ERROR_X");
  EXPECT_STREQ(error.what(), "cpu driver: cannot allocate 64 bytes: the context is gone (CUDA_ERROR_X, 709)");
}

TEST(DriverError, HasAMessageWhenTheDriverGaveNone) {
  EXPECT_STREQ(caught(WEIR_ERROR_OUT_OF_MEMORY, Status()).what(),
               "cpu driver: cannot allocate 64 bytes: out of memory");
}

// proves R35
TEST(DriverError, ResultOutsideTheListIsUnknownAndNamed) {
  const Error error = caught(77, Status());
  EXPECT_EQ(error.code(), ErrorCode::unknown);
  EXPECT_STREQ(error.what(), "cpu driver: cannot allocate 64 bytes: unknown error (result 77)");
}

// proves R35
TEST(DriverError, UnterminatedMessageIsCut) {
  Status status;
  std::memset(status.message, 'x', sizeof status.message);
  EXPECT_EQ(std::string(caught(WEIR_ERROR_INVALID, status).what()).size(),
            std::strlen("cpu driver: cannot allocate 64 bytes: ") + sizeof status.message);
}

// Vendors' compilers write logs of several lines.
TEST(DriverError, ControlCharactersThatEditATerminalAreReplaced) {
  Status status;
  std::strcpy(status.message, "line 1:\n\tno\x1b[2Jregister\r");
  std::strcpy(status.vendor_name, "E\x07\nR");
  const Error error = caught(WEIR_ERROR_CODE_OBJECT, status);
  EXPECT_STREQ(error.what(), "cpu driver: cannot allocate 64 bytes: line 1:\n\tno?[2Jregister? (E??R, 0)");
  EXPECT_EQ(error.vendor_name(), "E??R");
}

TEST(DriverError, EveryCodeHasItsOwnName) {
  EXPECT_EQ(to_string(ErrorCode::out_of_memory), "out of memory");
  EXPECT_EQ(to_string(ErrorCode::assertion), "assertion failed");
  EXPECT_EQ(to_string(static_cast<ErrorCode>(5000)), "unknown error");
}

}  // namespace
}  // namespace weir::test
