// SPDX-License-Identifier: Apache-2.0
#include "process/interruptions.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <random>

namespace weir::conformance {
namespace {

constexpr int chosen = SIGPROF;

// Long enough for some calls of the other threads on another core, and for a thread that waits for this core.
constexpr long pause_nanoseconds = 10'000;
constexpr std::chrono::milliseconds phase{5}, rest{1};
constexpr unsigned max_interval = 15'000;  // nanoseconds

void pause(int) {
  const int before = errno;
  const timespec time{0, pause_nanoseconds};
  nanosleep(&time, nullptr);
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
  const std::lock_guard lock(by_.mutex_);
  by_.threads_.push_back(pthread_self());
}

Interruptions::Here::~Here() {
  const std::lock_guard lock(by_.mutex_);
  std::erase_if(by_.threads_, [](pthread_t thread) { return pthread_equal(thread, pthread_self()); });
}

}  // namespace weir::conformance
