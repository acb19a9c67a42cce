// SPDX-License-Identifier: Apache-2.0
// The communicator `mpi` in programs that mpirun starts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "places.hpp"

namespace weir::test {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;
using namespace std::chrono_literals;

struct Ending {
  int status = -1;
  std::string output;
  std::chrono::duration<double> took{};
};

Ending run(const std::string& command) {
  Ending ending;
  const auto begin = std::chrono::steady_clock::now();
  FILE* const pipe = popen((command + " 2>&1").c_str(), "r");
  if (!pipe) throw std::runtime_error("cannot start " + command);
  for (char text[4096]; const std::size_t got = std::fread(text, 1, sizeof text, pipe);)
    ending.output.append(text, got);
  const int status = pclose(pipe);
  ending.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  ending.took = std::chrono::steady_clock::now() - begin;
  return ending;
}

bool has_mpirun() {
  static const bool has = run("mpirun --version").output.find("Open MPI") != std::string::npos;
  return has;
}

const std::string program = built("bin/mpi_ranks").string();

// Without a network, as root, and with more ranks than processors. The limit of `timeout` only ends what
// hangs.
Ending mpirun(int ranks, const std::string& scenario, const std::string& options = "",
              const std::string& environment = "") {
  return run("OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 " + environment +
             " timeout -k 2 30 mpirun --oversubscribe --mca btl self,vader --mca "
             "btl_vader_single_copy_mechanism none"
             " --mca oob_tcp_if_include lo --mca plm isolated " +
             options + " -np " + std::to_string(ranks) + " " + program + " " + scenario);
}

class Mpi : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_mpirun()) GTEST_SKIP() << "mpirun of Open MPI is not installed (Debian: openmpi-bin)";
  }
};

class MpiRanks : public Mpi, public testing::WithParamInterface<int> {
 protected:
  void expect_right(const std::string& scenario) {
    const Ending ending = mpirun(GetParam(), scenario);
    EXPECT_EQ(ending.status, 0) << ending.output;
    for (int rank = 0; rank < GetParam(); ++rank)
      EXPECT_THAT(ending.output,
                  HasSubstr("rank " + std::to_string(rank) + " of " + std::to_string(GetParam()) + " over " +
                            (GetParam() == 1 ? "local" : "mpi") + " is right"));
  }
};
INSTANTIATE_TEST_SUITE_P(Ranks, MpiRanks, testing::Values(1, 2, 3, 4, 7));

// Numbers of ranks with grids of several dimensions.
class MpiGrids : public MpiRanks {};
INSTANTIATE_TEST_SUITE_P(Ranks, MpiGrids, testing::Values(2, 4, 6));

TEST_P(MpiRanks, CallsAreInTheOrderOfTheStream) {
  expect_right("order");
}

TEST_P(MpiRanks, BroadcastGatherAndExchange) {
  expect_right("collectives");
}

TEST_P(MpiRanks, ReduceToTheSameBitsOnAllRanks) {
  expect_right("same_bits");
}

// From 8 ranks on, halves of arrays are reduced between pairs of ranks; the ninth has no partner.
TEST_F(Mpi, NineRanksReduceToTheSameBits) {
  const Ending ending = mpirun(9, "same_bits");
  EXPECT_EQ(ending.status, 0) << ending.output;
  EXPECT_THAT(ending.output, HasSubstr("rank 8 of 9 over mpi is right"));
}

TEST_P(MpiRanks, ADistributedArrayHasTheBitsOfOneArray) {
  expect_right("distributed");
}

TEST_P(MpiGrids, AnArrayCutAlongSeveralDimensionsHasTheBitsOfOneArray) {
  expect_right("distributed_grid");
}

TEST_F(Mpi, DistributedArraysOfDifferentCutsAreNamed) {
  const Ending ending = mpirun(3, "other_cut");
  EXPECT_NE(ending.status, 0);
  EXPECT_THAT(ending.output,
              HasSubstr("rank 1 makes 12 of f32, cut into 5, 4, 3 rows, with a halo of 0; rank "
                        "0 makes 12 of f32, cut into 3, 4, 5 rows"));
  EXPECT_LT(ending.took, 10s);
}

TEST_F(Mpi, ARankThatFailsInAnExchangeOfHalosEndsTheOthers) {
  const Ending thrown = mpirun(3, "exchange_throw");
  EXPECT_NE(thrown.status, 0);
  EXPECT_THAT(thrown.output,
              AllOf(HasSubstr("rank 1 ended the group: an exception ended it"), HasSubstr("rank 0 failed"),
                    HasSubstr("rank 2 failed"), HasSubstr("thrown: no such river")));
  EXPECT_LT(thrown.took, 10s);
  const Ending exited = mpirun(3, "exchange_exit", "--enable-recovery");
  EXPECT_THAT(exited.output, AllOf(HasSubstr("rank 1 has ended without leaving the group"),
                                   HasSubstr("rank 0 failed"), HasSubstr("rank 2 failed")));
  EXPECT_LT(exited.took, 10s);
}

TEST_F(Mpi, RunRanksCallsItsFunctionOnceInEachProcess) {
  const Ending ending = mpirun(2, "run_once");
  EXPECT_EQ(ending.status, 0) << ending.output;
  EXPECT_THAT(ending.output, AllOf(HasSubstr("rank 0 of 2 over mpi"), HasSubstr("rank 1 of 2 over mpi")));
}

TEST_F(Mpi, JoinWorksAloneWithoutALauncher) {
  const Ending ending = run(program + " collectives");
  EXPECT_EQ(ending.status, 0) << ending.output;
  EXPECT_THAT(ending.output, HasSubstr("rank 0 of 1 over local is right"));
}

TEST_F(Mpi, RanksAsThreadsAndAsProcessesAtOnceAreRefused) {
  const Ending ending = mpirun(2, "order", "", "WEIR_RANKS=3");
  EXPECT_NE(ending.status, 0);
  EXPECT_THAT(ending.output, AllOf(HasSubstr("WEIR_RANKS is 3"), HasSubstr("OMPI_COMM_WORLD_SIZE is 2"),
                                   HasSubstr("unset WEIR_RANKS")));
}

TEST_F(Mpi, ALauncherOfAnotherMpiIsNamed) {
  const Ending ending = run("PMI_RANK=1 PMI_SIZE=3 " + program + " order");
  EXPECT_EQ(ending.status, 1);
  EXPECT_THAT(
      ending.output,
      HasSubstr("a launcher that does not serve Open MPI started this process (PMI_RANK=1, PMI_SIZE=3)"));
}

TEST_F(Mpi, ATaskOfSlurmWithoutPmixIsNamed) {
  const Ending ending = run("SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=3 " + program + " order");
  EXPECT_EQ(ending.status, 1);
  EXPECT_THAT(ending.output, HasSubstr("srun --mpi=pmix"));
}

// proves R33
TEST_F(Mpi, AMissingLibraryIsNamedByInfoAndByJoin) {
  const std::string missing =
      "WEIR_MPI_LIBRARY=/nowhere/libmpi.so.40 XDG_CACHE_HOME=" + testing::TempDir() + "weir-no-mpi ";
  const Ending info = run(missing + built("bin/weir").string() + " info");
  EXPECT_THAT(info.output,
              AllOf(HasSubstr("/nowhere/libmpi.so.40"), HasSubstr("Debian's package libopenmpi3")));
  const Ending joined = mpirun(2, "order", "", missing);
  EXPECT_NE(joined.status, 0);
  EXPECT_THAT(joined.output,
              AllOf(HasSubstr("no communicator 'mpi'"), HasSubstr("Debian's package libopenmpi3")));
}

TEST_F(Mpi, AnExceptionEndsTheOthersWithItsRank) {
  const Ending ending = mpirun(3, "throw");
  EXPECT_NE(ending.status, 0);
  for (const char* rank : {"0", "2"})
    EXPECT_THAT(ending.output, HasSubstr(std::string("rank ") + rank + " failed after 0."));
  EXPECT_THAT(ending.output, AllOf(HasSubstr("rank 1 ended the group: an exception ended it"),
                                   HasSubstr("thrown: no such river")));
  EXPECT_LT(ending.took, 10s);
}

// By default mpirun ends the others itself, and names the rank.
TEST_F(Mpi, AKilledRankEndsTheOthersAndIsNamed) {
  const Ending ending = mpirun(3, "kill");
  EXPECT_NE(ending.status, 0);
  EXPECT_THAT(ending.output, HasSubstr("rank 1"));
  EXPECT_LT(ending.took, 10s);
}

TEST_F(Mpi, AKilledRankIsAnErrorAtOnceIfTheLauncherLeavesTheOthers) {
  for (const char* scenario : {"kill", "exit"}) {
    const Ending ending = mpirun(3, scenario, "--enable-recovery");
    for (const char* rank : {"0", "2"})
      EXPECT_THAT(ending.output, HasSubstr(std::string("rank ") + rank + " failed after 0.")) << scenario;
    EXPECT_THAT(ending.output, HasSubstr("rank 1 has ended without leaving the group")) << scenario;
    EXPECT_LT(ending.took, 10s);
  }
}

// The process waits in MPI_Finalize for the others, which would wait for it.
TEST_F(Mpi, ARankThatCallsExitIsNamedAtOnceAndTheJobEnds) {
  const Ending ending = mpirun(3, "exit_in_group");
  EXPECT_NE(ending.status, 0);
  for (const char* rank : {"0", "2"})
    EXPECT_THAT(ending.output, HasSubstr(std::string("rank ") + rank + " failed after 0."));
  EXPECT_THAT(ending.output,
              HasSubstr("rank 1 left the group, while other ranks waited for it in all_reduce"));
  EXPECT_LT(ending.took, 10s);
  const Ending together = mpirun(3, "exit_everywhere");
  EXPECT_EQ(together.status, 0) << together.output;
  EXPECT_LT(together.took, 10s);
}

TEST_F(Mpi, AHangingRankIsNamedWithinTheLimitAndNoProcessStays) {
  const Ending ending = mpirun(3, "hang", "", "WEIR_RANK_LIMIT=1");
  EXPECT_NE(ending.status, 0);
  EXPECT_THAT(ending.output,
              HasSubstr("no answer within 1 s: rank 2 has come no further than its call 1, all_reduce"));
  for (const char* rank : {"0", "1"})
    EXPECT_THAT(ending.output, HasSubstr(std::string("rank ") + rank + " failed after 1."));
  EXPECT_LT(ending.took, 10s);
}

TEST_F(Mpi, AStoppedProcessIsNamed) {
  const Ending ending = mpirun(3, "stop", "", "WEIR_RANK_LIMIT=1");
  EXPECT_NE(ending.status, 0);
  EXPECT_THAT(ending.output, HasSubstr("no answer within 1 s: rank 2 does not answer"));
  EXPECT_LT(ending.took, 10s);
}

TEST_F(Mpi, ARankThatDoesNotJoinIsNamed) {
  const Ending ending = mpirun(3, "absent", "", "WEIR_RANK_LIMIT=1");
  EXPECT_NE(ending.status, 0);
  EXPECT_THAT(ending.output, HasSubstr("no answer within 1 s: rank 2 did not join the group"));
  EXPECT_LT(ending.took, 10s);
}

TEST_F(Mpi, ARankThatMakesAnotherCallIsNamed) {
  const Ending ending = mpirun(4, "other_call", "", "WEIR_RANK_LIMIT=1");
  EXPECT_NE(ending.status, 0);
  EXPECT_THAT(ending.output, HasSubstr("rank 1 called broadcast where other ranks called all_reduce"));
  EXPECT_LT(ending.took, 10s);
}

TEST_F(Mpi, ArraysOfUnequalSizeAreNamed) {
  const Ending ending = mpirun(3, "mismatch");
  EXPECT_NE(ending.status, 0);
  EXPECT_THAT(ending.output, AllOf(HasSubstr("bytes"), HasSubstr("rank 1"), HasSubstr("both must be equal")));
  EXPECT_LT(ending.took, 10s);
}

}  // namespace
}  // namespace weir::test
