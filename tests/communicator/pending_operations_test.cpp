// SPDX-License-Identifier: Apache-2.0
// The operations that streams of nccl and rccl have not finished, with events that the test sets.
#include "../../plugins/collectives/pending_operations.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>

#include "../../plugins/collectives/vendor.hpp"

namespace weir::collectives {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::Pair;
using testing::StrEq;

struct Event {
  EventState state = EventState::pending;
};

struct Vendors {
  std::mutex mutex;
  std::condition_variable changed;
  std::set<Event*> events;
  std::size_t created = 0, queries = 0;
  bool hold = false, held = false;  ///< queries wait while `hold` is set
} vendors;

}  // namespace

void* create_event() {
  const std::lock_guard lock(vendors.mutex);
  auto* const made = new Event;
  vendors.events.insert(made);
  ++vendors.created;
  return made;
}

void destroy_event(void* event) noexcept {
  const std::lock_guard lock(vendors.mutex);
  vendors.events.erase(static_cast<Event*>(event));
  delete static_cast<Event*>(event);
}

EventState query_event(void* event) noexcept {
  std::unique_lock lock(vendors.mutex);
  ++vendors.queries;
  vendors.held = vendors.hold;
  vendors.changed.notify_all();
  vendors.changed.wait(lock, [] { return !vendors.hold; });
  vendors.held = false;
  return static_cast<Event*>(event)->state;
}

namespace {

using Entry = PendingOperations::Entry;

class Pending : public testing::Test {
 protected:
  void SetUp() override { vendors.created = vendors.queries = 0; }
  void TearDown() override {
    operations.destroy_events();
    EXPECT_TRUE(vendors.events.empty());
  }
  static void set(void* event, EventState state) {
    const std::lock_guard lock(vendors.mutex);
    static_cast<Event*>(event)->state = state;
  }
  static void reach(Entry* entry) { set(entry->begin, EventState::complete); }
  static void end(Entry* entry) {
    reach(entry);
    set(entry->end, EventState::complete);
  }
  /// Null if too many operations are pending.
  Entry* submit(void* stream, std::uint64_t number = 0,
                PendingOperations::Operation operation = {"all_reduce"}) {
    Entry* const entry = operations.take();
    if (!entry) return nullptr;
    entry->operation = std::move(operation);
    entry->number = number;
    set(entry->begin, EventState::pending);
    set(entry->end, EventState::pending);
    operations.submitted(entry, stream);
    return entry;
  }
  PendingOperations::Report look(std::chrono::nanoseconds limit = 10s) {
    return operations.look(limit, limit / 4);
  }

  PendingOperations operations;
  int streams[2] = {};
  void *const a = &streams[0], *const b = &streams[1];
};

TEST_F(Pending, EventsOfOperationsThatHaveEndedAreReusedAtSubmission) {
  for (int i = 0; i < 10000; ++i) end(submit(a));
  EXPECT_EQ(vendors.created, 2 * PendingOperations::unqueried);
  EXPECT_LE(vendors.queries, 10000u / 16);
}

TEST_F(Pending, AnyNumberOfOperationsThatHaveEndedIsCollected) {
  for (std::size_t ended = 0; ended <= 40; ++ended) {
    std::vector<Entry*> entries;
    for (int i = 0; i < 40; ++i) entries.push_back(submit(a));
    for (std::size_t i = 0; i < ended; ++i) end(entries[i]);
    EXPECT_EQ(look().waiting, 40 - ended);
    for (Entry* const entry : entries) end(entry);
    EXPECT_TRUE(operations.collect());
  }
}

TEST_F(Pending, TheirNumberIsLimited) {
  std::vector<Entry*> entries;
  while (Entry* const entry = submit(a)) entries.push_back(entry);
  EXPECT_EQ(entries.size(), PendingOperations::max_pending);
  EXPECT_EQ(vendors.created, 2 * PendingOperations::max_pending);
  for (int i = 0; i < 10; ++i) end(entries[static_cast<std::size_t>(i)]);
  for (int i = 0; i < 10; ++i) EXPECT_NE(submit(a), nullptr);
  EXPECT_EQ(submit(a), nullptr);
  EXPECT_EQ(vendors.created, 2 * PendingOperations::max_pending);
}

TEST_F(Pending, OfPendingOperationsOnlyTheFirstOfEachStreamIsQueried) {
  for (int i = 0; i < 100; ++i) {
    submit(a);
    submit(b);
  }
  vendors.queries = 0;
  look();
  EXPECT_LE(vendors.queries, 4u);
}

TEST_F(Pending, SubmissionDoesNotWaitForQueries) {
  submit(a);
  vendors.hold = true;
  std::jthread watch([&] { look(); });
  {
    std::unique_lock lock(vendors.mutex);
    vendors.changed.wait(lock, [] { return vendors.held; });
  }
  for (int i = 0; i < 100; ++i) EXPECT_NE(submit(a), nullptr);
  {
    const std::lock_guard lock(vendors.mutex);
    EXPECT_TRUE(vendors.held);
    vendors.hold = false;
  }
  vendors.changed.notify_all();
}

TEST_F(Pending, TheLimitCountsFromTheTimeAtWhichTheStreamReachesTheOperation) {
  Entry* const first = submit(a, 7);
  submit(a, 8);
  std::this_thread::sleep_for(20ms);
  EXPECT_FALSE(look(10ms).late);  // the stream computes
  reach(first);
  EXPECT_FALSE(look(50ms).late);
  std::this_thread::sleep_for(60ms);
  const auto report = look(50ms);
  EXPECT_TRUE(report.ask);
  ASSERT_TRUE(report.late);
  EXPECT_EQ(report.late->second, 7u);
  EXPECT_FALSE(look(50ms).ask);  // once
  end(first);
  EXPECT_FALSE(look(50ms).late);  // the second one has just become the first
}

TEST_F(Pending, CollectiveOperationsThatTheStreamsHaveNotReachedAreCounted) {
  Entry* const first = submit(a, 1);
  submit(a, 2);
  submit(b, 0, {"exchange", {1}});
  Entry* const last = submit(b, 3, {"broadcast"});
  EXPECT_EQ(look().waiting, 3u);
  reach(first);
  const auto report = look();
  EXPECT_EQ(report.waiting, 2u);
  EXPECT_THAT(report.begun, ElementsAre(Pair(StrEq("all_reduce"), 1u)));
  end(last);  // out of order, so not yet
  EXPECT_EQ(look().waiting, 2u);
}

TEST_F(Pending, AFailureOfTheDeviceIsReported) {
  set(submit(a, 1, {"broadcast"})->end, EventState::failed);
  EXPECT_STREQ(look().failed, "broadcast");
  EXPECT_EQ(look().failed, nullptr);
  EXPECT_TRUE(operations.collect());
  // The first one that failed, although others are queried.
  end(submit(a, 2));
  for (const char* const name : {"exchange", "barrier", "all_gather"})
    set(submit(a, 3, {name})->end, EventState::failed);
  submit(a, 4);
  EXPECT_STREQ(look().failed, "exchange");
  EXPECT_EQ(look().waiting, 1u);
}

TEST_F(Pending, WithdrawnEntriesAreReused) {
  Entry* const entry = operations.take();
  operations.withdraw(entry);
  EXPECT_TRUE(operations.collect());
  EXPECT_EQ(operations.take(), entry);
  operations.withdraw(entry);
}

}  // namespace
}  // namespace weir::collectives
