// SPDX-License-Identifier: Apache-2.0
// Level 0: the table, and its agreement with the devices' capabilities.
#include "driver/manifest.hpp"
#include "objects.hpp"

namespace weir::conformance {
namespace {

WEIR_REQUIREMENT(0, 10, Table, DeclaresItsSize,
                 "struct_size is at least that of the table of the version in use.") {
  const std::uint32_t version = raw_table().abi_version;
  const std::size_t min_size = version == WEIR_ABI_VERSION(1, 0)   ? offsetof(weir_driver_table, graph_create)
                            : version == WEIR_ABI_VERSION(1, 1) ? offsetof(weir_driver_table, memory_wrap)
                            : version == WEIR_ABI_VERSION(1, 2) ? offsetof(weir_driver_table, code_compile)
                            : version == WEIR_ABI_VERSION(1, 3)
                                ? offsetof(weir_driver_table, kernel_max_cooperative_blocks)
                                                                : sizeof(weir_driver_table);
  EXPECT_GE(raw_table().struct_size, min_size);
  EXPECT_EQ(raw_table().struct_size % sizeof(void*), 0u);
}

WEIR_REQUIREMENT(
    0, 11, Table, IsNamed,
    "The name is made of lower case letters, digits and '-', at most 32 and no '-' first; version and "
    "vendor are given.") {
  const weir_driver_table& given = raw_table();
  ASSERT_NE(given.name, nullptr);
  ASSERT_NE(given.version, nullptr);
  ASSERT_NE(given.vendor, nullptr);
  EXPECT_STRNE(given.version, "");
  EXPECT_STRNE(given.vendor, "");
  if (const std::string wrong = fault_of_name(given.name); !wrong.empty())
    ADD_FAILURE() << "the table " << wrong;
}

WEIR_REQUIREMENT(0, 12, Table, FillsRequiredSlots, "Every required slot is filled.") {
  for (int i = 0; i < slot_count; ++i) {
    const Slot& slot = slots()[static_cast<std::size_t>(i)];
    EXPECT_TRUE(!slot.required || fills(raw_table(), i)) << slot.name << " is null";
  }
}

WEIR_REQUIREMENT(0, 13, Table, ClaimedCapabilitiesHaveTheirSlots,
                 "A capability that a device claims has all its slots filled.") {
  for (int i = 0; i < slot_count; ++i) {
    const Slot& slot = slots()[static_cast<std::size_t>(i)];
    const bool claimed = slot.capability && has(slot.capability);
    EXPECT_TRUE(!claimed || fills(raw_table(), i))
        << slot.name << " is null, but the device offers "
        << capability_name(static_cast<weir_capability>(slot.capability));
  }
}

WEIR_REQUIREMENT(0, 14, Table, UnclaimedAllocationIsRefused,
                 "Without STREAM_ORDERED_ALLOCATION, its functions return WEIR_ERROR_UNSUPPORTED.") {
  if (has(WEIR_CAP_STREAM_ORDERED_ALLOCATION)) throw Skipped("the device offers STREAM_ORDERED_ALLOCATION");
  const Stream stream;
  const weir_memory_options options = memory_options(64);
  weir_allocation out = nullptr;
  refusal(WEIR_ERROR_UNSUPPORTED, table().memory_allocate_async, weir_stream(stream), &options, &out);
}

WEIR_REQUIREMENT(0, 15, Table, UnclaimedTimedEventsAreRefused,
                 "Without TIMED_EVENTS, timed events return WEIR_ERROR_UNSUPPORTED.") {
  if (has(WEIR_CAP_TIMED_EVENTS)) throw Skipped("the device offers TIMED_EVENTS");
  weir_event out = nullptr;
  refusal(WEIR_ERROR_UNSUPPORTED, table().event_create, device(), std::uint32_t{WEIR_EVENT_TIMED}, &out);
}

WEIR_REQUIREMENT(0, 16, Table, UnclaimedCallbacksAreRefused,
                 "Without HOST_CALLBACK, stream_host_callback returns WEIR_ERROR_UNSUPPORTED.") {
  if (has(WEIR_CAP_HOST_CALLBACK)) throw Skipped("the device offers HOST_CALLBACK");
  const Stream stream;
  const weir_host_callback nothing = [](void*) {};
  refusal(WEIR_ERROR_UNSUPPORTED, table().stream_host_callback, weir_stream(stream), nothing,
          static_cast<void*>(nullptr));
}

WEIR_REQUIREMENT(0, 17, Table, UnclaimedPinnedMemoryIsRefused,
                 "Without PINNED_MEMORY, pinned memory returns WEIR_ERROR_UNSUPPORTED.") {
  if (has(WEIR_CAP_PINNED_MEMORY)) throw Skipped("the device offers PINNED_MEMORY");
  const weir_memory_options options = memory_options(64, WEIR_MEMORY_PINNED);
  weir_allocation out = nullptr;
  refusal(WEIR_ERROR_UNSUPPORTED, table().memory_allocate, device(), &options, &out);
}

WEIR_REQUIREMENT(0, 18, Table, UnclaimedNativeStreamsAreRefused,
                 "Without NATIVE_STREAM, stream_wrap and stream_get_native return WEIR_ERROR_UNSUPPORTED.") {
  if (has(WEIR_CAP_NATIVE_STREAM)) throw Skipped("the device offers NATIVE_STREAM");
  const Stream stream;
  void* native = nullptr;
  weir_stream wrapped = nullptr;
  refusal(WEIR_ERROR_UNSUPPORTED, table().stream_get_native, weir_stream(stream), &native);
  refusal(WEIR_ERROR_UNSUPPORTED, table().stream_wrap, device(), static_cast<void*>(&native), &wrapped);
}

WEIR_REQUIREMENT(0, 19, Table, UnclaimedGraphsAreRefused,
                 "Without GRAPHS, graph_create returns WEIR_ERROR_UNSUPPORTED.") {
  if (has(WEIR_CAP_GRAPHS)) throw Skipped("the device offers GRAPHS");
  weir_graph_node node{};
  node.struct_size = sizeof node;
  const weir_graph_node* nodes[] = {&node};
  weir_graph out = nullptr;
  refusal(WEIR_ERROR_UNSUPPORTED, table().graph_create, device(), 1u,
          static_cast<const weir_graph_node* const*>(nodes), &out);
}

WEIR_REQUIREMENT(0, 22, Table, UnclaimedExternalMemoryIsRefused,
                 "Without EXTERNAL_MEMORY, memory_wrap returns WEIR_ERROR_UNSUPPORTED.") {
  if (has(WEIR_CAP_EXTERNAL_MEMORY)) throw Skipped("the device offers EXTERNAL_MEMORY");
  alignas(64) static std::uint8_t bytes[64];
  const weir_external_memory memory = external_memory(WEIR_EXTERNAL_HOST, bytes, sizeof bytes);
  weir_allocation out = nullptr;
  refusal(WEIR_ERROR_UNSUPPORTED, table().memory_wrap, device(), &memory, &out);
}

WEIR_REQUIREMENT(0, 23, Table, UnclaimedCompilationIsRefused,
                 "Without CODE_COMPILE, code_compile returns WEIR_ERROR_UNSUPPORTED.") {
  if (has(WEIR_CAP_CODE_COMPILE)) throw Skipped("the device offers CODE_COMPILE");
  const Bytes bytes = pattern(64);
  const weir_code_object object{sizeof object, info().code_targets[0].format, info().code_targets[0].target,
                                bytes.data(),  bytes.size(),                  "code"};
  const weir_code_receiver nothing = [](void*, const weir_code_object*) {};
  refusal(WEIR_ERROR_UNSUPPORTED, table().code_compile, device(), &object, nothing,
          static_cast<void*>(nullptr));
}

WEIR_REQUIREMENT(0, 20, Table, UnclaimedPeerCopiesAreRefused,
                 "Without PEER_COPY, copy_peer returns WEIR_ERROR_UNSUPPORTED.") {
  if (has(WEIR_CAP_PEER_COPY)) throw Skipped("the device offers PEER_COPY");
  const Stream stream;
  const Memory a(64), b(64);
  refusal(WEIR_ERROR_UNSUPPORTED, table().copy_peer, weir_stream(stream), weir_allocation(a),
          std::uint64_t{0}, weir_allocation(b), std::uint64_t{0}, std::uint64_t{64});
}

WEIR_REQUIREMENT(0, 21, Table, UnknownExtensionIsNotFound,
                 "An unknown extension returns WEIR_ERROR_NOT_FOUND.") {
  const void* mark = &table();
  for (const std::uint32_t version : {1u, 0u, ~0u}) {
    const void* out = mark;
    weir_status status = new_status();
    const weir_result result = table().get_extension("org.example.nobody-has-this", version, &out, &status);
    if (result == WEIR_ERROR_UNSUPPORTED) throw Unsupported("the table has no get_extension");
    expect_result("get_extension of version " + std::to_string(version), result, WEIR_ERROR_NOT_FOUND,
                  status.message);
    EXPECT_EQ(out, mark) << "a refused call changed out_table";
  }
}

}  // namespace
}  // namespace weir::conformance
