// SPDX-License-Identifier: Apache-2.0
// The rules of the fault layer, through the driver ABI only.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <numeric>
#include <string_view>
#include <thread>

#include "support/layered_driver.hpp"

namespace weir::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class Fault : public ::testing::Test {
 protected:
  static Layered& layered() {
    static Layered instance("fault", "");
    return instance;
  }
  Layered& layer = layered();
  const weir_driver_table& t = layer.table();
  std::uint32_t zero = 0;

  void configure(const char* options) {
    Answer answer;
    ASSERT_EQ(layer.configure(options, &answer), WEIR_OK) << answer.message;
  }
  void SetUp() override { configure(""); }
  void TearDown() override { configure(""); }

  weir_result fill(weir_stream stream, weir_allocation memory, weir_status* status = nullptr) {
    return t.fill(stream, memory, 0, 64, &zero, 4, status);
  }
};

// proves R34
TEST_F(Fault, FailsTheNthCallOnce) {
  Objects objects(t);
  const weir_stream stream = objects.stream();
  const weir_allocation memory = objects.memory(64);
  configure("call=fill:nth=2:result=launch");
  EXPECT_EQ(fill(stream, memory), WEIR_OK);
  Answer answer;
  EXPECT_EQ(fill(stream, memory, &answer), WEIR_ERROR_LAUNCH);
  EXPECT_STREQ(answer.message, "fault layer: call 2 of fill was made to fail (result=launch)");
  EXPECT_STREQ(answer.vendor_name, "FAULT");
  EXPECT_EQ(fill(stream, memory), WEIR_OK);
  EXPECT_EQ(layer.number("failed"), 1u);
  EXPECT_EQ(layer.number("calls.fill"), 3u);
}

// proves R34
TEST_F(Fault, FailsPermanently) {
  Objects objects(t);
  const weir_stream stream = objects.stream();
  const weir_allocation memory = objects.memory(64);
  configure("call=fill:nth=2:times=forever");
  EXPECT_EQ(fill(stream, memory), WEIR_OK);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(fill(stream, memory), WEIR_ERROR_SYSTEM);
}

// proves R34
TEST_F(Fault, FailsTheNthCallOfAnyFunction) {
  Objects objects(t);
  const weir_stream stream = objects.stream();
  configure("nth=2:result=unknown");
  EXPECT_EQ(t.stream_flush(stream, nullptr), WEIR_OK);
  EXPECT_EQ(t.stream_query(stream, nullptr), WEIR_ERROR_UNKNOWN);
  EXPECT_EQ(t.stream_query(stream, nullptr), WEIR_OK);
}

// A caller uses the outputs of a call that succeeded, so such calls are not dropped.
TEST_F(Fault, LosesOnlyWorkAndNoAnswers) {
  Objects objects(t);
  const weir_stream stream = objects.stream();
  const weir_allocation memory = objects.memory(64);
  configure("times=forever:result=ok");
  EXPECT_EQ(fill(stream, nullptr), WEIR_OK);  // dropped
  weir_memory_info info{};
  info.struct_size = sizeof info;
  EXPECT_EQ(t.memory_get_info(memory, &info, nullptr), WEIR_OK);
  EXPECT_EQ(info.size, 64u);
  weir_event event = nullptr;
  EXPECT_EQ(t.event_create(objects.device, 0, &event, nullptr), WEIR_OK);
  ASSERT_NE(event, nullptr);
  configure("");
  EXPECT_EQ(t.event_destroy(event, nullptr), WEIR_OK);
}

// proves R34
TEST_F(Fault, FollowsSeveralRules) {
  Objects objects(t);
  const weir_stream stream = objects.stream();
  const weir_allocation memory = objects.memory(64);
  configure("call=fill:nth=1:call=stream_flush:nth=2:result=unknown");
  EXPECT_EQ(fill(stream, memory), WEIR_ERROR_SYSTEM);
  EXPECT_EQ(t.stream_flush(stream, nullptr), WEIR_OK);
  EXPECT_EQ(t.stream_flush(stream, nullptr), WEIR_ERROR_UNKNOWN);
}

// proves R34
TEST_F(Fault, LetsWorkFailAfterItWasSubmitted) {
  Objects objects(t);
  const weir_stream stream = objects.stream(), other = objects.stream();
  const weir_allocation memory = objects.memory(64);
  configure("call=fill:result=illegal_address:late");
  EXPECT_EQ(fill(stream, memory), WEIR_OK);
  EXPECT_EQ(t.stream_synchronize(other, nullptr), WEIR_OK);
  Answer answer;
  EXPECT_EQ(t.stream_synchronize(stream, &answer), WEIR_ERROR_ILLEGAL_ADDRESS);
  EXPECT_THAT(answer.message, HasSubstr("work that was submitted to this stream was made to fail"));
  EXPECT_EQ(t.stream_synchronize(stream, nullptr), WEIR_OK);
}

// The driver reuses the handle for the next stream.
TEST_F(Fault, ALateFailureEndsWithItsStream) {
  Objects objects(t);
  const weir_allocation memory = objects.memory(64);
  weir_stream stream = nullptr;
  ASSERT_EQ(t.stream_create(objects.device, nullptr, &stream, nullptr), WEIR_OK);
  configure("call=fill:result=launch:late");
  EXPECT_EQ(fill(stream, memory), WEIR_OK);
  const weir_stream gone = stream;
  ASSERT_EQ(t.stream_destroy(stream, nullptr), WEIR_OK);
  for (int i = 0; i < 1000 && (i == 0 || stream != gone); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // until the work has completed
    stream = objects.stream();
  }
  ASSERT_EQ(stream, gone) << "the test needs a reused handle";
  EXPECT_EQ(t.stream_synchronize(stream, nullptr), WEIR_OK);
}

// proves R34
TEST_F(Fault, RunsOutOfMemoryAtALimit) {
  configure("memory=1K");
  Objects objects(t);
  const weir_allocation first = objects.memory(1000);
  const weir_memory_options options{sizeof options, WEIR_MEMORY_DEVICE, 100, 0};
  weir_allocation out = nullptr;
  Answer answer;
  EXPECT_EQ(t.memory_allocate(objects.device, &options, &out, &answer), WEIR_ERROR_OUT_OF_MEMORY);
  EXPECT_STREQ(answer.message,
               "fault layer: no room for 100 bytes: 1000 of the limit of 1024 bytes are in use");
  EXPECT_EQ(out, nullptr);
  EXPECT_EQ(layer.number("memory"), 1000u);
  EXPECT_EQ(t.memory_free(first, nullptr), WEIR_OK);
  objects.forget(first);
  objects.memory(100);
}

// proves R34
TEST_F(Fault, LosesTheDevice) {
  Objects objects(t);
  const weir_stream stream = objects.stream();
  const weir_allocation memory = objects.memory(64);
  const weir_event event = objects.event();
  configure("call=fill:nth=2:result=device_lost");
  EXPECT_EQ(fill(stream, memory), WEIR_OK);
  EXPECT_EQ(t.stream_synchronize(stream, nullptr), WEIR_OK);
  EXPECT_EQ(fill(stream, memory), WEIR_ERROR_DEVICE_LOST);
  Answer answer;
  EXPECT_EQ(t.stream_synchronize(stream, &answer), WEIR_ERROR_DEVICE_LOST);
  EXPECT_THAT(answer.message, HasSubstr("every later call fails"));
  EXPECT_EQ(t.event_record(event, stream, nullptr), WEIR_ERROR_DEVICE_LOST);
  // Objects of a lost device can still be destroyed.
  EXPECT_EQ(t.event_destroy(event, nullptr), WEIR_OK);
  objects.forget(event);
}

// Otherwise a program that frees host memory after a failed wait frees memory that work still uses.
// proves R34
TEST_F(Fault, WaitsFailOnceTheWorkHasEnded) {
  Objects objects(t);
  const weir_stream stream = objects.stream();
  const weir_event event = objects.event();
  const auto work = [](void* ended) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    *static_cast<std::atomic<bool>*>(ended) = true;
  };
  for (const char* options :
       {"call=stream_synchronize:result=system:times=forever", "call=event_synchronize:result=launch",
        "call=event_query:result=device_lost"}) {
    const bool by_event = std::string_view(options).find("event_synch") != std::string_view::npos;
    const bool is_lost = std::string_view(options).find("lost") != std::string_view::npos;
    configure("");
    std::atomic<bool> ended{false};
    ASSERT_EQ(t.stream_host_callback(stream, work, &ended, nullptr), WEIR_OK);
    ASSERT_EQ(t.event_record(event, stream, nullptr), WEIR_OK);
    configure(options);
    EXPECT_TRUE(!is_lost || t.event_query(event, nullptr) == WEIR_ERROR_DEVICE_LOST);
    EXPECT_NE(by_event ? t.event_synchronize(event, nullptr) : t.stream_synchronize(stream, nullptr),
              WEIR_OK);
    EXPECT_TRUE(ended) << options;
  }
}

// The layer counts openings. The runtime closes one of two devices when two threads open at the same time.
TEST_F(Fault, CountsOpeningsOfADevice) {
  Objects objects(t);
  { Objects again(t); }
  configure("call=stream_create:device=0:result=unknown");
  weir_stream stream = nullptr;
  EXPECT_EQ(t.stream_create(objects.device, nullptr, &stream, nullptr), WEIR_ERROR_UNKNOWN);
}

// proves R35
TEST_F(Fault, WrongOptionsAreQuoted) {
  const auto words = [&](const char* options) {
    Answer answer;
    EXPECT_EQ(layer.configure(options, &answer), WEIR_ERROR_INVALID) << options;
    return std::string(answer.message);
  };
  EXPECT_EQ(words("call=launch"),
            "layer fault: call is 'launch'; expected any, or a function of the driver's table, such as "
            "kernel_launch");
  EXPECT_EQ(words("nth=0"),
            "layer fault: nth is '0'; expected a number of at least 1, which K, M or G may follow");
  EXPECT_EQ(words("nth=x"),
            "layer fault: nth is 'x'; expected a number of at least 1, which K, M or G may follow");
  EXPECT_THAT(
      words("call=memory_get_info:result=ok"),
      HasSubstr(
          "result is 'ok'; expected an error: after success, a caller of memory_get_info uses its outputs"));
  EXPECT_THAT(words("result=fire"),
              AllOf(HasSubstr("result is 'fire'; expected ok, or one of unknown, invalid"),
                    HasSubstr("device_lost")));
  EXPECT_THAT(words("often"), HasSubstr("there is no option 'often'; the options are call, nth"));
  EXPECT_THAT(words("call=fill::nth=2"), HasSubstr("an option is empty"));
  EXPECT_THAT(words("delay=5"), HasSubstr("delay and reorder cannot be set later"));
  EXPECT_THROW(layer.number("failures"), std::runtime_error);
}

/// The same calls with and without holding work back, in several orders.
class HeldBack : public ::testing::TestWithParam<const char*> {};

// proves R1, R9
TEST_P(HeldBack, WorkKeepsEveryOrderThatWasAskedFor) {
  static std::map<std::string, std::unique_ptr<Layered>> layers;
  auto& layer = layers[GetParam()];
  if (!layer) layer = std::make_unique<Layered>("fault", GetParam());
  ASSERT_EQ(layer->result, WEIR_OK) << layer->answer.message;
  const weir_driver_table& t = layer->table();
  Objects objects(t);
  constexpr int streams = 4, rounds = 12;
  weir_stream stream[streams];
  weir_event event[streams];
  for (int i = 0; i < streams; ++i) stream[i] = objects.stream(), event[i] = objects.event();
  const weir_allocation memory = objects.memory(64), log = objects.memory(4 * 64 * streams * rounds);
  // A number moves from stream to stream: each stream adds to the value of the previous one. The events are
  // recorded repeatedly while earlier waits may still be held.
  const std::uint32_t zero = 0;
  ASSERT_EQ(t.fill(stream[0], memory, 0, 64, &zero, 4, nullptr), WEIR_OK);
  weir_kernel kernel = nullptr;
  const weir_parameter parameters[] = {{0, 8, WEIR_PARAMETER_BUFFER}, {8, 4, WEIR_PARAMETER_VALUE}};
  const weir_kernel_layout layout{sizeof layout, 16, 2, parameters};
  ASSERT_EQ(t.module_get_kernel(objects.module(), "append", &layout, &kernel, nullptr), WEIR_OK);
  ASSERT_EQ(t.fill(stream[0], log, 0, 4 * 64 * streams * rounds, &zero, 4, nullptr), WEIR_OK);
  const std::uint64_t log_address = objects.address(log);
  for (std::uint32_t n = 0; n < streams * rounds; ++n) {
    const std::uint32_t at = n % streams, before = (n + streams - 1) % streams;
    if (n) {
      ASSERT_EQ(t.stream_wait_event(stream[at], event[before], nullptr), WEIR_OK);
    }
    struct {
      std::uint64_t log;
      std::uint32_t value, padding;
    } arguments{log_address, n + 1, 0};
    const weir_launch launch{sizeof launch, {1, 1, 1}, {1, 1, 1}, 0, 16, kernel, &arguments, 0, 0};
    ASSERT_EQ(t.kernel_launch(stream[at], &launch, nullptr), WEIR_OK);
    arguments = {};  // the caller may change its arguments at once
    ASSERT_EQ(t.event_record(event[at], stream[at], nullptr), WEIR_OK);
  }
  const int last = (streams * rounds - 1) % streams;
  std::vector<std::uint32_t> seen(1 + streams * rounds);
  ASSERT_EQ(t.copy_to_host(stream[last], seen.data(), log, 0, seen.size() * 4, nullptr), WEIR_OK);
  for (const weir_stream s : stream) ASSERT_EQ(t.stream_flush(s, nullptr), WEIR_OK);
  ASSERT_EQ(t.stream_synchronize(stream[last], nullptr), WEIR_OK);
  std::vector<std::uint32_t> expected(1 + streams * rounds);
  std::iota(expected.begin() + 1, expected.end(), 1u);
  expected[0] = streams * rounds;
  EXPECT_EQ(seen, expected);
}

INSTANTIATE_TEST_SUITE_P(Orders, HeldBack,
                         ::testing::Values("", "delay=1000", "reorder=1", "reorder=2", "reorder=3:delay=1"));

// proves R9
TEST(Held, WorkWaitsForAFlushAndStartsWithoutOneInTime) {
  Layered layer("fault", "delay=300");
  const weir_driver_table& t = layer.table();
  Objects objects(t);
  const weir_stream stream = objects.stream();
  const weir_allocation memory = objects.memory(64);
  const weir_event event = objects.event();
  const std::uint32_t zero = 0;
  const auto submit = [&] {
    ASSERT_EQ(t.fill(stream, memory, 0, 64, &zero, 4, nullptr), WEIR_OK);
    ASSERT_EQ(t.event_record(event, stream, nullptr), WEIR_OK);
  };
  submit();
  EXPECT_EQ(layer.number("held"), 2u);
  EXPECT_EQ(t.stream_query(stream, nullptr), WEIR_NOT_READY);
  EXPECT_EQ(t.event_query(event, nullptr), WEIR_NOT_READY);
  ASSERT_EQ(t.stream_flush(stream, nullptr), WEIR_OK);
  EXPECT_EQ(layer.number("held"), 0u);
  EXPECT_EQ(t.event_synchronize(event, nullptr), WEIR_OK);
  submit();
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (t.event_query(event, nullptr) == WEIR_NOT_READY && std::chrono::steady_clock::now() < limit)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(t.event_query(event, nullptr), WEIR_OK);
}

/// The allocations in the order in which a table below the layer received their calls.
std::vector<weir_allocation>& started() {
  static std::vector<weir_allocation> list;
  return list;
}

// proves R1
TEST(Held, IndependentStreamsStartInAnotherOrder) {
  weir_driver_table watched = cpu_table();
  watched.fill = [](weir_stream s, weir_allocation to, std::uint64_t at, std::uint64_t n, const void* pattern,
                    std::uint32_t width, weir_status* e) {
    started().push_back(to);
    return cpu_table().fill(s, to, at, n, pattern, width, e);
  };
  Layered layer("fault", "reorder=7:delay=10000", watched);
  const weir_driver_table& t = layer.table();
  Objects objects(t);
  std::vector<weir_stream> streams;
  std::vector<weir_allocation> memory;
  for (int i = 0; i < 6; ++i) streams.push_back(objects.stream()), memory.push_back(objects.memory(64));
  const std::uint32_t zero = 0;
  bool moved = false;
  for (int round = 0; round < 20 && !moved; ++round) {
    started().clear();
    for (std::size_t i = 0; i < streams.size(); ++i)
      ASSERT_EQ(t.fill(streams[i], memory[i], 0, 64, &zero, 4, nullptr), WEIR_OK);
    EXPECT_TRUE(started().empty());
    ASSERT_EQ(t.stream_flush(streams[0], nullptr), WEIR_OK);
    moved = started() != memory;
    EXPECT_THAT(started(), ::testing::UnorderedElementsAreArray(memory));
  }
  EXPECT_TRUE(moved);
}

// proves R34
TEST(Held, AFailureAtTheStartIsReportedByTheNextCallOnTheStream) {
  Layered below("fault", "call=fill:result=launch");
  Layered layer("fault", "delay=10000", below.table());
  const weir_driver_table& t = layer.table();
  Objects objects(t);
  const weir_stream stream = objects.stream();
  const weir_allocation memory = objects.memory(64);
  const std::uint32_t zero = 0;
  EXPECT_EQ(t.fill(stream, memory, 0, 64, &zero, 4, nullptr), WEIR_OK);
  Answer answer;
  EXPECT_EQ(t.stream_synchronize(stream, &answer), WEIR_ERROR_LAUNCH);
  EXPECT_THAT(answer.message, HasSubstr("call 1 of fill was made to fail"));
  EXPECT_EQ(t.stream_synchronize(stream, nullptr), WEIR_OK);
}

}  // namespace
}  // namespace weir::test
