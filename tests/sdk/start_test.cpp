// SPDX-License-Identifier: Apache-2.0
// The single start of a vendor's runtime, and processes that fork before and after it.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <weir/sdk/vendor/start.hpp>

namespace weir::sdk {
namespace {

std::atomic<bool> inside{false}, go_on{false};

std::uint32_t start_slowly() {
  inside = true;
  while (!go_on) std::this_thread::yield();
  return 3;
}

std::uint32_t start_in_vain() {
  fail(WEIR_ERROR_NO_LIBRARY, "there is no such library");
}

/// The result, in a forked child, of a call that needs `Start`.
template <std::uint32_t (*Start)()>
int code_in_child() {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    try {
      check_not_forked("test");
      vendor::start_once<Start>();
    } catch (const Failure& failure) {
      _exit(failure.code);
    }
    _exit(WEIR_OK);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

TEST(Start, AChildOfAForkIsRefusedFromTheStartOn) {
  EXPECT_THROW(vendor::start_once<start_in_vain>(), Failure);
  EXPECT_EQ(code_in_child<start_in_vain>(), WEIR_ERROR_NO_LIBRARY);
  std::thread thread([] { EXPECT_EQ(vendor::start_once<start_slowly>(), 3u); });
  while (!inside) std::this_thread::yield();
  EXPECT_EQ(code_in_child<start_slowly>(), WEIR_ERROR_SYSTEM);
  go_on = true;
  thread.join();
  EXPECT_EQ(code_in_child<start_slowly>(), WEIR_ERROR_SYSTEM);
}

}  // namespace
}  // namespace weir::sdk
