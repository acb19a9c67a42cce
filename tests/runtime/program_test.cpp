// SPDX-License-Identifier: Apache-2.0
// Launches of programs: kernels in IR form, compiled at their first launch.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <regex>
#include <set>
#include <string>
#include <vector>
#include <weir/kernel.hpp>
#include <weir/pack.hpp>

#include "on_threads.hpp"
#include "runtime/devices/device_state.hpp"
#include "support/count_allocations.hpp"
#include "support/expect_error.hpp"
#include "support/forked_beside.hpp"
#include "support/kernels.hpp"
#include "support/watched_driver.hpp"
#include "tested_device.hpp"

namespace weir::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// The factor is copied to a local variable, which needs scratch memory.
constexpr const char* scale_text = R"(weir-ir 1
kernel "scale"
  param @factor : array<f32, 1>
  param @x : array<f32, 1>
{
  %zero = const 0 : i64
  %n = extent @x, 0 : i64
  local $factor : f32
  %loaded = load @factor[%zero] : f32
  set $factor, %loaded
  parallel (%i) in (%zero to %n) {
    %f = get $factor : f32
    %v = load @x[%i] : f32
    %scaled = mul %v, %f : f32
    store @x[%i], %scaled
  }
}
)";

constexpr const char* add_text = R"(weir-ir 1
kernel "add"
  param @x : array<i32, 1>
  param @value : i32
{
  %zero = const 0 : i64
  %n = extent @x, 0 : i64
  %value = arg @value : i32
  parallel (%i) in (%zero to %n) {
    %v = load @x[%i] : i32
    %sum = add %v, %value : i32
    store @x[%i], %sum
  }
}
)";

// The bound is known on the device only.
constexpr const char* counted_text = R"(weir-ir 1
kernel "counted"
  param @count : array<i64, 1>
  param @x : array<i32, 1>
{
  %zero = const 0 : i64
  %n = load @count[%zero] : i64
  parallel (%i) in (%zero to %n) {
    %one = const 1 : i32
    store @x[%i], %one
  }
}
)";

constexpr const char* two_blocks_text = R"(weir-ir 1
kernel "two blocks"
  param @x : array<i32, 1>
  param @y : array<i32, 1>
{
  %zero = const 0 : i64
  %n = extent @x, 0 : i64
  %m = extent @y, 0 : i64
  region {
    parallel (%i) in (%zero to %n) {
      %one = const 1 : i32
      store @x[%i], %one
    }
  } and {
    parallel (%j) in (%zero to %m) {
      %two = const 2 : i32
      store @y[%j], %two
    }
  }
}
)";

constexpr const char* checked_text = R"(weir-ir 1
kernel "checked" check_bounds
  param @x : array<i32, 2>
  param @limit : i64
{
  %zero = const 0 : i64
  %n = extent @x, 0 : i64
  %m = extent @x, 1 : i64
  %limit = arg @limit : i64
  parallel (%i, %j) in (%zero to %n, %zero to %m) {
    %ok = lt %j, %limit : bool
    assert %ok, "column is too far"
    %one = const 1 : i32
    store @x[%i, %j], %one
  }
}
)";

LaunchArgument of(const AnyArrayView& view) {
  return {&view, nullptr, view.element()};
}
template <KernelElement T>
LaunchArgument of(const T& value) {
  return {nullptr, &value, element_type<T>};
}

template <class... T>
void launch(const Program& program, const StreamRef& stream, const T&... arguments) {
  const LaunchArgument list[] = {of(arguments)...};
  program.launch(stream, list);
}

TEST(Program, ReportsItsParametersAndItsText) {
  const Program program = Program::parse(add_text);
  EXPECT_EQ(program.name(), "add");
  ASSERT_EQ(program.parameters().size(), 2u);
  EXPECT_EQ(program.parameters()[0].name, "x");
  EXPECT_TRUE(program.parameters()[0].written);
  EXPECT_EQ(program.parameters()[1].kind, ParameterInfo::Kind::scalar);
  EXPECT_EQ(Program::parse(program.text()).text(), program.text());
}

TEST(Program, Runs) {
  const Device device = open_real();
  const Stream stream = device.create_stream();
  const Program add = Program::parse(add_text);
  for (const int n : {1, 7, 1000, 300'000}) {
    const auto x = device.array<std::int32_t>(stream, n);
    x.fill(stream, 40);
    launch(add, stream, x, std::int32_t{2});
    EXPECT_THAT(x.to_host(stream), ::testing::Each(42));
  }
}

TEST(Program, WorksOnSlices) {
  const Device device = open_real();
  const auto x = device.array<std::int32_t>(10);
  x.fill(0);
  launch(Program::parse(add_text), device.default_stream(), x.slice(3, 5), std::int32_t{1});
  EXPECT_THAT(x.to_host(), ::testing::ElementsAre(0, 0, 0, 1, 1, 0, 0, 0, 0, 0));
}

TEST(Program, WithNothingToDoSubmitsNothing) {
  const Device device = Watch::open();
  const Stream stream = device.create_stream();
  const Program add = Program::parse(add_text);
  add.prepare(stream);
  launch(add, stream, device.array<std::int32_t>(stream, 0), std::int32_t{1});
  EXPECT_EQ(Watch::get().count("kernel_launch"), 0u);
}

// proves R8, R23
TEST(Program, LaunchesOnTwoStreamsShareNoScratchMemory) {
  const Device device = open_real();
  const Program scale = Program::parse(scale_text);
  const Stream a = device.create_stream(), b = device.create_stream();
  const auto two = device.array<float>(1), half = device.array<float>(1);
  const auto x = device.array<float>(2000), y = device.array<float>(2000);
  two.fill(a, 2.0f);
  half.fill(b, 0.5f);
  x.fill(a, 1.0f);
  y.fill(b, 1.0f);
  for (int i = 0; i < 100; ++i) {
    launch(scale, a, two, x);
    launch(scale, b, half, y);
  }
  EXPECT_THAT(x.to_host(a), ::testing::Each(std::ldexp(1.0f, 100)));
  EXPECT_THAT(y.to_host(b), ::testing::Each(std::ldexp(1.0f, -100)));
}

// proves R12
TEST(Program, BoundsThatOnlyTheDeviceKnowsNeedNoHostWait) {
  const Device device = open_real();
  if (!has_test_kernels(device)) GTEST_SKIP() << "there are no ready kernels for Vulkan";
  const Kernels kernels(device);
  const Stream stream = device.create_stream();
  const Program counted = Program::parse(counted_text);
  const auto count = device.array<std::int64_t>(stream, 1);
  const auto x = device.array<std::int32_t>(stream, 10);
  count.fill(stream, 0);
  x.fill(stream, 0);
  launch(counted, stream, count, x);  // loading code may wait for the device, and so for the gate
  Flag flag;
  kernels.close_gate(stream, flag);
  count.fill(stream, 4);
  launch(counted, stream, count, x);  // returns although the gate is closed
  flag.open();
  EXPECT_THAT(x.to_host(stream), ::testing::ElementsAre(1, 1, 1, 1, 0, 0, 0, 0, 0, 0));
}

// proves R2
TEST(Program, AnExplicitStreamCarriesEveryPartOfALaunch) {
  const Device device = Watch::open();
  const Stream other = device.create_stream(), stream = device.create_stream();
  const CurrentStream scope(other);
  const Program scale = Program::parse(scale_text);
  const auto factor = device.array<float>(stream, 1), x = device.array<float>(stream, 100);
  factor.fill(stream, 2.0f);
  x.fill(stream, 1.0f);
  scale.prepare(stream);
  void* const native = stream.state()->stream;
  Watch::get().start_recording();
  launch(scale, stream, factor, x);
  std::set<std::string> seen;
  for (const Call& call : Watch::get().recorded())
    for (const char* slot :
         {"memory_allocate_async", "kernel_launch", "copy_to_device", "fill", "stream_wait_event"})
      if (call.slot == slot) {
        EXPECT_EQ(call.first, native) << slot;
        seen.insert(slot);
      }
  EXPECT_TRUE(seen.contains("kernel_launch"));
  EXPECT_EQ(x.to_host(stream)[99], 2.0f);
}

// proves R18
TEST(Program, BlocksThatWouldShareMemoryAreRefusedAtLaunchWithBothLines) {
  const Device device = Watch::open();
  const Stream stream = device.create_stream();
  const Program blocks = Program::parse(two_blocks_text, "blocks.weir");
  const auto x = device.array<std::int32_t>(10);
  EXPECT_THAT(error_of(ErrorCode::invalid, [&] { launch(blocks, stream, x, x); }),
              AllOf(HasSubstr("argument 1 ('x') and argument 2 ('y') share memory"),
                    HasSubstr("blocks.weir:12"), HasSubstr("blocks.weir:17")));
  EXPECT_EQ(Watch::get().count("kernel_launch"), 0u);
  error_of(ErrorCode::invalid, [&] { launch(blocks, stream, x.slice(0, 6), x.slice(5, 10)); });
  launch(blocks, stream, x.slice(0, 5), x.slice(5, 10));
  EXPECT_THAT(x.to_host(stream), ::testing::ElementsAre(1, 1, 1, 1, 1, 2, 2, 2, 2, 2));
}

// proves R34
TEST(Program, AFailedAssertNamesKernelMessageIterationAndLine) {
  const Device device = open_real();
  const Stream stream = device.create_stream();
  const Program checked = Program::parse(checked_text, "checked.weir");
  const auto x = device.array<std::int32_t>(stream, 1, 8);
  launch(checked, stream, x, std::int64_t{7});
  try {
    stream.synchronize();
    FAIL() << "the failure was lost";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::assertion);
    EXPECT_EQ(error.kernel(), "checked");
    EXPECT_EQ(error.file(), "checked.weir");
    EXPECT_EQ(error.line(), 12u);
    EXPECT_THAT(error.what(), AllOf(HasSubstr("column is too far"), HasSubstr("iteration (0, 7)")));
  }
  launch(checked, stream, x, std::int64_t{8});  // reported once, then cleared
  stream.synchronize();
}

// proves R34
TEST(Program, AnIllegalAddressNamesTheLoopThatWasLaunchedLast) {
  const Device device = Watch::open();
  const Stream stream = device.create_stream();
  const Program add = Program::parse(add_text, "add.weir");
  const auto x = device.array<std::int32_t>(stream, 10);
  x.fill(stream, 0);
  launch(add, stream, x, std::int32_t{1});
  Watch::get().fail("stream_synchronize", 1, WEIR_ERROR_ILLEGAL_ADDRESS);
  try {
    stream.synchronize();
    FAIL() << "the failure was lost";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::illegal_address);
    EXPECT_EQ(error.kernel(), "add");
    EXPECT_EQ(error.file(), "add.weir");
    EXPECT_EQ(error.line(), 9u);
    EXPECT_THAT(error.what(), HasSubstr("last kernel on the stream: 'add' (add.weir:9)"));
  }
  stream.synchronize();
}

// proves R34
TEST(Program, AFailureOutlivesItsKernel) {
  const Device device = open_real();
  const Stream stream = device.create_stream();
  const auto x = device.array<std::int32_t>(stream, 1, 8);
  launch(Program::parse(checked_text), stream, x, std::int64_t{0});
  EXPECT_THAT(error_of(ErrorCode::assertion, [&] { stream.synchronize(); }), HasSubstr("column is too far"));
}

// If the event cannot be recorded, the destructor waits for the work. That wait must not consume the failure.
// proves R34
TEST(Program, AFailureOutlivesAnObjectWhoseEventFailed) {
  const Device device = Watch::open();
  const Stream stream = device.create_stream(), other = device.create_stream();
  const auto failure = [&] { return error_of(ErrorCode::assertion, [&] { stream.synchronize(); }); };
  const auto x = device.array<std::int32_t>(stream, 1, 8);
  {
    const Program program = Program::parse(checked_text);
    launch(program, stream, x, std::int64_t{0});
    Watch::get().fail("event_record", 1, WEIR_ERROR_UNKNOWN);
  }
  EXPECT_THAT(failure(), HasSubstr("column is too far")) << "after the kernel's destruction";

  const Program program = Program::parse(checked_text);
  {
    const auto used_by_two = device.array<std::int32_t>(other, 1, 8);
    used_by_two.fill(other, 0);
    stream.wait(other);
    launch(program, stream, used_by_two, std::int64_t{0});
    Watch::get().fail("event_record", 1, WEIR_ERROR_UNKNOWN);
  }
  Watch::get().fail_no_more();
  EXPECT_THAT(failure(), HasSubstr("column is too far")) << "after the array's destruction";
}

// proves R35
TEST(Program, ArgumentsThatDoNotFitAreRefusedBeforeAnythingIsSubmitted) {
  const Device device = Watch::open(), other = open_real();
  const Stream stream = device.create_stream();
  const Program add = Program::parse(add_text);
  const auto x = device.array<std::int32_t>(10);
  const auto refused = [&](const auto&... arguments) {
    return error_of(ErrorCode::invalid, [&] { launch(add, stream, arguments...); });
  };
  const std::int32_t v = 1;
  EXPECT_THAT(refused(x), HasSubstr("expects 2 arguments, found 1"));
  EXPECT_THAT(refused(v, v), AllOf(HasSubstr("argument 1 ('x')"), HasSubstr("expected an array of i32")));
  EXPECT_THAT(refused(x, x), AllOf(HasSubstr("argument 2 ('value')"), HasSubstr("expected an i32")));
  EXPECT_THAT(refused(x, 1.0f), HasSubstr("found an f32"));
  EXPECT_THAT(refused(device.array<float>(10), v), HasSubstr("found an array of f32"));
  EXPECT_THAT(refused(device.array<std::int32_t>(2, 5), v), HasSubstr("with 2 dimensions"));
  EXPECT_THAT(refused(other.array<std::int32_t>(10), v), HasSubstr("copy the array there first"));
  EXPECT_THAT(refused(ArrayView<std::int32_t>(), v), HasSubstr("the array does not exist"));
  EXPECT_EQ(Watch::get().count("kernel_launch") + Watch::get().count("module_load"), 0u);
}

// proves R10
TEST(Program, ManyThreadsCompileItOnceAndLaunchIt) {
  const Device device = Watch::open();
  const Program add = Program::parse(add_text);
  const int launches = rounds_of(20);
  on_threads(8, [&](int) {
    const Stream stream = device.create_stream();
    const auto x = device.array<std::int32_t>(stream, 100);
    x.fill(stream, 0);
    for (int i = 0; i < launches; ++i) launch(add, stream, x, std::int32_t{1});
    EXPECT_THAT(x.to_host(stream), ::testing::Each(launches));
  });
  EXPECT_EQ(Watch::get().count("module_load"), 1u);
}

// proves R34
TEST(Program, ALoadThatFailedIsTriedAgain) {
  const Device device = Watch::open();
  const Stream stream = device.create_stream();
  const Program add = Program::parse(add_text);
  Watch::get().fail("module_load", 1, WEIR_ERROR_SYSTEM);
  error_of(ErrorCode::system, [&] { add.prepare(stream); });
  const auto x = device.array<std::int32_t>(stream, 1);
  x.fill(stream, 1);
  launch(add, stream, x, std::int32_t{1});
  EXPECT_EQ(x.to_host(stream)[0], 2);
}

// proves R6
TEST(Program, IsUnloadedAfterItsWork) {
  const Device device = Watch::open();
  if (!has_test_kernels(device)) GTEST_SKIP() << "there are no ready kernels for Vulkan";
  const Kernels kernels(device);
  const Stream stream = device.create_stream();
  const auto x = device.array<std::int32_t>(stream, 100);
  x.fill(stream, 0);
  Flag flag;
  {
    const Program add = Program::parse(add_text);
    launch(add, stream, x, std::int32_t{2});  // loading code may wait for the device, and so for the gate
    kernels.close_gate(stream, flag);
    launch(add, stream, x, std::int32_t{3});
  }
  EXPECT_EQ(Watch::get().count("module_unload"), 0u);
  flag.open();
  EXPECT_EQ(x.to_host(stream)[99], 5);
  device.synchronize();
  EXPECT_EQ(Watch::get().count("module_unload"), 1u);
}

// proves R35
TEST(Program, ThatWasMovedFromSaysSo) {
  const Device device = open_real();
  Program add = Program::parse(add_text);
  const Program taken = std::move(add);
  const auto x = device.array<std::int32_t>(1);
  error_of(ErrorCode::invalid, [&] { launch(add, device.default_stream(), x, std::int32_t{1}); });
  error_of(ErrorCode::invalid, [&] { add.prepare(device.default_stream()); });
  error_of(ErrorCode::invalid, [&] { (void)add.prepare(device); });
  error_of(ErrorCode::invalid, [&] { (void)add.variants(device.default_stream()); });
  error_of(ErrorCode::invalid, [&] { (void)add.explain(device.default_stream()); });
  error_of(ErrorCode::invalid, [&] { (void)add.parameters(); });
  error_of(ErrorCode::invalid, [&] { add.debug(true); });
  error_of(ErrorCode::invalid, [&] { (void)explain(add, CompileTarget{}); });
  error_of(ErrorCode::invalid, [&] { (void)compile(add, CompileTarget{}); });
  error_of(ErrorCode::invalid,
           [&] { (void)detail::launch_returning(add, device.default_stream(), {}, {}, {}); });
  error_of(ErrorCode::invalid, [&] { add.name(); });
  error_of(ErrorCode::invalid, [&] { add.text(); });
}

// proves R35
TEST(PackBuilder, ThatWasMovedFromSaysSo) {
  PackBuilder builder;
  const PackBuilder taken = std::move(builder);
  error_of(ErrorCode::invalid, [&] { builder.add_target(parse_target("elf-x86_64:x86-64-v3")); });
  error_of(ErrorCode::invalid, [&] { builder.add(Program::parse(add_text)); });
  error_of(ErrorCode::invalid, [&] { builder.write("/nonexistent/moved.weirpack"); });
}

TEST(Program, AForkedChildDoesNotWaitForAThreadThatCompiles) {
  const Device device = Watch::open();
  const Stream stream = device.create_stream();
  const auto x = device.array<std::int32_t>(stream, 100);
  x.fill(stream, 0);
  const Program add = Program::parse(add_text);
  const auto run = [&] { launch(add, stream, x, std::int32_t{2}); };
  EXPECT_EQ(errors_in_child("module_load", run, {run, [&] { add.prepare(stream); }}, [] {}),
            "refused\nrefused\n");
  EXPECT_EQ(x.to_host(stream)[99], 2);
}

#ifndef WEIR_SANITIZED
TEST(Program, ALaunchAllocatesNothing) {
  const Device device = open_real();
  if (device.driver() == "vulkan") GTEST_SKIP() << "implementations of Vulkan allocate when they submit";
  const Stream stream = device.create_stream();
  const Program scale = Program::parse(scale_text), blocks = Program::parse(two_blocks_text);
  const auto factor = device.array<float>(stream, 1), x = device.array<float>(stream, 100);
  const auto a = device.array<std::int32_t>(stream, 100), b = device.array<std::int32_t>(stream, 100);
  factor.fill(stream, 1.0f);
  x.fill(stream, 1.0f);
  a.fill(stream, 0);
  b.fill(stream, 0);
  const auto once = [&] {
    launch(scale, stream, factor, x);
    launch(blocks, stream, a, b);
    stream.synchronize();
  };
  for (int i = 0; i < 10; ++i) once();
  const std::uint64_t before = allocations_of_this_thread();
  for (int i = 0; i < 10; ++i) once();
  EXPECT_EQ(allocations_of_this_thread(), before);
}
#endif

TEST(PackMain, RefusesTextThatNeverEnds) {
  std::string words[] = {"pack",     testing::TempDir() + "endless.weirpack",
                         "--target", "elf-x86_64:x86-64-v3",
                         "--text",   "/dev/zero"};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  testing::internal::CaptureStderr();
  EXPECT_EQ(detail::pack_main(static_cast<int>(arguments.size()), arguments.data()), 1);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("/dev/zero: a kernel's text has at most 16777216 bytes"));
}

TEST(Lowering, IsNamedByItsPaths) {
  Lowering lowering;
  EXPECT_EQ(to_string(lowering), "");
  lowering.take(LoweringPath::vector_loop);
  lowering.vector_width = 8;
  EXPECT_EQ(to_string(lowering), "vector loop of 8");
  lowering.take(LoweringPath::packets);
  lowering.take(LoweringPath::tiles);
  lowering.packet_width = 4;
  EXPECT_EQ(to_string(lowering), "vector loop of 8, packets of 4, tiles");
  EXPECT_EQ(to_string(static_cast<LoweringPath>(lowering_path_count)), "unknown");
  EXPECT_EQ(to_string(static_cast<LoweringPath>(lowering_path_count - 1)), "replicated phases");
}

TEST(CompileTarget, IsReadFromWords) {
  const CompileTarget whole = parse_target("elf-x86_64:x86-64-v3:+avx2,-fma"),
                      short_one = parse_target("ptx");
  EXPECT_EQ(whole.format, "elf-x86_64");
  EXPECT_EQ(whole.cpu, "x86-64-v3");
  EXPECT_EQ(whole.features, "+avx2,-fma");
  EXPECT_EQ(short_one.format, "ptx");
  EXPECT_EQ(short_one.features, "");
}

TEST(CompileTarget, StatesAssumptionsByName) {
  const Program add = Program::parse(add_text);
  CompileTarget target = parse_target("ptx:sm_80");
  const auto heading = [&](const char* assume) {
    target.assume = assume;
    const std::string text = explain(add, target);
    return text.substr(0, text.find('\n'));
  };
  EXPECT_THAT(heading(""), HasSubstr("launches that meet no_alias,index32,aligned,device_local:"));
  EXPECT_THAT(heading("index32"), HasSubstr("launches that meet index32:"));
  EXPECT_THAT(heading("device_local,no_alias"), HasSubstr("launches that meet no_alias,device_local:"));
  EXPECT_THAT(heading("distinct,narrow"), HasSubstr("launches that meet no_alias,index32:"));
  EXPECT_THAT(heading("resident"), HasSubstr("launches that meet device_local:"));
  EXPECT_THAT(heading("aligned"), HasSubstr("launches that meet aligned:"));
  EXPECT_THAT(error_of(ErrorCode::invalid, [&] { heading("index32,wide"); }),
              HasSubstr("'wide' is not a launch assumption; expected no_alias, index32"));
  target = parse_target("elf-x86_64:x86-64-v3");
  EXPECT_THAT(heading(""), HasSubstr("launches that meet no_alias,index32:"));
}

/// The text without the lines of this file, which change.
std::string without_lines(const std::string& text) {
  return std::regex_replace(text, std::regex("[^ ]*program_test.cpp:[0-9]+(:[0-9]+)?"), "LINE");
}

TEST(Explanation, OfLoopsThatAreMergedOrApart) {
  const Kernel kernel{"loops",
                      [](View<float> x, View<float> y, View<float> z, Value<float> a) {
                        range_for(x.size(), [&](Index i) { y[i] = x[i] * a; });
                        range_for(x.size(), [&](Index i) { z[i] = y[i] + 1.0f; });
                        range_for(x.size() - 1, [&](Index i) { x[i] = z[i + 1]; });
                      },
                      {.parameter_names = {"x", "y", "z", "a"}}};
  EXPECT_EQ(without_lines(explain(kernel.program(), parse_target("elf-x86_64:x86-64-v3"))),
            "loops, launches that meet no_alias,index32:\n"
            "  loops_0_loop: vector loop of 8\n"
            "    the loop at LINE\n"
            "    the loop at LINE\n"
            "    12 bytes of memory traffic per iteration, 16 with each loop a task\n"
            "  loops_1_loop: vector loop of 8\n"
            "  apart: LINE and LINE, because their bounds come from different values\n"
            "  in order: LINE and LINE, because @z is stored at LINE and loaded at LINE\n"
            "loops, launches that meet no_alias,index32, with few iterations in each loop:\n"
            "  loops_0_phases: vector loop of 8, phases\n"
            "    one block of a GPU, or one thread of a CPU, runs its loops one after the other:\n"
            "    the loop at LINE\n"
            "    the loop at LINE\n"
            "    the loop at LINE\n"
            "  apart: LINE and LINE, because their bounds come from different values\n");
}

TEST(Explanation, OfRegionsAndRepeats) {
  const Kernel kernel{"blocks",
                      [](View<float> x, View<float> y, Value<int> count) {
                        stream_parallel([&] { range_for(x.size(), [&](Index i) { x[i] = 1.0f; }); });
                        stream_parallel([&] { range_for(y.size(), [&](Index i) { y[i] = 2.0f; }); });
                        repeat(count, [&] {
                          range_for(x.size(), [&](Index i) { x[i] = x[i] + y[i]; });
                          range_for(x.size() - 1, [&](Index i) { y[i] = x[i + 1]; });
                        });
                      },
                      {.parameter_names = {"x", "y", "count"}, .deterministic = true}};
  EXPECT_EQ(without_lines(explain(kernel.program(), parse_target("elf-x86_64:x86-64-v3"))),
            "blocks (deterministic), launches that meet no_alias,index32:\n"
            "  blocks_0_loop (region 0, block 0): vector loop of 8\n"
            "  blocks_1_loop (region 0, block 1): vector loop of 8\n"
            "  blocks_2_loop: vector loop of 8\n"
            "  blocks_3_loop: vector loop of 8\n"
            "  the repeat at LINE: its 2 tasks are submitted as often as the host computes\n"
            "blocks (deterministic), launches that meet no_alias,index32, with few iterations in each loop:\n"
            "  blocks_0_phases: vector loop of 8, phases, region\n"
            "    for each stream_parallel block or group of independent loops, one block of a GPU or one "
            "thread of a "
            "CPU runs the loops:\n"
            "    the loop at LINE\n"
            "    the loop at LINE\n"
            "  blocks_1_phases: vector loop of 8, phases\n"
            "    one block of a GPU, or one thread of a CPU, runs its loops one after the other:\n"
            "    the loop at LINE\n"
            "    the loop at LINE\n");
}

// proves R35
TEST(CompileTarget, CodeWithoutItsProgramIsNotMadeOfKernelsThatNeedIt) {
  const CompileTarget target = parse_target("elf-x86_64:x86-64-v3");
  const Kernel prints{"prints",
                      [](View<int> x) { range_for(x.size(), [&](Index i) { print("x is {}", x[i]); }); }};
  EXPECT_THAT(error_of(ErrorCode::unsupported, [&] { (void)compile(prints.program(), target); }),
              HasSubstr("kernel 'prints' prints, and code that is loaded without its program"));
  const Program plain = Program::parse(add_text);
  EXPECT_THAT(error_of(ErrorCode::invalid, [&] { (void)failure_of(plain, std::vector<std::byte>(3)); }),
              HasSubstr("found 3; pass the whole record"));
  EXPECT_EQ(failure_of(plain, std::vector<std::byte>(CompiledProgram::failure_record_bytes)), "");
}

}  // namespace
}  // namespace weir::test
