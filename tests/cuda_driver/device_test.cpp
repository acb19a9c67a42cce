// SPDX-License-Identifier: Apache-2.0
#include <sys/wait.h>

#include <thread>

#include "fake.hpp"

namespace cuda_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST_F(Fake, DeviceIsDescribedFromItsAttributes) {
  const weir_device_info info = device_info(1);
  EXPECT_STREQ(info.name, "Fake GPU 1");
  EXPECT_STREQ(info.location, "0000:01:00.0");
  EXPECT_EQ(info.uuid[0], 2);
  EXPECT_EQ(info.kind, std::uint32_t{WEIR_DEVICE_DISCRETE});
  EXPECT_EQ(info.argument_style, std::uint32_t{WEIR_ARGUMENT_ADDRESS});
  EXPECT_STREQ(info.code_targets[0].format, "ptx");
  EXPECT_STREQ(info.code_targets[0].target, "sm_90");
  EXPECT_STREQ(info.code_targets[1].format, "cubin");
  EXPECT_EQ(info.lanes, 32u);
  EXPECT_EQ(info.max_shared_bytes, 232448u);
  EXPECT_EQ(info.max_blocks_per_multiprocessor, 32u);
  EXPECT_EQ(info.memory_bandwidth, 2619000ull * 1000 * 2 * 6144 / 8);
  EXPECT_TRUE(calls_of("cuDevicePrimaryCtxRetain").empty());
}

TEST_F(Fake, CapabilityBitsAndSlotsAgreeForAllVersions) {
  const std::uint64_t all = WEIR_CAP_STREAM_ORDERED_ALLOCATION | WEIR_CAP_TIMED_EVENTS |
                            WEIR_CAP_STREAM_PRIORITY | WEIR_CAP_HOST_CALLBACK | WEIR_CAP_PINNED_MEMORY |
                            WEIR_CAP_PEER_COPY | WEIR_CAP_DEVICE_ADDRESS | WEIR_CAP_NATIVE_STREAM |
                            WEIR_CAP_CONCURRENT_STREAMS;
  EXPECT_EQ(device_info().capabilities,
            all | WEIR_CAP_GRAPHS | WEIR_CAP_EXTERNAL_MEMORY | WEIR_CAP_COOPERATIVE_LAUNCH);
  EXPECT_NE(table().graph_launch, nullptr);
  EXPECT_NE(table().memory_wrap, nullptr);
  EXPECT_EQ(table().code_compile, nullptr) << "CUDA's function for it makes slower code";
  const weir_driver_table& fourth = table_for(3);
  EXPECT_EQ(device_info(0, fourth).capabilities, all | WEIR_CAP_GRAPHS | WEIR_CAP_EXTERNAL_MEMORY);
  EXPECT_EQ(fourth.kernel_max_cooperative_blocks, nullptr);
  const weir_driver_table& third = table_for(2);
  EXPECT_EQ(device_info(0, third).capabilities, all | WEIR_CAP_GRAPHS | WEIR_CAP_EXTERNAL_MEMORY);
  const weir_driver_table& second = table_for(1);
  EXPECT_EQ(device_info(0, second).capabilities, all | WEIR_CAP_GRAPHS);
  EXPECT_EQ(second.memory_wrap, nullptr);
  const weir_driver_table& older = table_for(0);
  EXPECT_EQ(older.abi_version, WEIR_ABI_VERSION(1, 0));
  EXPECT_EQ(device_info(0, older).capabilities, all);
  EXPECT_EQ(older.graph_launch, nullptr);
}

TEST_F(Fake, HostWithNoVersionInCommonIsRefusedWithBothRanges) {
  const weir_host host{sizeof host, WEIR_ABI_VERSION(2, 0), WEIR_ABI_VERSION(2, 3)};
  const weir_driver_table* out = nullptr;
  EXPECT_THAT(refusal(WEIR_ERROR_ABI, entry(), &host, &out),
              AllOf(HasSubstr("1.0 to 1.4"), HasSubstr("2.0 to 2.3")));
}

TEST_F(Fake, IndexPastTheDevicesIsRefused) {
  weir_device out = nullptr;
  EXPECT_THAT(refusal(WEIR_ERROR_INVALID, table().device_open, 7u, &out),
              HasSubstr("the cuda driver has 3 devices"));
}

// proves R35
TEST_F(Fake, DeadAndForeignHandlesAreRefused) {
  const weir_stream destroyed = new_stream(device);
  call(table().stream_destroy, destroyed);
  EXPECT_THAT(refusal(WEIR_ERROR_INVALID, table().stream_query, destroyed), HasSubstr("no live handle"));
  EXPECT_THAT(refusal(WEIR_ERROR_INVALID, table().event_query, reinterpret_cast<weir_event>(stream)),
              HasSubstr("another kind"));
  EXPECT_THAT(refusal(WEIR_ERROR_INVALID, table().stream_query, weir_stream{}), HasSubstr("stream is null"));
}

TEST_F(Fake, ContextIsSetOnceOnAThreadThatHasNone) {
  std::thread([&] {
    for (int i = 0; i < 3; ++i) table().stream_query(stream, nullptr);
  }).join();
  EXPECT_EQ(calls_of("cuCtxSetCurrent").size(), 1u);
}

TEST_F(Fake, ContextOfAnotherLibraryIsRestored) {
  std::thread([&] {
    void* library = dlopen(fake_library().c_str(), RTLD_NOW | RTLD_NOLOAD);
    const auto set = reinterpret_cast<int (*)(void*)>(dlsym(library, "cuCtxSetCurrent"));
    const auto get = reinterpret_cast<int (*)(void**)>(dlsym(library, "cuCtxGetCurrent"));
    set(fake().context_of(1));
    EXPECT_EQ(table().stream_query(stream, nullptr), WEIR_OK);
    void* now = nullptr;
    get(&now);
    EXPECT_EQ(now, fake().context_of(1));
  }).join();
  EXPECT_EQ(calls_of("cuStreamQuery").at(0).context, fake().context_of(0));
}

// proves R5
TEST_F(Fake, ThreadThatWaitsDelaysNoOther) {
  fake().hold(true);
  const std::byte bytes[8]{};
  const weir_allocation memory = allocate(device, 8);
  call(table().copy_to_device, stream, memory, 0ull, static_cast<const void*>(bytes), 8ull);
  std::thread waiting([&] { table().stream_synchronize(stream, nullptr); });
  while (calls_of("cuStreamSynchronize").empty()) std::this_thread::yield();
  call(table().copy_to_device, stream, memory, 0ull, static_cast<const void*>(bytes), 8ull);
  EXPECT_EQ(table().stream_query(stream, nullptr), WEIR_NOT_READY);
  fake().hold(false);
  waiting.join();
  call(table().memory_free, memory);
}

TEST_F(Fake, ChildOfAForkIsRefusedWithASentence) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    weir_status status = new_status();
    const weir_result result = table().stream_query(stream, &status);
    const std::string text = std::to_string(result) + " " + status.message;
    _exit(write(ends[1], text.data(), text.size()) < 0);
  }
  close(ends[1]);
  char text[2048] = "";
  const ssize_t length = ::read(ends[0], text, sizeof text - 1);
  close(ends[0]);
  waitpid(child, nullptr, 0);
  ASSERT_GT(length, 0);
  EXPECT_THAT(text, AllOf(testing::StartsWith(std::to_string(WEIR_ERROR_SYSTEM)), HasSubstr("forked"),
                          HasSubstr("start the child with exec")));
  EXPECT_EQ(table().stream_query(stream, nullptr), WEIR_OK);
}

}  // namespace
}  // namespace cuda_test
