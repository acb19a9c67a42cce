// SPDX-License-Identifier: Apache-2.0
// Owners of file descriptors, and which of them forked children keep.
#include "descriptor.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <atomic>
#include <csignal>
#include <thread>
#include <utility>
#include <vector>

namespace weir::test {
namespace {

bool is_open(int number) {
  return fcntl(number, F_GETFD) >= 0;
}

/// The result of `action` in a forked child.
template <class Action>
bool in_child(Action&& action) {
  const pid_t child = fork();
  if (child == 0) _exit(action() ? 0 : 1);
  int status = 1;
  waitpid(child, &status, 0);
  return status == 0;
}

TEST(Descriptor, IsClosedWithItsOwner) {
  int number = -1;
  {
    Descriptor first(open("/dev/null", O_RDONLY | O_CLOEXEC));
    number = first.get();
    const Descriptor second(std::move(first));
    EXPECT_EQ(first.get(), -1);
    EXPECT_TRUE(is_open(number));
  }
  EXPECT_FALSE(is_open(number));
}

TEST(Descriptor, IsKeptByForkedChildrenUnlessItIsPrivate) {
  const Descriptor plain(open("/dev/null", O_RDONLY | O_CLOEXEC));
  const Descriptor own = private_descriptor(open("/dev/null", O_RDONLY | O_CLOEXEC));
  const DescriptorPair sockets = private_sockets(SOCK_STREAM);
  Descriptor moved = private_descriptor(open("/dev/null", O_RDONLY | O_CLOEXEC));
  const Descriptor target(std::move(moved));
  const DescriptorPair closed = private_pipe();
  EXPECT_TRUE(in_child([&] {
    return is_open(plain.get()) && !is_open(own.get()) && !is_open(sockets.first.get()) &&
           !is_open(sockets.second.get()) && !is_open(target.get());
  }));
  EXPECT_TRUE(is_open(own.get()) && is_open(sockets.first.get()) && is_open(target.get()));
}

TEST(Descriptor, OfTheParentIsNotClosedTwiceInAChild) {
  Descriptor own = private_descriptor(open("/dev/null", O_RDONLY | O_CLOEXEC));
  EXPECT_TRUE(in_child([&] {
    const Descriptor other(open("/dev/null", O_RDONLY | O_CLOEXEC));  // takes the number
    const bool same = other.get() == own.get();
    own.reset();
    return same && is_open(other.get());
  }));
}

TEST(Descriptor, IsNeverAStandardStream) {
  const Descriptor before(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3));
  close(STDIN_FILENO);
  const DescriptorPair pipe = private_pipe();
  EXPECT_GT(pipe.first.get(), STDERR_FILENO);
  EXPECT_FALSE(is_open(STDIN_FILENO));
  dup2(before.get(), STDIN_FILENO);
}

TEST(Descriptor, OfAPipeIsHeldByNoChildThatWasForkedMeanwhile) {
  std::atomic<bool> done{false};
  std::vector<pid_t> children;
  std::jthread forks([&] {
    while (!done && children.size() < 200) {
      const pid_t child = fork();
      if (child == 0) pause();  // a descriptor that it keeps stays open
      children.push_back(child);
    }
    done = true;
  });
  int late = 0;
  while (!done) {
    DescriptorPair pipe = private_pipe();
    if (pipe.first.get() < 0) continue;
    pipe.second.reset();
    pollfd end{pipe.first.get(), POLLIN, 0};
    late += poll(&end, 1, 10'000) != 1;  // a new child closes its copies soon
  }
  forks.join();
  for (const pid_t child : children) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
  EXPECT_EQ(late, 0);
}

}  // namespace
}  // namespace weir::test
