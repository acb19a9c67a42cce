// SPDX-License-Identifier: Apache-2.0
#include "descriptor.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <mutex>

namespace weir {
namespace {

// Descriptors beyond this limit stay open in forked children.
constexpr std::size_t max_descriptors = 512;

// Held while descriptors are opened and during a fork: no child inherits a descriptor that is not in the
// table.
constinit std::mutex mutex;
constinit std::array<int, max_descriptors> numbers{};  // the first `count` entries
constinit std::size_t count = 0;

void close_all() noexcept {
  for (; count > 0; --count) close(numbers[count - 1]);
}

void register_fork_handlers() noexcept {
  // Not a static with a guard, which another thread may hold during a fork.
  static constinit std::atomic<bool> watched{false};
  if (!watched.exchange(true))
    pthread_atfork([] { mutex.lock(); }, [] { mutex.unlock(); },
                   [] {
                     close_all();
                     mutex.unlock();
                   });
}

int above_standard_streams(int number) noexcept {
  if (number < 0 || number > STDERR_FILENO) return number;
  const int moved = fcntl(number, F_DUPFD_CLOEXEC, STDERR_FILENO + 1), error = errno;
  close(number);
  errno = error;
  return moved;
}

}  // namespace

// The mutex must be held.
struct PrivateDescriptors {
  static Descriptor adopt(int number) noexcept {
    Descriptor result(above_standard_streams(number));
    if (result.number_ < 0 || count == max_descriptors) return result;
    numbers[count++] = result.number_;
    result.private_ = true;
    return result;
  }
};

namespace {

template <class Open>
DescriptorPair open_pair(Open&& open) noexcept {
  register_fork_handlers();
  DescriptorPair pair;
  {
    const std::lock_guard lock(mutex);
    int ends[2];
    if (open(ends) != 0) return pair;
    pair = {PrivateDescriptors::adopt(ends[0]), PrivateDescriptors::adopt(ends[1])};
  }
  if (pair.first.get() >= 0 && pair.second.get() >= 0) return pair;
  const int error = errno;
  pair = {};
  errno = error;
  return pair;
}

}  // namespace

void Descriptor::close_private() const noexcept {
  const std::lock_guard lock(mutex);  // a child that is forked now must not keep a copy
  const auto end = numbers.begin() + std::ptrdiff_t(count), found = std::find(numbers.begin(), end, number_);
  if (found == end) return;  // this is a forked child, which has closed it
  *found = numbers[--count];
  close(number_);
}

Descriptor private_descriptor(int number) noexcept {
  register_fork_handlers();
  const std::lock_guard lock(mutex);
  return PrivateDescriptors::adopt(number);
}

DescriptorPair private_pipe() noexcept {
  return open_pair([](int(&ends)[2]) { return pipe2(ends, O_CLOEXEC); });
}

DescriptorPair private_sockets(int type) noexcept {
  return open_pair([&](int(&ends)[2]) { return socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends); });
}

}  // namespace weir
