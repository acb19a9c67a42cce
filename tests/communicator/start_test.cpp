// SPDX-License-Identifier: Apache-2.0
// How processes of the communicators nccl and rccl meet: with torchrun's variables, on one machine and over
// TCP, and at WEIR_RENDEZVOUS. Arrays are on the CPU driver and pass over the ranks' connections.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "places.hpp"

namespace weir::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using namespace std::chrono_literals;

std::string output_of(const std::string& command) {
  FILE* const pipe = popen(command.c_str(), "r");
  if (!pipe) throw std::runtime_error("cannot start " + command);
  std::string output;
  for (char text[4096]; const std::size_t got = std::fread(text, 1, sizeof text, pipe);)
    output.append(text, got);
  pclose(pipe);
  return output;
}

std::string mpi_ranks(const std::string& scenario) {
  return "timeout -k 2 12 " + built("bin/mpi_ranks").string() + " " + scenario + " 2>&1 & ";
}

/// The output of three processes of mpi_ranks, which the environment starts as ranks of one group.
/// `start` comes before each command.
std::string run(const std::string& scenario, const std::string& environment = "LOCAL_WORLD_SIZE=3",
                const std::string& start = "") {
  const std::string port = std::to_string(20000 + getpid() % 20000);
  std::string command =
      "export WEIR_COMMUNICATOR=rccl WORLD_SIZE=3 MASTER_ADDR=127.0.0.1 MASTER_PORT=" + port +
      " TORCHELASTIC_RUN_ID=weir-test-" + std::to_string(getpid()) + " " + environment + "; ";
  for (const char* rank : {"0", "1", "2"})
    command += std::string("RANK=") + rank + " " + start + mpi_ranks(scenario);
  return output_of(command + "wait");
}

void expect_right(const std::string& output) {
  for (const char* rank : {"0", "1", "2"})
    EXPECT_THAT(output, HasSubstr(std::string("rank ") + rank + " of 3 over rccl is right"));
}

TEST(RanksOfTorchrun, MeetOnOneMachine) {
  expect_right(run("collectives"));
}

TEST(RanksOfThreads, DoNotMeetThoseOfAnotherProcess) {
  const std::string output =
      output_of("export WEIR_COMMUNICATOR=rccl WEIR_CPU_DEVICES=2 WEIR_RANK_LIMIT=5; LATE_RANK=1 " +
                mpi_ranks("threads") + "LATE_RANK=0 " + mpi_ranks("threads") + "wait");
  std::size_t right = 0;
  for (std::size_t at = 0; (at = output.find("of 2 over rccl is right", at)) != output.npos; ++at) ++right;
  EXPECT_EQ(right, 4u) << output;
}

TEST(RanksOfTorchrun, MeetOverTcp) {
  expect_right(run("same_bits", "LOCAL_WORLD_SIZE=1"));
}

TEST(RanksOfTorchrun, OpenTheDeviceOfTheirNumberOnTheirMachine) {
  const std::string environment = "LOCAL_WORLD_SIZE=1 WEIR_CPU_DEVICES=3";
  EXPECT_EQ(run("device", environment + " LOCAL_RANK=2"),
            "this rank has 2\nthis rank has 2\nthis rank has 2\n");
  const std::string without = run("device", environment);
  for (const char* rank : {"0", "1", "2"})
    EXPECT_THAT(without, HasSubstr(std::string("this rank has ") + rank));
  EXPECT_THAT(run("device", environment + " LOCAL_RANK=two"),
              HasSubstr("the environment variable LOCAL_RANK is 'two'"));
}

TEST(RanksOfTorchrun, GoOnWhenAForkedChildDestroysItsGroup) {
  expect_right(run("forked"));
}

TEST(RanksOfTorchrun, MeetAtAFileWhichIsRemoved) {
  const std::string path = testing::TempDir() + "weir-meeting-" + std::to_string(getpid());
  expect_right(run("order", "WEIR_RENDEZVOUS=file://" + path));
  EXPECT_FALSE(std::filesystem::exists(path + ".1"));
}

// As in a container without an entry for its name.
TEST(RanksOfTorchrun, MeetAtAFileOnAMachineWhoseNameIsUnknown) {
  if (unshare(CLONE_NEWUTS) != 0) GTEST_SKIP() << "may not change the machine's name";
  constexpr char unknown[] = "no-such-machine-of-weir";
  ASSERT_EQ(sethostname(unknown, sizeof unknown - 1), 0);
  expect_right(run(
      "order", "WEIR_RENDEZVOUS=file://" + testing::TempDir() + "weir-meeting-" + std::to_string(getpid())));
}

/// An address of this machine that other machines can reach; a second loopback address without a network.
std::string other_address() {
  std::string address = output_of("hostname -I 2>/dev/null");
  address.resize(std::min(address.find_first_of(" \n"), address.size()));
  return address.empty() || address.find(':') != address.npos ? "127.0.0.2" : address;
}

// Rank 2 is on another machine: it has another list of hosts. Debian's installer writes that of ranks 0
// and 1.
TEST(RanksOfTorchrun, MeetWhereTheHostHasALoopbackAddressForItself) {
  if (std::system("unshare -m mount --bind /etc/hosts /etc/hosts 2>/dev/null") != 0)
    GTEST_SKIP() << "may not give each rank a list of hosts";
  const std::string folder = testing::TempDir() + "weir-hosts-" + std::to_string(getpid());
  std::filesystem::create_directory(folder);
  for (const char* rank : {"0", "1", "2"})
    std::ofstream(folder + "/" + rank) << (*rank == '2' ? other_address() : "127.0.1.1") << " weir-host\n";
  expect_right(run("collectives", "LOCAL_WORLD_SIZE=1 MASTER_ADDR=weir-host WEIR_RANK_LIMIT=30",
                   "unshare -m sh -c 'mount --bind " + folder + "/$RANK /etc/hosts && exec \"$@\"' sh "));
  std::filesystem::remove_all(folder);
}

TEST(RanksOfTorchrun, NameAMalformedRendezvous) {
  EXPECT_THAT(run("order", "WEIR_RENDEZVOUS=tcp://nowhere"),
              HasSubstr("WEIR_RENDEZVOUS is 'tcp://nowhere'; expected tcp://HOST:PORT"));
}

TEST(RanksOfTorchrun, NameAKilledProcess) {
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THAT(run("kill"), AllOf(HasSubstr("rank 0 failed"), HasSubstr("rank 2 failed"),
                                 HasSubstr("rank 1 has ended without leaving the group")));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s);
}

TEST(RanksOfTorchrun, NameAKilledProcessWhoseForkedChildLives) {
  EXPECT_THAT(run("kill_parent", "LOCAL_WORLD_SIZE=3 WEIR_RANK_LIMIT=2"),
              HasSubstr("rank 1 has ended without leaving the group"));
}

TEST(RanksOfTorchrun, NameAStoppedProcess) {
  EXPECT_THAT(run("stop", "LOCAL_WORLD_SIZE=3 WEIR_RANK_LIMIT=1"),
              HasSubstr("no answer within 1 s: rank 2 does not answer: its process is stopped"));
}

}  // namespace
}  // namespace weir::test
