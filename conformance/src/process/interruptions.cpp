// SPDX-License-Identifier: Apache-2.0
#include "process/interruptions.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <random>

namespace weir::conformance {
namespace {

constexpr int chosen = SIGPROF;

// Long enough for some calls of the other threads.
constexpr std::int64_t pause_nanoseconds = 10'000;
// Other processes may use the processors for some time before the other threads run.
constexpr std::int64_t max_pause_nanoseconds = 20'000'000;
constexpr std::chrono::milliseconds phase{5}, rest{1};
constexpr unsigned max_interval = 15'000;  // nanoseconds

/// A thread with a Here, for the handler, which takes no lock.
struct Racer {
  std::atomic<pid_t> thread{0};  ///< 0 if this entry is free
  std::atomic<clockid_t> clock{0};
};
Racer racers[64];
thread_local Racer* own = nullptr;

std::int64_t nanoseconds_of(clockid_t clock) {
  timespec now{};
  return clock_gettime(clock, &now) == 0 ? std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec : 0;
}

/// The processor time that the other racers have used.
std::int64_t time_of_others() {
  std::int64_t sum = 0;
  for (const Racer& racer : racers)
    if (&racer != own && racer.thread) sum += nanoseconds_of(racer.clock);
  return sum;
}

/// Whether the thread runs or waits for a processor only.
bool can_run(pid_t thread) {
  char path[64], text[512];
  std::snprintf(path, sizeof path, "/proc/self/task/%d/stat", static_cast<int>(thread));
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const ssize_t size = ::read(file, text, sizeof text - 1);
  ::close(file);
  if (size <= 0) return false;
  text[size] = 0;
  const char* const name_end = std::strrchr(text, ')');  // the state follows it
  return name_end && name_end[1] == ' ' && name_end[2] == 'R';
}

bool another_can_run() {
  return std::ranges::any_of(racers, [](const Racer& racer) {
    const pid_t thread = racer.thread;
    return &racer != own && thread && can_run(thread);
  });
}

/// Stops the thread until the others have run for a while, or all of them wait, as for a lock that it holds.
/// On a busy machine a fixed time would often pass without any of them.
void pause(int) {
  const int before = errno;
  const timespec time{0, pause_nanoseconds};
  const std::int64_t begun = nanoseconds_of(CLOCK_MONOTONIC), used = time_of_others();
  do nanosleep(&time, nullptr);
  while (time_of_others() - used < pause_nanoseconds &&
         nanoseconds_of(CLOCK_MONOTONIC) - begun < max_pause_nanoseconds && another_can_run());
  errno = before;
}

/// Otherwise each sleep lasts 50 microseconds longer.
void sleep_exactly() {
  prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
}

std::chrono::nanoseconds processor_time() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

}  // namespace

Race::Race(std::chrono::milliseconds time)
    : time_(time), began_(std::chrono::steady_clock::now()), processor_began_(processor_time()) {}

bool Race::goes_on() const {
  const auto passed = std::chrono::steady_clock::now() - began_;
  return passed < time_ || (passed < 4 * time_ && processor_time() - processor_began_ < time_);
}

Interruptions::Interruptions() {
  // It stays installed: a signal that is still pending later would end the process.
  static const int installed = [] {
    struct sigaction action {};
    action.sa_handler = pause;
    action.sa_flags = SA_RESTART;
    return sigaction(chosen, &action, nullptr);
  }();
  (void)installed;
  interrupter_ = std::thread([this] {
    sleep_exactly();
    std::minstd_rand random;
    for (auto begun = std::chrono::steady_clock::now(); !stop_;) {
      // Races of single instructions need threads that run at the same time, without pauses.
      if (std::chrono::steady_clock::now() - begun > phase) {
        std::this_thread::sleep_for(rest);
        begun = std::chrono::steady_clock::now();
      }
      {
        const std::lock_guard lock(mutex_);
        if (!threads_.empty()) pthread_kill(threads_[random() % threads_.size()], chosen);
      }
      const timespec time{0, static_cast<long>(random() % max_interval)};
      nanosleep(&time, nullptr);
    }
  });
}

Interruptions::~Interruptions() {
  stop_ = true;
  interrupter_.join();
}

Interruptions::Here::Here(Interruptions& by) : by_(by) {
  sleep_exactly();
  clockid_t clock = 0;
  if (pthread_getcpuclockid(pthread_self(), &clock) == 0)
    for (Racer& racer : racers) {
      pid_t expected = 0;
      if (!racer.thread.compare_exchange_strong(expected, gettid())) continue;
      racer.clock = clock;
      own = &racer;
      break;
    }
  const std::lock_guard lock(by_.mutex_);
  by_.threads_.push_back(pthread_self());
}

Interruptions::Here::~Here() {
  {
    const std::lock_guard lock(by_.mutex_);
    std::erase_if(by_.threads_, [](pthread_t thread) { return pthread_equal(thread, pthread_self()); });
  }
  if (own) own->thread = 0;
  own = nullptr;
}

}  // namespace weir::conformance
