// SPDX-License-Identifier: Apache-2.0
// Values of environment variables: accepted forms, and the messages for others.
#include "driver/environment.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <weir/error.hpp>

#include "thrown_by.hpp"

namespace weir::test {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::StrEq;

TEST(Environment, SecondsAreADecimalNumber) {
  EXPECT_EQ(parse_seconds("WEIR_X", "", 60), std::nullopt);
  EXPECT_EQ(parse_seconds("WEIR_X", "2.5", 60), milliseconds(2500));
  EXPECT_EQ(parse_seconds("WEIR_X", "60", 60), milliseconds(60'000));
  EXPECT_EQ(parse_seconds("WEIR_X", "1e-9", 60), milliseconds(1));
  for (const char* value : {"0", "-1", "61", "x", "1x", " 1", "nan", "inf", "1e300", "0x10"})
    EXPECT_THAT(thrown_by([&] { (void)parse_seconds("WEIR_X", value, 60); }).what(), HasSubstr("WEIR_X"))
        << value;
}

TEST(Environment, BytesAreAWholeNumberWithAUnit) {
  EXPECT_EQ(parse_bytes("WEIR_X", ""), std::nullopt);
  EXPECT_EQ(parse_bytes("WEIR_X", "0"), 0u);
  EXPECT_EQ(parse_bytes("WEIR_X", "12345"), 12345u);
  EXPECT_EQ(parse_bytes("WEIR_X", "3K"), 3072u);
  EXPECT_EQ(parse_bytes("WEIR_X", "256M"), 256u << 20);
  EXPECT_EQ(parse_bytes("WEIR_X", "8G"), std::uint64_t{8} << 30);
  for (const char* value : {"-1", "x", "1T", "1MM", " 1", "1.5G", "20000000000G", "99999999999999999999"})
    EXPECT_THAT(thrown_by([&] { (void)parse_bytes("WEIR_X", value); }).what(), HasSubstr("WEIR_X")) << value;
}

TEST(Environment, WordsAreComparedAsAWhole) {
  EXPECT_EQ(parse_word("WEIR_X", "", {"one", "two"}), 0u);
  EXPECT_EQ(parse_word("WEIR_X", "two", {"one", "two"}), 1u);
  for (const char* value : {"tw", "Two", "two "})
    EXPECT_THAT(thrown_by([&] {
                  (void)parse_word("WEIR_X", value, {"one", "two"});
                }).what(),
                HasSubstr("WEIR_X"))
        << value;
}

TEST(Environment, ARefusalHasNoControlCharacters) {
  EXPECT_THAT(thrown_by([] {
                (void)parse_word("WEIR_X", "a\x1b[31m", {"one", "two"});
              }).what(),
              HasSubstr("WEIR_X is 'a?[31m'"));
}

TEST(Environment, ARefusalNamesTheVariableTheExpectationTheFindingAndTheRemedy) {
  const Error seconds = thrown_by([] { (void)parse_seconds("WEIR_X", "soon", 60, ", or off"); });
  EXPECT_EQ(seconds.code(), ErrorCode::invalid);
  EXPECT_THAT(seconds.what(),
              StrEq("the environment variable WEIR_X is 'soon'; expected a number of seconds above 0 and "
                    "at most 60, as in 2.5, or off; correct or unset it"));
  EXPECT_THAT(thrown_by([] {
                (void)parse_word("WEIR_X", "on", {"one", "two"});
              }).what(),
              StrEq("the environment variable WEIR_X is 'on'; expected one or two; correct or unset it"));
  EXPECT_THAT(thrown_by([] { (void)parse_bytes("WEIR_X", std::string(1000, 'x')); }).what(),
              HasSubstr("'" + std::string(64, 'x') + "'"));
}

}  // namespace
}  // namespace weir::test
