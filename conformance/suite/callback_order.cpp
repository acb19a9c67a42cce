// SPDX-License-Identifier: Apache-2.0
// Level 4: random programs of host callbacks, events and waits. Callbacks tell the order in which they ran.
#include <algorithm>
#include <cstdint>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "kernels/gate.hpp"

namespace weir::conformance {
namespace {

/// The numbers of callbacks, in the order in which they ran.
class Log {
 public:
  void add(std::size_t number) {
    const std::lock_guard lock(mutex_);
    numbers_.push_back(number);
  }
  std::vector<std::size_t> numbers() const {
    const std::lock_guard lock(mutex_);
    return numbers_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::size_t> numbers_;
};

/// One callback of a program.
struct Call {
  Log* log = nullptr;
  std::size_t number = 0;
  std::string place;                  ///< the stream, and what was submitted to it before
  std::set<std::size_t> must_follow;  ///< numbers of others
};

/// A program of `length` steps over some streams, of which two are held until all of it is submitted.
class Program {
 public:
  Program(std::uint32_t seed, std::size_t length) : random_(seed) {
    calls_.reserve(length);
    for (std::size_t s = 0; s < held; ++s) gate_.hold(streams_[s].stream);
    for (std::size_t i = 0; i < length; ++i) step();
  }

  void run() {
    gate_.open();
    for (const OneStream& one : streams_) one.stream.synchronize();
    // Those of destroyed streams may still run.
    const bool all = eventually([&] { return log_.numbers().size() == calls_.size(); });
    const std::vector<std::size_t> order = log_.numbers();
    std::vector<std::size_t> place(calls_.size(), calls_.size());
    for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = i;
    if (!all)
      for (const Call& call : calls_)
        if (place[call.number] == calls_.size())
          FAIL() << "callback " << call.number << " never ran, " << call.place
                 << ". driver.h: submitted work of a destroyed stream completes. Look first at streams that "
                    "wait for "
                    "an event when they are destroyed";
    for (const Call& call : calls_)
      for (const std::size_t before : call.must_follow)
        ASSERT_LT(place[before], place[call.number])
            << "callback " << call.number << " ran before callback " << before
            << ", which it must follow. It is " << call.place << "; the other is " << calls_[before].place
            << ". driver.h: later work of a stream begins after the work that the event of a wait covered. "
               "Look "
               "first at callbacks and waits that follow one another directly";
  }

 private:
  static constexpr std::size_t count = 5, held = 2;
  struct OneStream {
    Stream stream;
    std::set<std::size_t> known;  ///< callbacks that later work of the stream follows
    std::string history;
  };
  struct OneEvent {
    Event event;
    bool recorded = false;
    std::set<std::size_t> covered;
    std::string where;
  };

  void step() {
    const std::size_t s = random_() % count;
    OneStream& one = streams_[s];
    const std::uint32_t kind = random_() % 20;
    if (kind < 8) {
      add_callback(s);
    } else if (kind < 13) {
      const std::size_t e = random_() % events_.size();
      OneEvent& mark = events_[e];
      mark.event.record(one.stream);
      mark.recorded = true;
      mark.covered = one.known;
      mark.where = "event " + std::to_string(e) + " of stream " + std::to_string(s);
      remember(one, "record of event " + std::to_string(e));
    } else if (kind < 19) {  // one to three in a row
      for (std::uint32_t waits = random_() % 3 + 1; waits > 0; --waits) {
        const OneEvent& mark = events_[random_() % events_.size()];
        one.stream.wait(mark.event);
        one.known.insert(mark.covered.begin(), mark.covered.end());
        remember(one, "wait for " + (mark.recorded ? mark.where : "an event without a record"));
      }
    } else {
      one.stream = Stream();
      one.known.clear();
      one.history = ", new,";
    }
  }
  void add_callback(std::size_t s) {
    OneStream& one = streams_[s];
    calls_.push_back({&log_, calls_.size(), "on stream " + std::to_string(s) + one.history, one.known});
    const weir_host_callback run = [](void* user) {
      const Call& call = *static_cast<const Call*>(user);
      call.log->add(call.number);
    };
    call(table().stream_host_callback, weir_stream(one.stream), run, static_cast<void*>(&calls_.back()));
    one.known.insert(calls_.back().number);
    remember(one, "callback " + std::to_string(calls_.back().number));
  }
  /// Keeps the last four submissions.
  static void remember(OneStream& one, const std::string& what) {
    if (one.history.empty()) one.history = " after";
    one.history += " " + what + ",";
    while (std::ranges::count(one.history, ',') > 4)
      one.history = " after" + one.history.substr(one.history.find(',') + 1);
  }

  std::mt19937 random_;
  Log log_;
  std::vector<Call> calls_;  // never reallocated: callbacks have pointers
  Gate gate_;
  std::vector<OneStream> streams_{count};
  std::vector<OneEvent> events_{10};
};

WEIR_REQUIREMENT(4, 83, Callbacks, OfRandomProgramsRunInOrder,
                 "In random programs of callbacks, records and waits over five streams, of which two are "
                 "held until all is "
                 "submitted and some are destroyed, each callback runs after all that it must follow.") {
  needs(WEIR_CAP_HOST_CALLBACK);
  needs(WEIR_CAP_CONCURRENT_STREAMS);
  const std::uint32_t programs = judged().thorough ? 2000 : 150;
  for (std::uint32_t seed = 1; seed <= programs && !HasFailure(); ++seed) Program(seed, 60).run();
}

}  // namespace
}  // namespace weir::conformance
