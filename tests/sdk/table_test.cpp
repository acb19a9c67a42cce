// SPDX-License-Identifier: Apache-2.0
// Guarantees of the SDK's table for any driver class.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plain_driver.hpp"

namespace sdk_test {
namespace {

using testing::Each;
using testing::EndsWith;
using testing::HasSubstr;

template <class D = Plain>
const weir_driver_table& table(std::uint32_t newest = WEIR_ABI_CURRENT) {
  const weir_host host{sizeof host, WEIR_ABI_VERSION(1, 0), newest};
  const weir_driver_table* out = nullptr;
  EXPECT_EQ(driver_entry<D>(&host, &out, nullptr), WEIR_OK);
  return *out;
}

template <class Slot, class... Arguments>
std::string refusal(weir_result expected, Slot slot, Arguments... arguments) {
  weir_status status{};
  status.struct_size = sizeof status;
  EXPECT_EQ(slot(arguments..., &status), expected) << status.message;
  return status.message;
}

class PlainDriver : public testing::Test {
 protected:
  PlainDriver() {
    table().device_open(0, &device, nullptr);
    table().stream_create(device, nullptr, &stream, nullptr);
  }
  ~PlainDriver() override {
    table().stream_destroy(stream, nullptr);
    table().device_close(device, nullptr);
  }
  weir_allocation allocate(std::uint64_t size) {
    const weir_memory_options options{sizeof options, WEIR_MEMORY_DEVICE, size, 0};
    weir_allocation out = nullptr;
    EXPECT_EQ(table().memory_allocate(device, &options, &out, nullptr), WEIR_OK);
    return out;
  }
  weir_device device = nullptr;
  weir_stream stream = nullptr;
};

TEST_F(PlainDriver, FunctionsThatTheClassLacksAreNullSlotsAndClearBits) {
  const weir_driver_table& t = table();
  EXPECT_EQ(t.stream_host_callback, nullptr);
  EXPECT_EQ(t.stream_wrap, nullptr);
  EXPECT_EQ(t.event_elapsed, nullptr);
  EXPECT_EQ(t.memory_allocate_async, nullptr);
  EXPECT_EQ(t.copy_peer, nullptr);
  EXPECT_EQ(t.graph_create, nullptr);
  weir_device_info info{};
  info.struct_size = sizeof info;
  EXPECT_EQ(t.device_get_info(0, &info, nullptr), WEIR_OK);
  EXPECT_EQ(info.capabilities, std::uint64_t{WEIR_CAP_CONCURRENT_STREAMS});
}

TEST_F(PlainDriver, NewestVersionInsideTheHostsRangeIsSpoken) {
  EXPECT_EQ(table(WEIR_ABI_VERSION(1, 0)).abi_version, WEIR_ABI_VERSION(1, 0));
  EXPECT_EQ(table(WEIR_ABI_VERSION(1, 9)).abi_version, WEIR_ABI_VERSION(1, 4));
  const weir_host later{sizeof later, WEIR_ABI_VERSION(1, 5), WEIR_ABI_VERSION(1, 6)};
  const weir_driver_table* out = nullptr;
  EXPECT_THAT(refusal(WEIR_ERROR_ABI, driver_entry<Plain>, &later, &out), HasSubstr("1.5 to 1.6"));
}

TEST_F(PlainDriver, OpeningsAreCounted) {
  const int opened = Plain::Device::opened, closed = Plain::Device::closed;
  weir_device again = nullptr;
  EXPECT_EQ(table().device_open(0, &again, nullptr), WEIR_OK);
  EXPECT_EQ(again, device);
  EXPECT_EQ(table().device_close(again, nullptr), WEIR_OK);
  EXPECT_EQ(Plain::Device::opened, opened);
  EXPECT_EQ(Plain::Device::closed, closed);
}

TEST_F(PlainDriver, StructsOfAnotherSizeAreFilledAsFarAsTheyGo) {
  weir_device_info info;
  std::memset(&info, 0x5a, sizeof info);
  info.struct_size = 400;
  EXPECT_EQ(table().device_get_info(0, &info, nullptr), WEIR_OK);
  EXPECT_EQ(info.struct_size, 400u);
  const auto* bytes = reinterpret_cast<const unsigned char*>(&info);
  EXPECT_THAT(std::vector<unsigned char>(bytes + 400, bytes + sizeof info), Each(0x5a));
}

TEST_F(PlainDriver, ExceptionsOfAnyKindBecomeResults) {
  const weir_code_object object{sizeof object, "x", "", "code", 4, nullptr};
  weir_module module = nullptr;
  ASSERT_EQ(table().module_load(device, &object, &module, nullptr), WEIR_OK);
  const weir_kernel_layout layout{sizeof layout, 0, 0, nullptr};
  weir_kernel kernel = nullptr;
  EXPECT_EQ(refusal(WEIR_ERROR_UNKNOWN, table().module_get_kernel, module, "throws", &layout, &kernel),
            "out of kernels");
  EXPECT_THAT(refusal(WEIR_ERROR_UNKNOWN, table().module_get_kernel, module, "throws 7", &layout, &kernel),
              HasSubstr("unknown type"));
  EXPECT_EQ(kernel, nullptr);
  EXPECT_EQ(table().module_unload(module, nullptr), WEIR_OK);
}

TEST_F(PlainDriver, HandleLivesOnWhenItsEndFails) {
  const weir_stream_options stubborn{sizeof stubborn, 1};
  weir_stream other = nullptr;
  ASSERT_EQ(table().stream_create(device, &stubborn, &other, nullptr), WEIR_OK);
  EXPECT_EQ(refusal(WEIR_ERROR_SYSTEM, table().stream_destroy, other), "not now");
  EXPECT_EQ(table().stream_query(other, nullptr), WEIR_OK);
  live<Plain::Stream>(other, "stream").keeps_its_life = false;
  EXPECT_EQ(table().stream_destroy(other, nullptr), WEIR_OK);
  EXPECT_THAT(refusal(WEIR_ERROR_INVALID, table().stream_query, other), HasSubstr("no live handle"));
}

TEST_F(PlainDriver, AnEventWhoseObjectIsUsedAgainWasNeverRecorded) {
  weir_event first = nullptr, event = nullptr;
  ASSERT_EQ(table().event_create(device, WEIR_EVENT_PLAIN, &first, nullptr), WEIR_OK);
  ASSERT_EQ(table().event_record(first, stream, nullptr), WEIR_OK);
  ASSERT_EQ(table().event_destroy(first, nullptr), WEIR_OK);
  ASSERT_EQ(table().event_create(device, WEIR_EVENT_PLAIN, &event, nullptr), WEIR_OK);
  ASSERT_EQ(event, first);
  EXPECT_FALSE(live<Plain::Event>(event, "event").recorded.load());
  EXPECT_EQ(table().event_destroy(event, nullptr), WEIR_OK);
}

/// The same with timed events, whose state is also left to the SDK.
struct Timed : Plain {
  struct Event : Plain::Event {
    void destroy() noexcept { Pool<Event>::of().give(*this); }
    double elapsed(Event&) { return 5.0; }
  };
  struct Device : Plain::Device {
    Event& create_event(bool) {
      Fresh<Event> event;
      return event.publish();
    }
  };
};

TEST(TimedDriver, AnEventIsTimedWhenItWasAskedForAndNotWhenItsObjectWas) {
  const weir_driver_table& t = table<Timed>();
  weir_device device = nullptr;
  weir_stream stream = nullptr;
  weir_event timed = nullptr, plain = nullptr;
  ASSERT_EQ(t.device_open(0, &device, nullptr), WEIR_OK);
  ASSERT_EQ(t.stream_create(device, nullptr, &stream, nullptr), WEIR_OK);
  ASSERT_EQ(t.event_create(device, WEIR_EVENT_TIMED, &timed, nullptr), WEIR_OK);
  ASSERT_EQ(t.event_record(timed, stream, nullptr), WEIR_OK);
  double nanoseconds = 0;
  EXPECT_EQ(refusal(WEIR_OK, t.event_elapsed, timed, timed, &nanoseconds), "");
  EXPECT_EQ(nanoseconds, 5.0);
  ASSERT_EQ(t.event_destroy(timed, nullptr), WEIR_OK);
  ASSERT_EQ(t.event_create(device, WEIR_EVENT_PLAIN, &plain, nullptr), WEIR_OK);
  ASSERT_EQ(plain, timed);
  ASSERT_EQ(t.event_record(plain, stream, nullptr), WEIR_OK);
  EXPECT_THAT(refusal(WEIR_ERROR_INVALID, t.event_elapsed, plain, plain, &nanoseconds),
              HasSubstr("plain event"));
  EXPECT_EQ(t.event_destroy(plain, nullptr), WEIR_OK);
  EXPECT_EQ(t.stream_destroy(stream, nullptr), WEIR_OK);
  EXPECT_EQ(t.device_close(device, nullptr), WEIR_OK);
}

TEST_F(PlainDriver, AnAllocationInAReusedObjectHasTheRequestedProperties) {
  const weir_allocation first = allocate(16);
  auto& object = live<Plain::Allocation>(first, "allocation");
  object.memory_kind = WEIR_MEMORY_PINNED;
  ASSERT_EQ(table().memory_free(first, nullptr), WEIR_OK);
  const weir_allocation again = allocate(32);
  ASSERT_EQ(again, first);
  weir_memory_info info{};
  info.struct_size = sizeof info;
  ASSERT_EQ(table().memory_get_info(again, &info, nullptr), WEIR_OK);
  EXPECT_EQ(info.size, 32u);
  EXPECT_EQ(info.kind, std::uint32_t{WEIR_MEMORY_DEVICE});
  EXPECT_EQ(table().memory_free(again, nullptr), WEIR_OK);
}

TEST_F(PlainDriver, AModuleHasTheNameThatItWasGiven) {
  const weir_code_object object{sizeof object, "x", "", "code", 4, "waves"};
  weir_module module = nullptr;
  ASSERT_EQ(table().module_load(device, &object, &module, nullptr), WEIR_OK);
  EXPECT_EQ(live<Plain::Module>(module, "module").name, "waves");
  EXPECT_EQ(table().module_unload(module, nullptr), WEIR_OK);
}

TEST_F(PlainDriver, KernelsDieWithTheirModule) {
  const weir_code_object object{sizeof object, "x", "", "code", 4, nullptr};
  weir_module module = nullptr;
  ASSERT_EQ(table().module_load(device, &object, &module, nullptr), WEIR_OK);
  const weir_kernel_layout layout{sizeof layout, 0, 0, nullptr};
  weir_kernel kernel = nullptr;
  ASSERT_EQ(table().module_get_kernel(module, "k", &layout, &kernel, nullptr), WEIR_OK);
  weir_launch launch{sizeof launch, {1, 1, 1}, {64, 1, 1}, 0, 0, kernel, nullptr, 0, 0};
  EXPECT_EQ(table().kernel_launch(stream, &launch, nullptr), WEIR_OK);
  EXPECT_EQ(table().stream_query(stream, nullptr), WEIR_NOT_READY);
  launch.block[0] = 65;
  EXPECT_THAT(refusal(WEIR_ERROR_INVALID, table().kernel_launch, stream, &launch),
              EndsWith("takes at most 64; use a smaller block"));
  const int unloaded = Plain::Kernel::unloaded;
  EXPECT_EQ(table().module_unload(module, nullptr), WEIR_OK);
  EXPECT_EQ(Plain::Kernel::unloaded, unloaded + 1);
  EXPECT_THAT(refusal(WEIR_ERROR_INVALID, table().kernel_launch, stream, &launch),
              HasSubstr("launch.kernel"));
}

TEST_F(PlainDriver, CapabilityThatTheDeviceLacksIsUnsupported) {
  weir_event event = nullptr;
  EXPECT_THAT(refusal(WEIR_ERROR_UNSUPPORTED, table().event_create, device, WEIR_EVENT_TIMED, &event),
              HasSubstr("no timed events"));
  const weir_memory_options pinned{sizeof pinned, WEIR_MEMORY_PINNED, 8, 0};
  weir_allocation out = nullptr;
  EXPECT_THAT(refusal(WEIR_ERROR_UNSUPPORTED, table().memory_allocate, device, &pinned, &out),
              HasSubstr("no pinned memory"));
}

TEST_F(PlainDriver, NothingOfSizeZeroArrives) {
  const weir_allocation memory = allocate(16);
  EXPECT_EQ(table().copy_to_device(stream, memory, 16, nullptr, 0, nullptr), WEIR_OK);
  EXPECT_THAT(refusal(WEIR_ERROR_INVALID, table().copy_to_device, stream, memory, 17ull, "", 0ull),
              HasSubstr("do not lie inside"));
  EXPECT_EQ(table().memory_free(memory, nullptr), WEIR_OK);
}

TEST(Pattern, ShortestRepeatsToTheSameBytes) {
  const double one = 1.0, zero = 0.0;
  EXPECT_EQ(check_pattern(0, 16, &one, 8).shortest().size, 8u);
  EXPECT_EQ(check_pattern(0, 16, &zero, 8).shortest().size, 1u);
  const std::uint16_t pair[] = {0xabcd, 0xabcd};
  EXPECT_EQ(check_pattern(0, 16, pair, 4).shortest().size, 2u);
  EXPECT_EQ(check_pattern(0, 16, pair, 4).word(3), 0xabcdabcdu);
}

TEST(Messages, AreCutAtACharacter) {
  weir_status status{};
  status.struct_size = sizeof status;
  const std::string text = std::string(WEIR_STATUS_MESSAGE_BYTES - 2, 'x') + "\u00fc";
  report(&status, WEIR_ERROR_UNKNOWN, text.c_str());
  EXPECT_EQ(std::string(status.message), std::string(WEIR_STATUS_MESSAGE_BYTES - 2, 'x'));
}

}  // namespace
}  // namespace sdk_test
