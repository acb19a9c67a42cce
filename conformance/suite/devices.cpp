// SPDX-License-Identifier: Apache-2.0
// Level 0: counting, describing and opening devices.
#include <atomic>
#include <barrier>
#include <cstring>
#include <thread>

#include "objects.hpp"
#include "process/interruptions.hpp"

namespace weir::conformance {
namespace {

template <std::size_t size>
void expect_terminated(std::string_view name, const char (&text)[size]) {
  if (!std::memchr(text, 0, size))
    ADD_FAILURE() << "device_get_info leaves " << name << " without a terminating zero; expected at most "
                  << size - 1 << " bytes of text";
}

void expect_positive(std::string_view name, std::uint64_t value) {
  if (value < 1) ADD_FAILURE() << "device_get_info sets " << name << " to 0; expected at least 1";
}

WEIR_REQUIREMENT(0, 30, Devices, AreCounted, "device_count succeeds, with the same count each time.") {
  std::uint32_t first = 0, second = 0;
  weir_status status = new_status();
  const weir_result result = table().device_count(&first, &status);
  if (result == WEIR_ERROR_NO_DEVICE || result == WEIR_ERROR_NO_LIBRARY) throw Skipped(status.message);
  ASSERT_EQ(result, WEIR_OK) << status.message;
  EXPECT_GE(first, 1u) << "without a device, WEIR_ERROR_NO_DEVICE says why";
  call(table().device_count, &second);
  EXPECT_EQ(first, second);
}

WEIR_REQUIREMENT(0, 31, Devices, IndexPastTheEndIsInvalid,
                 "A device index that is not below the count returns WEIR_ERROR_INVALID.") {
  weir_device_info filled{};
  filled.struct_size = sizeof filled;
  refusal(WEIR_ERROR_INVALID, table().device_get_info, device_count(), &filled);
  weir_device out = nullptr;
  refusal(WEIR_ERROR_INVALID, table().device_open, device_count(), &out);
}

WEIR_REQUIREMENT(0, 32, Devices, InfoStaysInsideTheCallersSize,
                 "device_get_info writes no further than the struct_size that the caller sets.") {
  device();
  for (const std::uint32_t size :
       {8u, 100u, 312u,
        static_cast<std::uint32_t>(offsetof(weir_device_info, max_threads_per_multiprocessor))}) {
    auto filled = guarded<weir_device_info>(size);
    call(table().device_get_info, judged().device, &filled);
    ASSERT_NO_FATAL_FAILURE(expect_guarded(filled, size));
  }
}

WEIR_REQUIREMENT(
    0, 26, Devices, InfoStaysInsideEverySize,
    "device_get_info writes no further than struct_size, whatever it is up to 64 bytes more than the "
    "suite's struct, and nothing at all for a device that does not exist.") {
  device();
  constexpr std::uint32_t own = sizeof(weir_device_info), most = own + 64;
  constexpr std::uint8_t mark = 0x5a;
  alignas(weir_device_info) static std::uint8_t bytes[most + 64];
  const auto call_with = [&](std::uint32_t index, std::uint32_t size) {
    std::ranges::fill(bytes, mark);
    std::memcpy(bytes, &size, sizeof size);
    return result_of(table().device_get_info, index, reinterpret_cast<weir_device_info*>(bytes));
  };
  const auto first_written = [&](std::uint32_t from) {
    std::uint32_t at = from;
    while (at < sizeof bytes && bytes[at] == mark) ++at;
    return at;
  };
  for (std::uint32_t size = sizeof size; size <= most; size += size < own - 64 ? 4 : 1) {
    ASSERT_EQ(result_name(call_with(judged().device, size)), "WEIR_OK") << "for struct_size " << size;
    const std::uint32_t written = first_written(size);
    ASSERT_EQ(written, sizeof bytes) << "is the first byte past struct_size " << size
                                     << " that device_get_info has written, if it is less than "
                                     << sizeof bytes
                                     << ". driver.h: info structs are filled up to the struct_size that the "
                                        "caller set. Look first at what copies "
                                        "the struct";
  }
  EXPECT_EQ(result_name(call_with(device_count(), own)), "WEIR_ERROR_INVALID");
  std::uint32_t size = 0;
  std::memcpy(&size, bytes, sizeof size);
  EXPECT_TRUE(size == own && first_written(sizeof size) == sizeof bytes)
      << "device_get_info of a device that does not exist has written byte " << first_written(sizeof size)
      << " or struct_size. driver.h: on failure it leaves its outputs untouched";
}

WEIR_REQUIREMENT(0, 33, Devices, InfoSaysHowMuchItFilled,
                 "device_get_info returns a struct_size no larger than the one that the caller set.") {
  weir_device_info filled{};
  filled.struct_size = 400;
  device();
  call(table().device_get_info, judged().device, &filled);
  EXPECT_LE(filled.struct_size, 400u);
}

WEIR_REQUIREMENT(0, 34, Devices, TextsEnd,
                 "Every text of the description is terminated, and the device has a name.") {
  if (!*info().name) ADD_FAILURE() << "device_get_info sets an empty name; expected the device's name";
  expect_terminated("name", info().name);
  expect_terminated("vendor", info().vendor);
  expect_terminated("driver_version", info().driver_version);
  expect_terminated("location", info().location);
  expect_terminated("target_features", info().target_features);
  expect_terminated("notes", info().notes);
}

WEIR_REQUIREMENT(0, 35, Devices, CodeTargetsAreListed,
                 "One to four code targets are listed, each with a format.") {
  const std::uint32_t count = info().code_target_count;
  if (count < 1 || count > WEIR_MAX_CODE_TARGETS)
    FAIL() << "device_get_info lists " << count << " code targets; expected 1 to " << WEIR_MAX_CODE_TARGETS;
  for (std::uint32_t i = 0; i < count; ++i) {
    const weir_code_target& target = info().code_targets[i];
    expect_terminated("code_targets[" + std::to_string(i) + "].format", target.format);
    expect_terminated("code_targets[" + std::to_string(i) + "].target", target.target);
    if (!*target.format)
      ADD_FAILURE() << "code_targets[" << i << "].format is empty; expected a format's name";
  }
}

WEIR_REQUIREMENT(0, 09, Devices, TargetFeaturesHaveSigns,
                 "target_features is empty, or a list of features that begin with + or -, with commas "
                 "between them.") {
  const std::string features = info().target_features;
  std::size_t begin = 0;
  while (begin < features.size()) {
    const std::size_t end = std::min(features.find(',', begin), features.size());
    const std::string one = features.substr(begin, end - begin);
    const auto is_sign = [](char c) { return c == '+' || c == '-'; };
    // Features of hsaco are those of its target, such as sramecc+:xnack-.
    const bool of_target = std::string_view(info().code_targets[0].format) == "hsaco" && is_sign(one.back());
    const bool has_sign = one.size() > 1 && (is_sign(one[0]) || of_target);
    if (!has_sign || one.find_first_of(" \t") != std::string::npos)
      FAIL() << "device_get_info sets target_features to '" << features << "', in which '" << one
             << "' is no feature; driver.h: LLVM's -mattr, such as +avx2,-sse4a";
    begin = end + 1;
  }
}

WEIR_REQUIREMENT(0, 36, Devices, LimitsAreSensible,
                 "Blocks, grids, lanes, multiprocessors, argument bytes and memory are at least 1, and no "
                 "max_block is above max_block_threads.") {
  expect_positive("max_block_threads", info().max_block_threads);
  expect_positive("multiprocessors", info().multiprocessors);
  expect_positive("lanes", info().lanes);
  expect_positive("max_argument_bytes", info().max_argument_bytes);
  expect_positive("total_memory", info().total_memory);
  for (int i = 0; i < 3; ++i) {
    const std::string index = "[" + std::to_string(i) + "]";
    expect_positive("max_block" + index, info().max_block[i]);
    expect_positive("max_grid" + index, info().max_grid[i]);
    if (info().max_block[i] > info().max_block_threads)
      ADD_FAILURE() << "device_get_info sets max_block" << index << " to " << info().max_block[i]
                    << "; driver.h, weir_device_info: at most max_block_threads, which is "
                    << info().max_block_threads;
  }
}

WEIR_REQUIREMENT(0, 37, Devices, AlignmentIsAPowerOfTwoFrom64,
                 "memory_alignment is a power of two of at least 64.") {
  EXPECT_GE(info().memory_alignment, 64u);
  EXPECT_EQ(info().memory_alignment & (info().memory_alignment - 1), 0u);
}

WEIR_REQUIREMENT(0, 38, Devices, PriorityRangeIsOrdered,
                 "max_priority, the most urgent, is not above min_priority, and 0 is in between.") {
  EXPECT_LE(info().max_priority, info().min_priority);
  EXPECT_LE(info().max_priority, 0);
  EXPECT_GE(info().min_priority, 0);
}

WEIR_REQUIREMENT(
    0, 39, Devices, OnlyKnownArgumentStylesAndKinds,
    "argument_style and kind are numbers that the header names; no unknown capability is claimed.") {
  EXPECT_LE(info().argument_style, std::uint32_t{WEIR_ARGUMENT_BUFFER});
  EXPECT_LE(info().kind, std::uint32_t{WEIR_DEVICE_OTHER});
  const bool known = raw_table().abi_version <= WEIR_ABI_CURRENT;
  const std::uint64_t unknown = info().capabilities & ~std::uint64_t{(WEIR_CAP_COOPERATIVE_LAUNCH << 1) - 1};
  EXPECT_TRUE(!known || unknown == 0) << "unknown bits " << unknown;
}

WEIR_REQUIREMENT(
    0, 49, Devices, NamesInDlpackAreComplete,
    "dlpack_host_type is set only together with dlpack_type, dlpack_id is not negative, and reserved is 0.") {
  needs_version(2);
  EXPECT_TRUE(info().dlpack_type != 0 || info().dlpack_host_type == 0)
      << "dlpack_host_type is " << info().dlpack_host_type << " and dlpack_type is 0";
  EXPECT_GE(info().dlpack_id, 0);
  EXPECT_EQ(info().reserved, 0u);
}

WEIR_REQUIREMENT(0, 40, Devices, OpenedTwiceIsTheSameDevice,
                 "Opening one device twice gives the same device, and each opening is closed separately.") {
  const weir_device first = device();
  weir_device second = nullptr;
  call(table().device_open, judged().device, &second);
  EXPECT_EQ(first, second);
  call(table().device_close, second);
  std::uint64_t free = 0, total = 0;
  call(table().device_get_memory, first, &free, &total);  // the first opening is still valid
}

WEIR_REQUIREMENT(0, 41, Devices, CanBeOpenedAgain, "A device that was closed can be opened and used again.") {
  if (device_count() <= judged().device) throw Skipped("the device does not exist");
  for (int i = 0; i < 3; ++i) {
    weir_device opened = nullptr;
    call(table().device_open, judged().device, &opened);
    ASSERT_NE(opened, nullptr);
    {
      const Stream stream(opened);
      stream.synchronize();
    }
    call(table().device_close, opened);
  }
}

WEIR_REQUIREMENT(0, 42, Devices, TellFreeMemory,
                 "Free memory is not above the total, which agrees with the description.") {
  std::uint64_t free = 0, total = 0;
  call(table().device_get_memory, device(), &free, &total);
  EXPECT_GT(total, 0u);
  EXPECT_LE(free, total);
  EXPECT_GE(total, info().total_memory / 2);
  EXPECT_LE(total / 2, info().total_memory);
}

WEIR_REQUIREMENT(0, 43, Devices, StatusMayBeNull,
                 "Every function accepts a null status, in success and in failure.") {
  const std::uint32_t expected = device_count();
  std::uint32_t count = 0;
  expect_result("device_count without a status", table().device_count(&count, nullptr), WEIR_OK);
  EXPECT_EQ(count, expected);
  weir_device out = nullptr;
  expect_result("device_open without a status", table().device_open(count + 5, &out, nullptr),
                WEIR_ERROR_INVALID);
}

WEIR_REQUIREMENT(0, 44, Devices, StatusStaysInsideItsSize,
                 "A failure fills a status no further than its struct_size.") {
  for (const std::uint32_t size : {8u, 16u, 80u, 100u}) {
    weir_status status;
    std::memset(&status, 0x5a, sizeof status);
    status.struct_size = size;
    weir_device out = nullptr;
    expect_result("device_open past the last device", table().device_open(device_count() + 5, &out, &status),
                  WEIR_ERROR_INVALID);
    const auto* bytes = reinterpret_cast<const unsigned char*>(&status);
    for (std::size_t i = size; i < sizeof status; ++i)
      ASSERT_EQ(bytes[i], 0x5a) << "byte " << i << " was written; struct_size was " << size;
  }
}

WEIR_REQUIREMENT(
    0, 52, Devices, AreOpenedByThreadsAtOnce,
    "Threads that open and close a device at the same time get the same device, which stays open as long "
    "as one opening is left.") {
  const weir_device first = device();
  constexpr int threads = 3;
  std::atomic<int> wrong{0}, all{0};
  const auto open_one = [&](weir_device& opened) {
    weir_status status = new_status();
    ++all;
    if (quick_table().device_open(judged().device, &opened, &status) != WEIR_OK || opened != first) ++wrong;
  };
  const auto close_one = [&](weir_device opened) {
    weir_status status = new_status();
    if (quick_table().device_close(opened, &status) != WEIR_OK) ++wrong;
  };
  // The threads first open together and then close together. So a lost closing cannot compensate for a lost
  // opening, and the device is closed too early. After half of the time they do both at once.
  const Race race(std::chrono::milliseconds(judged().thorough ? 2000 : 250));
  const Race together(std::chrono::milliseconds(judged().thorough ? 1000 : 125));
  bool goes_on = true;
  const auto decide = [&]() noexcept { goes_on = wrong == 0 && together.goes_on(); };
  std::barrier all_opened(threads);
  std::barrier all_closed(threads, decide);
  {
    Interruptions interruptions;
    std::vector<std::jthread> openers;
    for (int i = 0; i < threads; ++i)
      openers.emplace_back([&] {
        const Interruptions::Here here(interruptions);
        weir_device opened[64];
        while (goes_on) {
          for (weir_device& one : opened) open_one(one);
          all_opened.arrive_and_wait();
          for (const weir_device one : opened) close_one(one);
          all_closed.arrive_and_wait();
        }
        while (wrong == 0 && race.goes_on())
          for (weir_device& one : opened) {
            open_one(one);
            close_one(one);
          }
      });
  }
  EXPECT_EQ(wrong, 0)
      << "of " << all << " openings and closings of an open device on " << threads
      << " threads at the same time failed or gave another device. Look first at the count of "
      << "openings";
  std::uint64_t free = 0, total = 0;
  call(table().device_get_memory, first, &free, &total);
}

}  // namespace
}  // namespace weir::conformance
