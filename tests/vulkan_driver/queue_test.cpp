// SPDX-License-Identifier: Apache-2.0
// Queues of which the device runs some until they are empty (unfair_queues.cpp).
#include <chrono>

#include "kernels.hpp"

namespace vulkan_test {
namespace {

// One stream always has several batches in flight.
TEST_F(Open, DISABLED_RunsAFillBesideABusyStream) {
  ASSERT_NE(device_info().capabilities & WEIR_CAP_CONCURRENT_STREAMS, 0u)
      << "expected the layer's device with several queues";
  constexpr std::uint64_t size = 8 << 20;  // so that the batches take 100 ms and more
  const weir_stream busy = new_stream(device), other = new_stream(device);
  const weir_allocation memory = allocate(device, size), apart = allocate(device, 4);
  constexpr std::size_t batches = 40;
  weir_event events[batches];
  for (weir_event& event : events) event = new_event(device);
  weir_status status = new_status();
  const auto submit_batch = [&](weir_event event) {
    for (int i = 0; i < 4; ++i) {
      const std::uint8_t byte = 1;
      call(table().fill, busy, memory, 0ull, size, static_cast<const void*>(&byte), 1u);
    }
    call(table().event_record, event, busy);
    call(table().stream_flush, busy);
  };
  for (const weir_event event : events) submit_batch(event);
  fill_int(other, apart, 7);
  const weir_event done = new_event(device);
  call(table().event_record, done, other);
  call(table().stream_flush, other);
  const auto last = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  int ended = 0;
  for (std::size_t at = 0;
       table().event_query(done, &status) == WEIR_NOT_READY && std::chrono::steady_clock::now() < last;)
    if (table().event_query(events[at], &status) == WEIR_OK) {
      submit_batch(events[at]);
      at = (at + 1) % batches;
      ++ended;
    }
  EXPECT_EQ(table().event_query(done, &status), WEIR_OK)
      << "a fill did not begin although " << ended << " batches of another stream ended";
  EXPECT_TRUE(ended > 0 || table().event_query(events[0], &status) == WEIR_OK)
      << "the other stream was first";
  for (const weir_stream stream : {busy, other}) {
    call(table().stream_synchronize, stream);
    call(table().stream_destroy, stream);
  }
  for (const weir_event event : events) call(table().event_destroy, event);
  call(table().event_destroy, done);
  call(table().memory_free, memory);
  call(table().memory_free, apart);
}

TEST(Queues, StartWorkAlthoughOthersNeverRunOutOfIt) {
  const std::string output =
      run_apart("VK_LAYER_PATH=" WEIR_TEST_LAYERS " VK_INSTANCE_LAYERS=VK_LAYER_WEIR_unfair_queues",
                "Open.DISABLED_RunsAFillBesideABusyStream");
  EXPECT_THAT(output, testing::HasSubstr("[       OK ]")) << output;
}

}  // namespace
}  // namespace vulkan_test
