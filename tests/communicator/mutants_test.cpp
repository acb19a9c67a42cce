// SPDX-License-Identifier: Apache-2.0
// weir-conformance finds each fault of the mutant communicator by the requirement for it, and only then
// fails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <stdexcept>
#include <string>

namespace weir::test {
namespace {

using testing::HasSubstr;

struct Ending {
  int status = -1;
  std::string output;
};

Ending conform(const std::string& mutant, const std::string& arguments) {
  const std::string command = "WEIR_MUTANT=" + mutant +
                              " " WEIR_CONFORMANCE " --communicator " WEIR_MUTANT_MANIFEST " --timeout 20 " +
                              arguments + " 2>&1";
  FILE* const pipe = popen(command.c_str(), "r");
  if (!pipe) throw std::runtime_error("cannot start " + command);
  Ending ending;
  for (char text[4096]; const std::size_t got = std::fread(text, 1, sizeof text, pipe);)
    ending.output.append(text, got);
  ending.status = WEXITSTATUS(pclose(pipe));
  return ending;
}

struct Mutant {
  const char *fault, *requirement;
  friend void PrintTo(const Mutant& mutant, std::ostream* out) { *out << mutant.fault; }
};

class Mutants : public testing::TestWithParam<Mutant> {};

TEST_P(Mutants, AreFound) {
  const auto& [fault, requirement] = GetParam();
  const Ending ending = conform(fault, std::string("--filter ") + requirement);
  EXPECT_EQ(ending.status, 1) << ending.output;
  EXPECT_THAT(ending.output, HasSubstr(std::string("failed              ") + requirement));
}

INSTANTIATE_TEST_SUITE_P(
    Faults, Mutants,
    testing::Values(
        Mutant{"entry-accepts-every-version", "K0.01"}, Mutant{"table-without-a-barrier", "K0.02"},
        Mutant{"table-of-another-name", "K0.03"}, Mutant{"info-past-its-size", "K0.04"},
        Mutant{"info-without-ranks", "K0.05"}, Mutant{"group-info-counts-from-one", "K1.01"},
        Mutant{"leave-leaves-the-first", "K1.02"}, Mutant{"join-wraps-the-rank", "K1.05"},
        Mutant{"join-ignores-the-limit", "K1.07"}, Mutant{"broadcast-from-rank-0", "K2.01"},
        Mutant{"broadcast-byte-short", "K2.01"}, Mutant{"all-gather-turned", "K2.02"},
        Mutant{"all-gather-writes-past-its-end", "K2.02"},
        Mutant{"all-gather-clears-its-part-first", "K2.03"}, Mutant{"all-to-all-gathers", "K2.04"},
        Mutant{"exchange-byte-short", "K2.05"}, Mutant{"exchange-without-itself", "K2.06"},
        Mutant{"exchange-receives-backwards", "K2.07"}, Mutant{"exchange-of-all-ranks", "K2.08"},
        Mutant{"exchange-in-the-order-of-the-list", "K2.05"}, Mutant{"all-reduce-drops-the-last", "K2.20"},
        Mutant{"all-reduce-min-is-max", "K2.20"}, Mutant{"all-reduce-changes-its-source", "K2.20"},
        Mutant{"all-reduce-other-bits-on-rank-1", "K2.22"},
        Mutant{"reduce-scatter-of-the-neighbour", "K2.26"}, Mutant{"barrier-does-nothing", "K3.01"},
        Mutant{"all-reduce-unknown-type-accepted", "K4.01"}, Mutant{"leave-stays", "K4.03"},
        Mutant{"failure-names-no-rank", "K4.03"}, Mutant{"failure-of-a-rank-is-invalid", "K4.03"},
        Mutant{"failure-without-words", "K4.03"}, Mutant{"abort-without-its-reason", "K4.04"},
        Mutant{"abort-ignored", "K4.04"}, Mutant{"join-ignores-the-limit", "K4.06"},
        Mutant{"group-info-blames-rank-0", "K4.06"}, Mutant{"barrier-ignores-failures", "K4.07"}),
    [](const auto& info) {
      std::string name = std::string(info.param.requirement) + "_" + info.param.fault;
      for (char& c : name)
        if (c == '-' || c == '.') c = '_';
      return name;
    });

TEST(ConformanceOfCommunicators, TheMutantWithoutAFaultConforms) {
  const Ending ending = conform("none", "--level 2");
  EXPECT_EQ(ending.status, 0) << ending.output;
  EXPECT_THAT(ending.output, HasSubstr("mutant conforms"));
}

TEST(ConformanceOfCommunicators, RequirementsForMoreRanksAreSkippedNotPassed) {
  const Ending ending = conform("none", "--ranks 1 --filter K3.01,K1.01");
  EXPECT_EQ(ending.status, 0) << ending.output;
  EXPECT_THAT(ending.output, HasSubstr("it needs 2 ranks; --ranks is 1"));
}

TEST(ConformanceOfCommunicators, WrongOptionsAreNamed) {
  EXPECT_THAT(conform("none", "--level 7").output, HasSubstr("expected a number from 0 to 4"));
  EXPECT_THAT(conform("none", "--filter C2.07").output, HasSubstr("K2.07"));
  EXPECT_THAT(conform("none", "--driver cpu").output, HasSubstr("expected one of them"));
}

}  // namespace
}  // namespace weir::test
