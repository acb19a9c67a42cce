// SPDX-License-Identifier: Apache-2.0
// Waits that begin at the moment at which work ends, and submissions at the moment at which the driver's
// threads go to sleep. A driver that looks for work first and registers the sleeper afterwards loses the
// wake-up if the work ends, or arrives, between the two. Each round moves that moment by a few nanoseconds.
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <functional>
#include <thread>

#include "kernels/gate.hpp"
#include "process/interruptions.hpp"

namespace weir::conformance {
namespace {

using Clock = std::chrono::steady_clock;

/// Longer than drivers usually spin before they sleep.
constexpr double longest_delay = 48e3;

/// Chooses how many nanoseconds pass in each round before work ends or arrives. Every second round comes
/// close to the time at which a thread falls asleep, as far as it is known.
class Delays {
 public:
  /// `first`: where to look for that time.
  explicit Delays(double first) : boundary_(first) {}

  std::chrono::nanoseconds next() {
    constexpr double golden_ratio = 0.6180339887498949;  // its multiples leave no gaps
    const double part = std::fmod(static_cast<double>(++round_) * golden_ratio, 1.0);
    // More of the others are short: most threads sleep soon.
    const double delay = round_ % 2 ? longest_delay * part * part * part
                                    : boundary_ + std::max(0.2 * boundary_, 500.0) * (part - 0.5);
    return std::chrono::nanoseconds(static_cast<std::int64_t>(std::max(delay, 0.0)));
  }
  /// The thread slept before the end of the delay, or it did not.
  void found(bool slept) {
    if (round_ % 2 == 0)
      boundary_ =
          std::clamp(boundary_ + (slept ? -1 : 1) * std::max(0.02 * boundary_, 50.0), 0.0, 8 * longest_delay);
  }

 private:
  std::uint64_t round_ = 0;
  double boundary_;
};

/// The number of times for which this thread has slept.
long sleeps_of_this_thread() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nvcsw;
}

template <class Duration>
void spin_for(Duration time) {
  for (const auto begun = Clock::now(); Clock::now() - begun < time;) {
  }
}

/// Polls `condition`, at first without giving the processor away.
template <class Condition>
void await(Condition condition) {
  for (const auto begun = Clock::now(); !condition();)
    if (Clock::now() - begun > std::chrono::microseconds(200)) std::this_thread::yield();
}

/// Work whose end the test chooses: a host callback that returns `delay` after start(). It lives as long as
/// the process, since a callback may run after a failed test.
struct TimedWork {
  std::atomic<bool> reached{false}, started{false};
  std::atomic<std::int64_t> delay{0};

  void submit(const Stream& stream, std::chrono::nanoseconds time) {
    reached = started = false;
    delay = time.count();
    call(table().stream_host_callback, weir_stream(stream), &TimedWork::run, static_cast<void*>(this));
    stream.flush();
  }
  /// From now on it takes `delay`. Returns whether the stream had come to it.
  bool start() {
    const bool came = eventually([this] { return reached.load(); });
    started = true;
    return came;
  }
  static void run(void* user) {
    TimedWork& self = *static_cast<TimedWork*>(user);
    self.reached = true;
    await([&] { return self.started.load(); });
    spin_for(std::chrono::nanoseconds(self.delay));
  }
};

TimedWork& timed_work() {
  static auto* const work = new TimedWork;
  return *work;
}

constexpr const char* never_began =
    "a host callback was submitted to an idle stream and flushed, and did not run";

Race timed_race() {
  return Race(std::chrono::milliseconds(judged().thorough ? 2000 : 300));
}

/// Watches rounds, each of which waits for work. If none ends for half of the patience, a wake-up is lost:
/// `wake` then submits more work, whose end wakes the waiting thread in most drivers that have lost one.
class WatchedRounds {
 public:
  explicit WatchedRounds(std::function<void()> wake)
      : wake_(std::move(wake)), watch_([this](const std::stop_token& stopped) { run(stopped); }) {}
  void end_round() { ++ended_; }
  bool lost() const { return lost_; }
  void stop() {
    watch_.request_stop();
    watch_.join();
  }

 private:
  void run(const std::stop_token& stopped) {
    std::uint64_t seen = 0;
    auto since = Clock::now();
    while (!stopped.stop_requested()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      if (const std::uint64_t now = ended_; now != seen) {
        seen = now;
        since = Clock::now();
      } else if (Clock::now() - since > patience() / 2) {
        lost_ = true;
        since = Clock::now();
        wake_();
      }
    }
  }

  const std::function<void()> wake_;
  std::atomic<std::uint64_t> ended_{0};
  std::atomic<bool> lost_{false};
  std::jthread watch_;
};

/// In each round, work of `stream` ends while `wait` is called; `submit` submits what follows that work.
/// `function` and `sleeper` are words for the failure.
void wait_while_work_ends(const Stream& stream, const char* function, const char* sleeper,
                          const std::function<void()>& submit, const std::function<void()>& wait) {
  const Memory memory(64);
  WatchedRounds rounds([&] {
    const std::uint8_t value = 1;
    (void)result_of(table().fill, weir_stream(stream), weir_allocation(memory), std::uint64_t{0},
                    std::uint64_t{64}, static_cast<const void*>(&value), 1u);
    (void)result_of(table().stream_flush, weir_stream(stream));
  });
  const Race race = timed_race();
  for (Delays delays(0); !rounds.lost() && race.goes_on();) {
    timed_work().submit(stream, delays.next());
    submit();
    ASSERT_TRUE(timed_work().start()) << never_began;
    const long before = sleeps_of_this_thread();
    wait();
    delays.found(sleeps_of_this_thread() != before);
    rounds.end_round();
  }
  rounds.stop();
  EXPECT_FALSE(rounds.lost())
      << function << " was called within " << longest_delay / 1e3
      << " microseconds of the end of the stream's work, and did not return for " << patience().count() / 2.0
      << " seconds. driver.h: it waits until the work is complete. Look first at what happens if the work "
         "ends after "
      << sleeper << " has looked for it and before it is registered as waiting";
  stream.synchronize();
}

WEIR_REQUIREMENT(2, 22, Streams, WaitsThatBeginAsWorkEndsReturn,
                 "stream_synchronize and event_synchronize return if the work ends while they are called.") {
  needs(WEIR_CAP_HOST_CALLBACK);
  const Stream stream;
  const Event event;
  wait_while_work_ends(
      stream, "stream_synchronize", "its thread", [] {}, [&] { stream.synchronize(); });
  if (HasFailure()) return;
  wait_while_work_ends(
      stream, "event_synchronize", "its thread",
      [&] {
        event.record(stream);
        stream.flush();
      },
      [&] { event.synchronize(); });
}

WEIR_REQUIREMENT(2, 23, Streams, StreamsThatWaitAsWorkEndsGoOn,
                 "A stream goes on if the work that it waits for ends while it begins to wait.") {
  needs(WEIR_CAP_HOST_CALLBACK);
  const Memory memory(64);
  const Stream first, second;
  const Event event;
  const auto record = [&] {
    event.record(first);
    first.flush();
  };
  const auto wait = [&] {
    second.wait(event);
    fill<std::uint8_t>(second, memory, 0, 64, 1);
    second.flush();
  };
  // Some drivers let the thread that waits for the stream do the stream's work.
  wait_while_work_ends(first, "stream_synchronize of a stream that waits for the work's event", "the stream",
                       record, [&] {
                         wait();
                         second.synchronize();
                       });
  if (HasFailure()) return;
  const Race race = timed_race();
  for (Delays delays(1500); race.goes_on();) {
    timed_work().submit(first, delays.next());
    record();
    ASSERT_TRUE(timed_work().start()) << never_began;
    wait();
    ASSERT_TRUE(eventually([&] { return second.done(); }))
        << "a stream was told to wait for an event within " << longest_delay / 1e3
        << " microseconds of the end of the work before its record. That work is complete, and the waiting "
           "stream did not go on. Look first at what happens if the work ends after the stream has looked "
           "for it and before it is registered as waiting";
    first.synchronize();
  }
}

WEIR_REQUIREMENT(
    2, 24, Streams, WorkThatArrivesAsThreadsFallAsleepRuns,
    "Work that is submitted and flushed runs without a wait, also if the work before it has just "
    "ended.") {
  const Memory memory(64);
  const Stream stream;
  const auto submit = [&] {
    fill<std::uint8_t>(stream, memory, 0, 64, 1);
    stream.flush();
    return Clock::now();
  };
  const auto ends = [&] { return eventually([&] { return stream.done(); }); };
  const Race race = timed_race();
  for (Delays delays(1000); race.goes_on();) {
    const auto first = submit();
    ASSERT_TRUE(ends()) << "a fill was submitted and flushed, and did not end";
    const auto alone = Clock::now() - first;
    submit();
    spin_for(delays.next());
    const auto second = submit();
    ASSERT_TRUE(ends())
        << "a fill was submitted and flushed about when the fill before it ended, and did not "
           "end. Look first at what happens if work arrives after the driver's thread has "
           "looked for it and before it sleeps";
    delays.found(Clock::now() - second > alone / 2);  // a thread had to be woken again
  }
}

// Runs in a process of its own, in which no other opening keeps the device open.
WEIR_REQUIREMENT(
    4, 93, FirstCall, ACloseThatBeginsAsWorkEndsReturns,
    "The last device_close returns if the work of a destroyed stream ends while it is called, and "
    "the device can be opened again each time.") {
  needs_unopened(WEIR_CAP_HOST_CALLBACK);
  const auto open = [] {
    weir_device opened = nullptr;
    call(table().device_open, judged().device, &opened);
    return opened;
  };
  WatchedRounds rounds([&] {
    const weir_device opened = open();
    {
      Stream stream(opened);
      const weir_host_callback pause = [](void*) { spin_for(std::chrono::milliseconds(20)); };
      call(table().stream_host_callback, weir_stream(stream), pause, static_cast<void*>(nullptr));
    }
    call(table().device_close, opened);
  });
  const Race race = timed_race();
  for (Delays delays(0); !rounds.lost() && race.goes_on();) {
    const weir_device opened = open();
    {
      Stream stream(opened);
      timed_work().submit(stream, delays.next());
      ASSERT_TRUE(timed_work().start()) << never_began;
    }
    const long before = sleeps_of_this_thread();
    call(table().device_close, opened);
    delays.found(sleeps_of_this_thread() != before);
    rounds.end_round();
  }
  rounds.stop();
  EXPECT_FALSE(rounds.lost())
      << "the last device_close was called within " << longest_delay / 1e3
      << " microseconds of the end of the work of a destroyed stream, and did not return for "
      << patience().count() / 2.0
      << " seconds. Look first at what happens if the work ends after device_close has looked for it and "
         "before it sleeps";
}

}  // namespace
}  // namespace weir::conformance
