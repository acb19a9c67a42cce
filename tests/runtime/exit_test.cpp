// SPDX-License-Identifier: Apache-2.0
// The end of the process, in every order of destruction and with work in flight.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "places.hpp"
#include "support/exit_orders.hpp"
#include "tested_device.hpp"

namespace weir::test {
namespace {

class Exit : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Orders, Exit, exit_orders, name_of_order);

// proves R6
TEST_P(Exit, IsCleanWithWorkInFlight) {
  if (GetParam() == std::string("fork_first") && tested_device() != "cpu")
    GTEST_SKIP() << "a vendor's runtime is started when its devices are counted";
  if (GetParam() == std::string("callback") && tested_device() != "cpu")
    GTEST_SKIP() << "the vendor's own exit handlers would run in its callback, which it does not allow";
  if ((GetParam() == std::string("found") || GetParam() == std::string("opened")) && tested_device() != "cpu")
    GTEST_SKIP() << "a vendor's runtime ends before the destructors in which the device is used";
  if (GetParam() == std::string("two_devices") && tested_device() != "cpu")
    GTEST_SKIP() << "its first device is the CPU, for which bundles have no test kernels";
#ifdef __SANITIZE_ADDRESS__
  // At a fork, g++ 12's AddressSanitizer does not release allocator locks of other threads. A destructor of
  // the child may then wait forever in the sanitizer's operator delete.
  if (GetParam() == std::string("forked"))
    GTEST_SKIP()
        << "AddressSanitizer's allocator may stay locked in a child that is forked while other threads run";
#endif
  // A leak check stops all threads of its process, and a forked child has only one of them.
  const std::string leaks = GetParam() == std::string("forked") ? "ASAN_OPTIONS=detect_leaks=0 " : "";
  const std::string command = leaks + "WEIR_DRIVER_PATH=" + built(WEIR_DRIVER_FOLDER).string() +
                              " timeout 120 " + built("bin/weir_runtime_exit").string() + " " + GetParam() +
                              " 2>&1";
#ifdef WEIR_SANITIZED
  const int usual = 3;
#else
  const int usual = rounds_of(
      tested_device() == "cpu" && GetParam() != std::string("callback")
          ? 20
          : 3);  // seconds: a GPU needs most of one to open, and so does this callback to end the process
#endif
  const int times = exits_of(usual);
  for (int i = 0; i < times; ++i) {
    FILE* pipe = popen(command.c_str(), "r");
    ASSERT_NE(pipe, nullptr);
    std::string output;
    std::array<char, 256> buffer;
    while (std::fgets(buffer.data(), buffer.size(), pipe)) output += buffer.data();
    const int status = pclose(pipe);
    ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status << "\n" << output;
    ASSERT_EQ(output, "");
  }
}

}  // namespace
}  // namespace weir::test
