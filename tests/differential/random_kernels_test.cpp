// SPDX-License-Identifier: Apache-2.0
// Coverage of the random kernels on this machine's processor.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <string>

#include "coverage.hpp"
#include "occurrences.hpp"

namespace weir::test {
namespace {

using ::testing::HasSubstr;

struct Output {
  int status = -1;
  std::string printed;
};

Output random_kernels(const std::string& arguments) {
  Output run;
  std::FILE* const output =
      ::popen(("'" WEIR_RANDOM_KERNELS "' --device cpu " + arguments + " 2>&1").c_str(), "r");
  if (!output) return run;
  std::array<char, 4096> part;
  while (const std::size_t got = std::fread(part.data(), 1, part.size(), output))
    run.printed.append(part.data(), got);
  const int status = ::pclose(output);
  run.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return run;
}

// proves R38: on this processor each pair of lowering path and statement kind, and each reduction of each
// type, occurs in a kernel whose results equal the interpreter's
TEST(RandomKernels, MeetEveryPairOfPathAndStatement) {
  const std::string pairs = std::to_string(aims(true, false).size());
  const Output run = random_kernels("--first 2000 --kernels 520 --complete");
  EXPECT_EQ(run.status, 0) << run.printed;
  EXPECT_THAT(run.printed, HasSubstr(" 0 differ; " + pairs + " of " + pairs + " pairs met"));
}

// Without it the test above could pass although the record counts pairs that no kernel met.
TEST(RandomKernels, ReportEveryPairThatNoKernelMet) {
  Coverage none;
  const std::size_t pairs = none.missing(true, false).size();
  EXPECT_EQ(pairs, aims(true, false).size());
  const Output run = random_kernels("--kernels 1 --seconds 0 --complete");
  EXPECT_EQ(run.status, 1) << run.printed;
  EXPECT_EQ(occurrences(run.printed, "not met: "), pairs + none.missing_reductions(true, false).size());
  EXPECT_THAT(run.printed, HasSubstr(" 0 of " + std::to_string(pairs) + " pairs met"));
}

}  // namespace
}  // namespace weir::test
