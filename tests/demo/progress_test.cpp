// SPDX-License-Identifier: Apache-2.0
#include "progress.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

namespace weir::demo {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Progress, LineTellsShareCountAndSpeed) {
  const std::string line = progress_line("river", 500, 2000, 10, "dry", false);
  EXPECT_THAT(line, HasSubstr("[#######....................."));
  EXPECT_THAT(line, HasSubstr("25 %"));
  EXPECT_THAT(line, HasSubstr("500/2000  50.0/s  dry"));
}

TEST(Progress, PrintsWholeLinesWhereThereIsNoTerminal) {
  std::ostringstream out;
  {
    Progress progress(out, false, "river", 1000);
    for (int step = 1; step <= 1000; ++step) progress.show(step, step / 100.0);
  }
  const std::string text = out.str();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 10);
  EXPECT_THAT(text, Not(HasSubstr("\r")));
}

TEST(Progress, RedrawsOneLineOnATerminalTenTimesASecondAtMost) {
  std::ostringstream out;
  {
    Progress progress(out, true, "river", 1000);
    for (int step = 1; step <= 1000; ++step) progress.show(step, step / 1000.0);
  }
  const std::string text = out.str();
  EXPECT_LE(std::count(text.begin(), text.end(), '\r'), 12);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
  EXPECT_THAT(text, HasSubstr("100 %"));
}

TEST(Progress, ARunOfNothingIsDone) {
  EXPECT_THAT(progress_line("river", 0, 0, 0, "", false), HasSubstr("100 %"));
}

}  // namespace
}  // namespace weir::demo
