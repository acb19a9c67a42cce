// SPDX-License-Identifier: Apache-2.0
// Processes that end with work in flight (runtime/exit_program.cpp) while one call of the driver fails.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <string>

#include "places.hpp"
#include "support/every_call.hpp"
#include "support/exit_orders.hpp"
#include "support/program_run.hpp"

namespace weir::test {
namespace {

class ExitSweep : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Orders, ExitSweep, exit_orders, name_of_order);

// The process must end without being killed, and print either an error that names the failure or none. With
// WEIR_SWEEP=all every call fails once, otherwise the first and the last of each function.
// proves R6, R34
TEST_P(ExitSweep, EndsWhateverFails) {
  const bool all = every_call();
  const ProgramRun program(built("bin/weir_runtime_exit").string());
  const Ended plain = program.run_with({GetParam()}, "");
  ASSERT_EQ(plain.status, 0) << plain.printed;
  ASSERT_EQ(plain.printed, "");
  ASSERT_FALSE(plain.calls.empty());
  std::size_t heard = 0, made_to_fail = 0;
  for (const auto& [function, calls] : plain.calls)
    for (std::uint64_t n = 1; n <= calls; ++n) {
      if (!all && n != 1 && n != calls) continue;
      const std::string rule = "call=" + function + ":nth=" + std::to_string(n);
      const Ended ended = program.run_with({GetParam()}, rule);
      ++made_to_fail;
      ASSERT_TRUE(WIFEXITED(ended.status)) << rule << "\n" << ended.printed;
      if (WEXITSTATUS(ended.status) == 0) {
        EXPECT_EQ(ended.printed, "") << rule;
        continue;
      }
      ++heard;
      EXPECT_EQ(WEXITSTATUS(ended.status), 1) << rule << "\n" << ended.printed;
      EXPECT_NE(ended.printed.find("fault layer: "), std::string::npos) << rule << "\n" << ended.printed;
      EXPECT_EQ(ended.printed.find("weir: validate: "), std::string::npos) << rule << "\n" << ended.printed;
    }
  EXPECT_TRUE(heard != 0 || GetParam() == std::string("unused"));
  std::printf("%s: %zu calls were made to fail, %zu were heard of\n", GetParam(), made_to_fail, heard);
}

}  // namespace
}  // namespace weir::test
