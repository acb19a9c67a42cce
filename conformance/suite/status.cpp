// SPDX-License-Identifier: Apache-2.0
// Statuses, and the rules for tables of older versions. Every call of the suite checks its status; these
// requirements make the calls whose texts a driver is likely to cut.
#include <cstring>
#include <functional>

#include "kernels/graph_nodes.hpp"
#include "kernels/kernels.hpp"

namespace weir::conformance {
namespace {

/// Calls `fail(text, status)` with statuses of many sizes and texts of two, three and four bytes per
/// character. A cut at any byte falls inside a character for some of them.
template <class Fail>
void try_long_texts(weir_result expected, const Fail& fail) {
  for (const char* character : {"\u00e9", "\u20ac", "\U0001f600"})
    for (int shift = 0; shift < 4; ++shift) {
      std::string text(static_cast<std::size_t>(shift), 'x');
      while (text.size() < 3000) text += character;
      weir_status status = new_status();
      const weir_result result = fail(text.c_str(), &status);
      expect_result(last_slot(), result, expected, status.message);
      for (std::uint32_t size = offsetof(weir_status, message) + 1; size < sizeof status; size += 37) {
        weir_status small = new_status();
        small.struct_size = size;
        const std::size_t room = size - offsetof(weir_status, message);
        const weir_result same = fail(text.c_str(), &small);
        expect_result(last_slot(), same, expected);
        const void* end = std::memchr(small.message, 0, room);
        ASSERT_NE(end, nullptr) << last_slot() << " left status.message unterminated within struct_size "
                                << size;
        ASSERT_TRUE(is_utf8(small.message))
            << last_slot() << " cut status.message in the middle of a character; struct_size was " << size;
      }
    }
}

WEIR_REQUIREMENT(0, 45, Status, LongTextsAreCutAtCharacters,
                 "A message that is cut, by its own size or the status's struct_size, is terminated and ends "
                 "with a whole UTF-8 character.") {
  needs_device();
  try_long_texts(WEIR_ERROR_NOT_FOUND, [](const char* name, weir_status* status) {
    const void* out = nullptr;
    const weir_result result = table().get_extension(name, 1, &out, status);
    if (result == WEIR_ERROR_UNSUPPORTED) throw Unsupported("the table has no get_extension");
    return result;
  });
}

WEIR_REQUIREMENT(0, 46, Status, SuccessLeavesItUntouched,
                 "A function that returns WEIR_OK leaves the status as it was.") {
  const weir_status before = new_status();
  weir_status status = before;
  const auto check = [&](weir_result result) {
    ASSERT_EQ(result, WEIR_OK) << status.message;
    EXPECT_EQ(std::memcmp(&status, &before, sizeof status), 0)
        << last_slot() << " succeeded and changed *status; driver.h: filled only on failure";
    status = before;
  };
  std::uint32_t count = 0;
  std::uint64_t free = 0, total = 0;
  weir_device opened = nullptr;
  weir_stream stream = nullptr;
  weir_device_info filled{};
  filled.struct_size = sizeof filled;
  const weir_device on = device();
  check(table().device_count(&count, &status));
  check(table().device_get_info(judged().device, &filled, &status));
  check(table().device_open(judged().device, &opened, &status));
  check(table().device_get_memory(on, &free, &total, &status));
  check(table().device_close(opened, &status));
  check(table().stream_create(on, nullptr, &stream, &status));
  check(table().stream_flush(stream, &status));
  check(table().stream_query(stream, &status));
  check(table().stream_synchronize(stream, &status));
  check(table().stream_destroy(stream, &status));
}

WEIR_REQUIREMENT(2, 96, Status, MayBeNullInRefusals,
                 "Refused calls of streams, memory, copies and graphs accept a null status.") {
  const Stream stream;
  const Memory memory(64), other(64);
  const weir_memory_options nothing = memory_options(0);
  const std::uint8_t pattern[3] = {}, from[65] = {};
  std::uint8_t to[65];
  weir_allocation allocated = nullptr;
  const auto expect = [](const char* call, weir_result found, weir_result expected = WEIR_ERROR_INVALID) {
    expect_result(std::string(call) + " without a status", found, expected);
  };
  expect("memory_allocate of 0 bytes", table().memory_allocate(device(), &nothing, &allocated, nullptr));
  expect("copy_to_device past the end", table().copy_to_device(stream, memory, 0, from, 65, nullptr));
  expect("copy_to_host past the end", table().copy_to_host(stream, to, memory, 0, 65, nullptr));
  expect("copy_on_device past the end", table().copy_on_device(stream, memory, 1, other, 0, 64, nullptr));
  expect("fill with a pattern of 3 bytes", table().fill(stream, memory, 0, 63, pattern, 3, nullptr));
  void* native = nullptr;
  if (!has(WEIR_CAP_NATIVE_STREAM))
    expect("stream_get_native", table().stream_get_native(stream, &native, nullptr), WEIR_ERROR_UNSUPPORTED);
  if (has(WEIR_CAP_TIMED_EVENTS)) {
    const Event never(WEIR_EVENT_TIMED);
    double nanoseconds = 0;
    expect("event_elapsed of an event that was never recorded",
           table().event_elapsed(never, never, &nanoseconds, nullptr));
  }
  if (!has(WEIR_CAP_GRAPHS)) return;
  weir_graph none = nullptr;
  expect("graph_create of 0 nodes", table().graph_create(device(), 0, nullptr, &none, nullptr));
  GraphNodes nodes;
  nodes.fill<std::uint8_t>(memory, 0, 64, 1);
  const Graph graph = nodes.make();
  weir_graph_node node{};
  node.struct_size = sizeof node;
  node.kind = WEIR_GRAPH_EMPTY;
  expect("graph_update of a node past the end", table().graph_update(graph, 1, &node, nullptr));
}

WEIR_REQUIREMENT(
    1, 55, Status, RefusalsStayInsideTheCallersSize,
    "Refused allocations, copies and fills write no further than the struct_size of the status.") {
  const Stream stream;
  const Memory memory(64), other(64);
  const weir_memory_options nothing = memory_options(0);
  std::uint8_t host[64] = {};
  weir_allocation out = nullptr;
  const std::uint64_t at = 65, zero = 0, one = 1;
  struct Call {
    const char* name;
    std::function<weir_result(weir_status*)> make;
  };
  const Call calls[] = {
      {"memory_allocate",
       [&](weir_status* e) { return table().memory_allocate(device(), &nothing, &out, e); }},
      {"copy_to_host",
       [&](weir_status* e) { return table().copy_to_host(stream, host, memory, at, one, e); }},
      {"copy_to_device",
       [&](weir_status* e) { return table().copy_to_device(stream, memory, at, host, one, e); }},
      {"copy_on_device",
       [&](weir_status* e) { return table().copy_on_device(stream, memory, at, other, zero, one, e); }},
      {"fill", [&](weir_status* e) { return table().fill(stream, memory, at, one, host, 1, e); }}};
  constexpr auto before_message = static_cast<std::uint32_t>(offsetof(weir_status, message));
  for (const Call& call : calls)
    for (const std::uint32_t size :
         {before_message + 1, before_message + 20, static_cast<std::uint32_t>(sizeof(weir_status)) - 8}) {
      auto small = guarded<weir_status>(size);
      const weir_result result = call.make(&small);
      EXPECT_EQ(result_name(result), "WEIR_ERROR_INVALID") << call.name;
      ASSERT_NO_FATAL_FAILURE(expect_guarded(small, size));
    }
}

WEIR_REQUIREMENT(0, 47, Status, OlderTablesClaimNothingNewer,
                 "The table for a host of an older version claims no capability of a later version.") {
  const auto check = [](std::uint32_t newest, std::uint64_t first_unknown) {
    const weir_host host{sizeof host, WEIR_ABI_VERSION(1, 0), newest};
    const weir_driver_table* older = nullptr;
    weir_status status = new_status();
    const weir_result result = call_entry(entry(), &host, &older, &status);
    if (result == WEIR_ERROR_ABI) throw Unsupported("the driver does not support older versions");
    ASSERT_EQ(result, WEIR_OK) << status.message;
    needs_device();
    weir_device_info filled{};
    filled.struct_size = sizeof filled;
    ASSERT_EQ(older->device_get_info(judged().device, &filled, nullptr), WEIR_OK);
    weir_device_info shorter;
    std::memset(&shorter, 0x5a, sizeof shorter);
    shorter.struct_size = 8;
    ASSERT_EQ(older->device_get_info(judged().device, &shorter, nullptr), WEIR_OK);
    const auto* bytes = reinterpret_cast<const unsigned char*>(&shorter);
    for (std::size_t i = 8; i < sizeof shorter; ++i)
      ASSERT_EQ(bytes[i], 0x5a) << "the device_get_info of the table for a host of version 1."
                                << WEIR_ABI_MINOR(newest) << " wrote byte " << i << "; struct_size was 8";
    for (std::uint64_t bit = first_unknown; bit; bit <<= 1)
      EXPECT_FALSE(filled.capabilities & bit)
          << "a host of version 1." << WEIR_ABI_MINOR(newest) << " negotiated a table of version 1."
          << WEIR_ABI_MINOR(older->abi_version) << ", whose device_get_info claims "
          << capability_name(static_cast<weir_capability>(bit))
          << "; driver.h marks it with a later version. Look first at the device_get_info of that table";
  };
  check(WEIR_ABI_VERSION(1, 2), WEIR_CAP_CODE_COMPILE);
  check(WEIR_ABI_VERSION(1, 3), WEIR_CAP_COOPERATIVE_LAUNCH);
  check(WEIR_ABI_VERSION(1, 1), WEIR_CAP_EXTERNAL_MEMORY);
  check(WEIR_ABI_VERSION(1, 0), WEIR_CAP_GRAPHS);
}

WEIR_REQUIREMENT(
    3, 15, Status, LongNamesOfKernelsAreCutAtCharacters,
    "The message for a missing kernel whose name does not fit is terminated and ends with a whole "
    "UTF-8 character.") {
  const Kernel iota("iota");
  try_long_texts(WEIR_ERROR_NOT_FOUND, [&](const char* name, weir_status* status) {
    weir_kernel out = nullptr;
    return table().module_get_kernel(iota.module(), name, &iota.layout(), &out, status);
  });
}

WEIR_REQUIREMENT(
    3, 16, Status, LongNamesOfCodeObjectsAreCutAtCharacters,
    "The message for a refused code object whose name does not fit is terminated and ends with a "
    "whole UTF-8 character.") {
  weir_code_object object = ready_kernel("iota").code_object();
  object.format = "no-such-format";
  try_long_texts(WEIR_ERROR_CODE_OBJECT, [&](const char* name, weir_status* status) {
    object.name = name;
    weir_module out = nullptr;
    return table().module_load(device(), &object, &out, status);
  });
}

WEIR_REQUIREMENT(3, 23, Status, LongFormatsAreCutAtCharacters,
                 "The message for a code object whose format or target does not fit is terminated and ends "
                 "with a whole UTF-8 "
                 "character.") {
  const std::uint64_t data[8] = {};
  weir_code_object object{};
  object.struct_size = sizeof object;
  object.data = data;
  object.size = sizeof data;
  for (const char** text : {&object.format, &object.target}) {
    object.format = object.target = "no-such-format";
    try_long_texts(WEIR_ERROR_CODE_OBJECT, [&](const char* name, weir_status* status) {
      *text = name;
      weir_module out = nullptr;
      return table().module_load(device(), &object, &out, status);
    });
  }
}

}  // namespace
}  // namespace weir::conformance
