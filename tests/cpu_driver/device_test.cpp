// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <set>
#include <sstream>
#include <thread>

#include "graph_nodes.hpp"

namespace cpu_test {

TEST(DeviceInfo, DescribesThisMachine) {
  const weir_device_info info = device_info();
  EXPECT_EQ(info.kind, std::uint32_t{WEIR_DEVICE_CPU});
  EXPECT_STRNE(info.name, "");
  EXPECT_GE(info.multiprocessors, 1u);
  EXPECT_GE(info.memory_alignment, 64u);
  EXPECT_GT(info.total_memory, 0u);
  EXPECT_EQ(info.lanes, 1u);
  EXPECT_EQ(info.max_block_threads, 1024u);
  for (const std::uint32_t size : info.max_block) EXPECT_EQ(size, 1024u);
  EXPECT_EQ(info.max_grid[0], 0x7fffffffu);
  for (int i : {1, 2}) EXPECT_EQ(info.max_grid[i], 65535u);
  EXPECT_EQ(info.max_shared_bytes, 256u * 1024);
  EXPECT_EQ(info.max_argument_bytes, 4096u);
  EXPECT_EQ(info.argument_style, std::uint32_t{WEIR_ARGUMENT_ADDRESS});
  EXPECT_EQ(info.dlpack_type, 1u);
  EXPECT_EQ(info.dlpack_id, 0);
  EXPECT_STREQ(info.driver_version, table().version);
  EXPECT_EQ(info.recommended_streams, info.multiprocessors);
}

TEST(DeviceInfo, ListsTheProcessorsLevelAndTheBaselineLast) {
  const weir_device_info info = device_info();
  ASSERT_GE(info.code_target_count, 1u);
  bool level = false;
  for (std::uint32_t i = 0; i < info.code_target_count; ++i) {
    EXPECT_STREQ(info.code_targets[i].format, "elf-x86_64");
    level |= std::string(info.code_targets[i].target).starts_with("x86-64");
  }
  EXPECT_TRUE(level);
  for (std::uint32_t i = 1; i < info.code_target_count; ++i)
    EXPECT_STRNE(info.code_targets[i].target, info.code_targets[0].target);
  EXPECT_STREQ(info.code_targets[info.code_target_count - 1].target, "x86-64");
}

std::set<std::string> flags_of_the_kernel() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("flags")) {
      std::istringstream words(line.substr(line.find(':') + 1));
      return {std::istream_iterator<std::string>(words), {}};
    }
  return {};
}

// The system's kernel looks at the processor too, and calls the features by names of its own.
TEST(DeviceInfo, ListsTheFeaturesThatTheSystemsKernelFound) {
  const std::set<std::string> flags = flags_of_the_kernel();
  const auto has = [&](std::initializer_list<const char*> all) {
    return std::ranges::all_of(all, [&](const char* flag) { return flags.contains(flag); });
  };
  const bool v2 = has({"cx16", "lahf_lm", "popcnt", "pni", "ssse3", "sse4_1", "sse4_2"});
  const bool v3 = v2 && has({"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe"});
  const bool v4 = v3 && has({"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"});
  const struct {
    const char *listed, *flag;
    bool usable;
  } features[] = {{"avx512vnni", "avx512_vnni", v4},
                  {"avx512vbmi", "avx512vbmi", v4},
                  {"avx512vbmi2", "avx512_vbmi2", v4},
                  {"avx512bitalg", "avx512_bitalg", v4},
                  {"avx512vpopcntdq", "avx512_vpopcntdq", v4},
                  {"avx512ifma", "avx512ifma", v4},
                  {"avx512bf16", "avx512_bf16", v4},
                  {"avx512fp16", "avx512_fp16", v4},
                  {"avx512vp2intersect", "avx512_vp2intersect", v4},
                  {"avxvnni", "avx_vnni", v3},
                  {"gfni", "gfni", true},
                  {"vaes", "vaes", v3},
                  {"vpclmulqdq", "vpclmulqdq", v3},
                  {"aes", "aes", true},
                  {"pclmul", "pclmulqdq", true},
                  {"sha", "sha_ni", true},
                  {"adx", "adx", true},
                  {"avx", "avx", !v3}};  // implied by level 3
  const weir_device_info info = device_info();
  const std::string list = "," + std::string(info.target_features) + ",";
  for (const auto& [listed, flag, usable] : features)
    EXPECT_EQ(list.find("," + ("+" + std::string(listed)) + ",") != std::string::npos,
              usable && flags.contains(flag))
        << listed << " in '" << info.target_features << "'";
  const std::string level = v4 ? "x86-64-v4" : v3 ? "x86-64-v3" : v2 ? "x86-64-v2" : "x86-64";
  EXPECT_TRUE(std::ranges::any_of(info.code_targets, [&](const weir_code_target& one) {
    return one.target == level;
  })) << level;
}

// A processor's name stands for a level and features, all of which this machine must have.
TEST(CodeTargets, AreThoseWhoseFeaturesTheSystemsKernelFound) {
  const std::set<std::string> flags = flags_of_the_kernel();
  const struct {
    const char *name, *features;
  } targets[] = {{"westmere", "cx16 lahf_lm popcnt pni ssse3 sse4_1 sse4_2 pclmulqdq"},
                 {"haswell", "avx avx2 bmi1 bmi2 f16c fma abm movbe pclmulqdq"},
                 {"broadwell", "avx avx2 bmi1 bmi2 f16c fma abm movbe pclmulqdq adx"},
                 {"skylake", "avx avx2 bmi1 bmi2 f16c fma abm movbe pclmulqdq aes adx"},
                 {"znver1", "avx avx2 bmi1 bmi2 f16c fma abm movbe pclmulqdq aes adx sha_ni"},
                 {"znver3", "avx2 bmi2 f16c fma abm movbe pclmulqdq aes adx sha_ni vaes vpclmulqdq"},
                 {"cascadelake", "avx512f avx512bw avx512cd avx512dq avx512vl avx512_vnni pclmulqdq aes adx"},
                 {"cooperlake",
                  "avx512f avx512bw avx512cd avx512dq avx512vl avx512_vnni avx512_bf16 pclmulqdq aes adx"}};
  const std::vector<char> bytes = kernel_bytes();
  for (const auto& [name, features] : targets) {
    weir_code_object object = code_object(bytes);
    object.target = name;
    std::istringstream words(features);
    const bool here = std::all_of(std::istream_iterator<std::string>(words), {},
                                  [&](const std::string& feature) { return flags.contains(feature); });
    weir_module module = nullptr;
    if (!here) {
      const std::string message =
          refusal(WEIR_ERROR_CODE_OBJECT, table().module_load, first_device(), &object, &module);
      EXPECT_NE(message.find(name), std::string::npos) << message;
      // The message lists the targets that this machine runs.
      EXPECT_NE(message.find("x86-64"), std::string::npos) << message;
      continue;
    }
    weir_status status = new_status();
    EXPECT_EQ(table().module_load(first_device(), &object, &module, &status), WEIR_OK) << status.message;
    if (module) call(table().module_unload, module);
  }
}

TEST(DeviceInfo, CapabilitiesAndSlotsAgree) {
  const std::uint64_t capabilities = device_info().capabilities;
  EXPECT_TRUE(capabilities & WEIR_CAP_STREAM_ORDERED_ALLOCATION);
  EXPECT_TRUE(capabilities & WEIR_CAP_TIMED_EVENTS);
  EXPECT_TRUE(capabilities & WEIR_CAP_HOST_CALLBACK);
  EXPECT_TRUE(capabilities & WEIR_CAP_PINNED_MEMORY);
  EXPECT_TRUE(capabilities & WEIR_CAP_PEER_COPY);
  EXPECT_TRUE(capabilities & WEIR_CAP_DEVICE_ADDRESS);
  EXPECT_TRUE(capabilities & WEIR_CAP_CONCURRENT_STREAMS);
  EXPECT_FALSE(capabilities & WEIR_CAP_STREAM_PRIORITY);
  EXPECT_FALSE(capabilities & WEIR_CAP_NATIVE_STREAM);
}

// proves R7
TEST(DeviceInfo, NativeStreamsAreRefusedClearly) {
  weir_stream stream = nullptr;
  void* native = nullptr;
  refusal(WEIR_ERROR_UNSUPPORTED, table().stream_wrap, first_device(), static_cast<void*>(&native), &stream);
  Stream own;
  refusal(WEIR_ERROR_UNSUPPORTED, table().stream_get_native, weir_stream(own), &native);
}

TEST(DeviceInfo, FillsNoMoreThanTheCallersSize) {
  weir_device_info info{};
  info.struct_size = 136;
  info.vendor[0] = 'x';
  call(table().device_get_info, 0u, &info);
  EXPECT_STRNE(info.name, "");
  EXPECT_EQ(info.vendor[0], 'x');
  EXPECT_EQ(info.struct_size, 136u);
}

// proves R35
TEST(DeviceOpen, RefusesAnIndexThatIsNotThere) {
  weir_device out = nullptr;
  const std::string message = refusal(WEIR_ERROR_INVALID, table().device_open, 99u, &out);
  EXPECT_NE(message.find("99"), std::string::npos) << message;
  EXPECT_EQ(out, nullptr);
  weir_device_info info{};
  info.struct_size = sizeof info;
  refusal(WEIR_ERROR_INVALID, table().device_get_info, 99u, &info);
  EXPECT_STREQ(info.name, "");
}

TEST(DeviceOpen, GivesTheSameDeviceEachTime) {
  weir_device again = device();
  EXPECT_EQ(again, first_device());
  call(table().device_close, again);
  Stream still_open;
}

TEST(DeviceMemory, CountsWhatIsAllocated) {
  std::uint64_t free = 0, total = 0;
  call(table().device_get_memory, first_device(), &free, &total);
  EXPECT_LE(free, total);
  EXPECT_EQ(total, device_info().total_memory);
}

TEST(SettingsDeathTest, DevicesAreMadeAndShareMemoryWithPeers) {
  in_fresh_process("WEIR_CPU_DEVICES", "3", [] {
    std::uint32_t count = 0;
    call(table().device_count, &count);
    EXPECT_EQ(count, 3u);
    const weir_device one = device(1), two = device(2);
    Memory source(64, one), destination(64, two);
    Stream stream(two);
    *source.as<int>() = 77;
    call(table().copy_peer, weir_stream(stream), weir_allocation(destination), std::uint64_t{0},
         weir_allocation(source), std::uint64_t{0}, std::uint64_t{64});
    stream.synchronize();
    EXPECT_EQ(*destination.as<int>(), 77);
  });
}

// proves R9
TEST(SettingsDeathTest, EventsWorkAcrossDevices) {
  in_fresh_process("WEIR_CPU_DEVICES", "2", [] {
    Stream first(device(0));
    Stream second(device(1));
    Gate gate;
    gate.close(first);
    Event event(WEIR_EVENT_PLAIN, device(0));
    event.record(first);
    second.wait(event);
    EXPECT_FALSE(second.done());
    gate.open();
    second.synchronize();
    EXPECT_EQ(gate.passed(), 1u);
  });
}

// proves R35
TEST(SettingsDeathTest, ObjectsOfAnotherDeviceAreRefused) {
  in_fresh_process("WEIR_CPU_DEVICES", "2", [] {
    Stream stream(device(1));
    Memory memory(64, device(0));
    const char byte = 0;
    refusal(WEIR_ERROR_INVALID, table().copy_to_device, weir_stream(stream), weir_allocation(memory),
            std::uint64_t{0}, static_cast<const void*>(&byte), std::uint64_t{1});
    const weir_launch launch = launch_of(kernels().nothing, 1);
    refusal(WEIR_ERROR_INVALID, table().kernel_launch, weir_stream(stream), &launch);
    refusal(WEIR_ERROR_INVALID, table().memory_free_async, weir_stream(stream), weir_allocation(memory));
    Event plain(WEIR_EVENT_PLAIN, device(0));
    refusal(WEIR_ERROR_INVALID, table().event_record, weir_event(plain), weir_stream(stream));
    EXPECT_TRUE(plain.done()) << "an event whose mark was refused";

    Stream there(device(0));
    Event start(WEIR_EVENT_TIMED, device(0)), end(WEIR_EVENT_TIMED, device(1));
    start.record(there);
    end.record(stream);
    there.synchronize();
    stream.synchronize();
    double nanoseconds = 0;
    refusal(WEIR_ERROR_INVALID, table().event_elapsed, weir_event(start), weir_event(end), &nanoseconds);

    Nodes nodes;
    std::uint32_t value = 0;
    nodes.launch(kernels().add, AddArguments{&value, 1});
    weir_graph graph = nullptr;
    const auto all = nodes.pointers();
    refusal(WEIR_ERROR_INVALID, table().graph_create, device(1), std::uint32_t{1}, all.data(), &graph);
    const Graph made(nodes);
    refusal(WEIR_ERROR_INVALID, table().graph_launch, weir_graph(made), weir_stream(stream));
  });
}

// Device 1, because kernels() keeps device 0 open.
TEST(SettingsDeathTest, TheLastCloseWaitsForStreamsThatWereDestroyedAtWork) {
  in_fresh_process("WEIR_CPU_DEVICES", "2", [] {
    const weir_device opened = device(1);
    const weir_module module = load(opened);
    const weir_kernel nothing = plain_kernel(module, "nothing");
    const weir_kernel gate = kernel_of<GateArguments>(module, "gate");
    { const Stream unused(opened); }
    for (int i = 0; i < 3; ++i) {
      Stream used(opened);
      used.launch(nothing);
      used.synchronize();
      // The last one is destroyed after a worker has found that nothing is left.
      if (i == 2) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    std::uint32_t open = 0, passed = 0;
    std::function<void()> short_callback = [] { std::this_thread::sleep_for(std::chrono::milliseconds(1)); };
    {
      Stream called(opened);
      submit_callback(called, short_callback);
    }
    {
      Stream busy(opened);
      busy.launch(gate, GateArguments{&open, 1, &passed});
    }
    call(table().device_close, device(1));  // not the last one: it does not wait
    EXPECT_EQ(read(passed), 0u);
    std::atomic<bool> closed{false};
    std::thread closes([&] {
      call(table().device_close, opened);
      closed = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_FALSE(closed) << "the close returned while a kernel ran";
    raise(open);
    for (const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
         !closed && std::chrono::steady_clock::now() < limit;)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (!closed) {
      ADD_FAILURE() << "the close still waits 20 s after the last kernel ended";
      return closes.detach();
    }
    closes.join();
    EXPECT_EQ(read(passed), 1u);
    weir_stream stream = nullptr;
    const weir_stream_options options{sizeof options, 0};
    refusal(WEIR_ERROR_INVALID, table().stream_create, opened, &options, &stream);
    refusal(WEIR_ERROR_INVALID, table().device_close, opened);
    const Stream again(device(1));  // a closed device may be opened again
  });
}

TEST(SettingsDeathTest, ABadSettingIsRefusedNotIgnored) {
  for (const char* value : {"0", "17", "two", " ", "-1", "3x"})
    for (const char* setting :
         {"WEIR_CPU_DEVICES", "WEIR_CPU_THREADS", "WEIR_CPU_PERF_MAP", "WEIR_CPU_TARGET"}) {
      if (std::string(setting) == "WEIR_CPU_THREADS" && std::string(value) == "17") continue;
      in_fresh_process(setting, value, [setting] {
        std::uint32_t count = 0;
        const std::string message = refusal(WEIR_ERROR_INVALID, table().device_count, &count);
        EXPECT_NE(message.find(setting), std::string::npos) << message;
      });
    }
}

TEST(SettingsDeathTest, ALongSettingIsCutInItsMessage) {
  in_fresh_process("WEIR_CPU_TARGET", std::string(70, 'x').c_str(), [] {
    std::uint32_t count = 0;
    const std::string message = refusal(WEIR_ERROR_INVALID, table().device_count, &count);
    EXPECT_NE(message.find("is '" + std::string(64, 'x') + "'; expected"), std::string::npos) << message;
  });
}

TEST(SettingsDeathTest, AnEmptySettingIsAnUnsetOne) {
  for (const char* setting : {"WEIR_CPU_DEVICES", "WEIR_CPU_THREADS", "WEIR_CPU_PERF_MAP", "WEIR_CPU_TARGET"})
    in_fresh_process(setting, "", [] {
      std::uint32_t count = 0;
      call(table().device_count, &count);
      EXPECT_EQ(count, 1u);
    });
}

TEST(SettingsDeathTest, NotesSayWhatTheSettingsChange) {
  in_fresh_process("WEIR_CPU_DEVICES", "2", [] {
    EXPECT_STREQ(device_info().notes, "WEIR_CPU_DEVICES: all devices share the same cores and memory");
  });
  for (const unsigned threads : {1u, 3u})
    in_fresh_process("WEIR_CPU_THREADS", std::to_string(threads).c_str(), [threads] {
      const weir_device_info info = device_info();
      EXPECT_EQ(info.notes, info.multiprocessors == threads
                                ? ""
                                : "WEIR_CPU_THREADS: " + std::to_string(threads) + " threads on " +
                                      std::to_string(info.multiprocessors) + " cores");
    });
}

TEST(SettingsDeathTest, KernelsAreCompiledForTheChosenProcessor) {
  in_fresh_process("WEIR_CPU_TARGET", "x86-64", [] {
    const weir_device_info info = device_info();
    EXPECT_EQ(info.code_target_count, 1u);
    EXPECT_STREQ(info.code_targets[0].target, "x86-64");
    EXPECT_STREQ(info.target_features, "");
    EXPECT_TRUE(std::string_view(info.notes)
                    .starts_with("WEIR_CPU_TARGET: kernels are compiled for x86-64 instead of "))
        << info.notes;
  });
  in_fresh_process("WEIR_CPU_TARGET", "znver9", [] {
    std::uint32_t count = 0;
    const std::string message = refusal(WEIR_ERROR_INVALID, table().device_count, &count);
    EXPECT_NE(message.find("WEIR_CPU_TARGET is 'znver9'; expected one of "), std::string::npos) << message;
    EXPECT_NE(message.find("x86-64"), std::string::npos) << message;
  });
}

TEST(SettingsDeathTest, OneThreadDoesEverything) {
  in_fresh_process("WEIR_CPU_THREADS", "1", [] {
    EXPECT_EQ(device_info().recommended_streams, 1u);
    Stream streams[3];
    Memory memory(4000);
    for (int i = 0; i < 1000; ++i) memory.as<std::uint32_t>()[i] = 0;
    Event event;
    for (Stream& stream : streams) {
      stream.wait(event);
      stream.launch(kernels().add, AddArguments{memory.as<std::uint32_t>(), 1}, 1000);
      event.record(stream);
    }
    streams[2].synchronize();
    for (int i = 0; i < 1000; ++i) EXPECT_EQ(memory.as<std::uint32_t>()[i], 3u);
  });
}

}  // namespace cpu_test
