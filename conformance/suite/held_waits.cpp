// SPDX-License-Identifier: Apache-2.0
// Level 2: streams that wait for an event of a held stream.
#include <chrono>
#include <string>
#include <thread>

#include "kernels/gate.hpp"

namespace weir::conformance {
namespace {

/// Runs `call` on a thread that has submitted nothing, and waits for it.
template <class Call>
void on_a_new_thread(const Call& call) {
  std::jthread thread(call);
}

/// Calls `submit_wait` with the waiting stream and an event of a held stream. A fill after the wait must not
/// run before the gate opens.
template <class SubmitWait>
void expect_held_back(const std::string& what, const Stream& waiting, std::chrono::milliseconds time,
                      const SubmitWait& submit_wait) {
  const Memory memory(64);
  memory.write(Bytes(64, 1));
  const Stream held;
  const Event event;
  Gate gate;
  gate.hold(held);
  event.record(held);
  submit_wait(waiting, event);
  fill<std::uint8_t>(waiting, memory, 0, 64, 2);
  waiting.flush();
  EXPECT_TRUE(never([&] { return waiting.done(); }, time))
      << what << " waits for an event of a held stream, with a fill after the wait; stream_query returned "
      << "WEIR_OK. Look first at what stream_wait_event submits";
  gate.open();
  waiting.synchronize();
  EXPECT_TRUE(same_bytes(memory.read(), Bytes(64, 2))) << "after the fill of " << what;
}

constexpr std::chrono::milliseconds moment{10};

void expect_any_priority_to_wait() {
  for (const std::int32_t priority :
       {info().max_priority - 1, info().max_priority, info().min_priority, info().min_priority + 1}) {
    const Stream waiting(device(), priority);
    expect_held_back("a stream of priority " + std::to_string(priority), waiting, moment,
                     [](const Stream& stream, const Event& event) { stream.wait(event); });
  }
}

void expect_any_thread_to_submit_the_wait() {
  const Stream waiting;
  expect_held_back("a stream, by a call of a thread that submitted nothing before,", waiting, moment,
                   [](const Stream& stream, const Event& event) {
                     on_a_new_thread([&] {
                       EXPECT_EQ(result_of(table().stream_wait_event, weir_stream(stream), weir_event(event)),
                                 WEIR_OK);
                     });
                   });
}

/// Queries of held work, by a thread that submitted nothing.
void expect_any_thread_to_query() {
  const Stream held;
  const Event event;
  Gate gate;
  gate.hold(held);
  event.record(held);
  weir_result of_stream = WEIR_OK, of_event = WEIR_OK;
  const auto query = [&] {
    on_a_new_thread([&] {
      of_stream = result_of(table().stream_query, weir_stream(held));
      of_event = result_of(table().event_query, weir_event(event));
    });
  };
  constexpr const char* words =
      ", called by a thread that submitted nothing. driver.h: every function may be called from any thread. "
      "Look first at what it keeps for each thread";
  query();
  EXPECT_EQ(result_name(of_stream), "WEIR_NOT_READY") << "for stream_query of a held stream" << words;
  EXPECT_EQ(result_name(of_event), "WEIR_NOT_READY")
      << "for event_query of an event of a held stream" << words;
  gate.open();
  held.synchronize();
  query();
  EXPECT_EQ(result_name(of_stream), "WEIR_OK") << "for stream_query after stream_synchronize" << words;
  EXPECT_EQ(result_name(of_event), "WEIR_OK") << "for event_query after stream_synchronize" << words;
}

/// The stream that waits has `count` fills in its queue.
void expect_waits_behind(int count) {
  const Memory memory(64);
  const Stream held, waiting;
  const Event begin, end, filled;
  Gate first, second;  // of one stream: the second callback begins after the first gate has opened
  first.hold(held);
  begin.record(held);
  second.hold(held);
  end.record(held);
  held.flush();
  waiting.wait(begin);
  for (int i = 0; i < count; ++i) fill<std::uint8_t>(waiting, memory, 0, 64, 1);
  filled.record(waiting);
  waiting.wait(end);
  fill<std::uint8_t>(waiting, memory, 0, 64, 2);
  waiting.flush();
  first.open();
  filled.synchronize();
  EXPECT_TRUE(never([&] { return waiting.done(); }, moment / 2))
      << "a stream with " << count
      << " fills in its queue was given a wait for an event of a held stream, and a fill. The first fills "
         "ended, and stream_query returned WEIR_OK. Look first at what stream_wait_event submits to a stream "
         "with much work";
  second.open();
  waiting.synchronize();
  EXPECT_TRUE(same_bytes(memory.read(), Bytes(64, 2))) << "after " << count << " fills, a wait and a fill";
}

WEIR_REQUIREMENT(
    2, 36, Events, HoldBackTheStreamThatWaits,
    "A stream that waits for an event does not go on before it is reached, whatever the stream's priority, "
    "with up to 400 operations in its queue, and if a thread that submitted nothing calls "
    "stream_wait_event. stream_query and event_query of held work return WEIR_NOT_READY in such a thread.") {
  {
    const Stream waiting;
    expect_held_back("a stream", waiting, std::chrono::milliseconds(50),
                     [](const Stream& stream, const Event& event) { stream.wait(event); });
  }
  expect_any_thread_to_submit_the_wait();
  expect_any_thread_to_query();
  expect_any_priority_to_wait();
  if (!has(WEIR_CAP_CONCURRENT_STREAMS)) return;
  for (const int count : {1, 10, 31, 32, 33, 100, 400})
    if (!HasFailure()) expect_waits_behind(count);
}

}  // namespace
}  // namespace weir::conformance
