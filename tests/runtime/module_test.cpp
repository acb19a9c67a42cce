// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "support/expect_error.hpp"
#include "support/kernels.hpp"
#include "support/watched_driver.hpp"

namespace weir::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using P = KernelParameter;

TEST(Module, RunsAReadyKernel) {
  const Device device = open_real();
  const Kernels kernels(device);
  const Stream stream = device.create_stream();
  const auto x = device.array<std::int32_t>(stream, 1000);
  x.fill(stream, 1);
  kernels.add(stream, x, 41);
  EXPECT_EQ(x.to_host(stream), std::vector<std::int32_t>(1000, 42));
}

TEST(Module, PassesStructsByValue) {
  const Device device = open_real();
  const Module module = load(device);
  struct Bytes {
    unsigned char values[64];
  } bytes;
  for (unsigned i = 0; i < 64; ++i) bytes.values[i] = static_cast<unsigned char>(i);
  const auto out = device.array<std::uint32_t>(1);
  const KernelFunction sum = module.kernel("sum_bytes", {P::array(), P::of<Bytes>()});
  sum.launch(device.default_stream(), {1, 1}, {out, KernelArgument(std::as_bytes(std::span(&bytes, 1)))});
  EXPECT_EQ(out.to_host()[0], 63u * 64 / 2);
}

TEST(Module, StaysLoadedWhileAKernelOfItIsUsed) {
  const Device device = Watch::open();
  const Stream stream = device.create_stream();
  auto kernel = std::make_unique<KernelFunction>(load(device).kernel("nothing", {}));
  kernel->launch(stream, {1, 1}, {});
  stream.synchronize();
  EXPECT_EQ(Watch::get().count("module_unload"), 0u);
  kernel.reset();
  device.synchronize();
  EXPECT_EQ(Watch::get().count("module_unload"), 1u);
}

// proves R6
TEST(Module, IsUnloadedOnlyWhenItsWorkIsDone) {
  const Device device = Watch::open();
  const Stream stream = device.create_stream();
  Flag flag;
  { Kernels(device).close_gate(stream, flag); }
  EXPECT_EQ(Watch::get().count("module_unload"), 0u);
  flag.open();
  stream.synchronize();
  device.synchronize();
  EXPECT_EQ(Watch::get().count("module_unload"), 1u);
}

// proves R35
TEST(Module, BadCodeObjectsAreRefusedWithTheDriversMessage) {
  const Device device = open_real();
  const std::vector<std::byte> nonsense(100), none;
  const CodeTarget own = device.info().code_targets.at(0);
  const std::string foreign = own.format == "ptx" ? "hsaco" : "ptx";
  EXPECT_THAT(error_of(ErrorCode::code_object,
                       [&] {
                         (void)device.load_module({own.format, own.target, nonsense, "junk"});
                       }),
              HasSubstr("junk"));
  EXPECT_THAT(error_of(ErrorCode::code_object,
                       [&] {
                         (void)device.load_module({foreign, "sm_90", nonsense, "junk"});
                       }),
              HasSubstr(foreign));
  EXPECT_THAT(error_of(ErrorCode::code_object,
                       [&] {
                         (void)device.load_module({own.format, own.target, none, "junk"});
                       }),
              HasSubstr("empty"));
  EXPECT_THAT(error_of(ErrorCode::not_found, [&] { (void)load(device).kernel("absent", {}); }),
              HasSubstr("absent"));
}

// proves R35
TEST(Module, ParametersThatMakeNoSenseAreRefused) {
  const Device device = open_real();
  const Module module = load(device);
  error_of(ErrorCode::invalid, [&] { (void)module.kernel("nothing", {P::value(0, 1)}); });
  error_of(ErrorCode::invalid, [&] { (void)module.kernel("nothing", {P::value(8, 3)}); });
  EXPECT_THAT(error_of(ErrorCode::invalid,
                       [&] { (void)module.kernel("nothing", std::vector<P>(1024, P::value(128, 16))); }),
              HasSubstr("at most"));
  EXPECT_THAT(error_of(ErrorCode::invalid, [&] { (void)module.kernel("nothing", {P::value(129, 1)}); }),
              HasSubstr("sizes are 1 to 128"));
  EXPECT_THAT(
      error_of(ErrorCode::not_found, [&] { (void)module.kernel(std::string_view("increment\0x", 11), {}); }),
      HasSubstr("zero byte"));
  error_of(ErrorCode::invalid, [&] { KernelArgument(std::vector<std::byte>(129)); });
}

// proves R35
TEST(Module, LaunchesThatDoNotFitAreRefusedBeforeTheDriverSeesThem) {
  const Device device = Watch::open(), other = open_real();
  const Kernels kernels(device);
  const Stream stream = device.create_stream();
  const auto x = device.array<std::int32_t>(10);
  const auto foreign = other.array<std::int32_t>(10);
  const auto launch = [&](const LaunchShape& shape, std::initializer_list<KernelArgument> arguments) {
    return error_of(ErrorCode::invalid, [&] { kernels.add_value.launch(stream, shape, arguments); });
  };
  const std::int64_t n = 10;
  const std::int32_t v = 1;
  EXPECT_THAT(launch({1, 1}, {x, n}),
              AllOf(HasSubstr("add_value"), HasSubstr("expects 3 arguments, found 2; pass one for each")));
  EXPECT_THAT(launch({1, 1}, {n, n, v}), AllOf(HasSubstr("argument 1"), HasSubstr("expected an array")));
  EXPECT_THAT(launch({1, 1}, {x, x, v}), AllOf(HasSubstr("argument 2"), HasSubstr("expected a value")));
  EXPECT_THAT(launch({1, 1}, {x, v, v}), AllOf(HasSubstr("argument 2"), HasSubstr("8 bytes, found 4")));
  EXPECT_THAT(launch({1, 1}, {foreign, n, v}), AllOf(HasSubstr("argument 1"), HasSubstr(other.name()),
                                                     HasSubstr("copy the array there first")));
  EXPECT_THAT(launch({0, 1}, {x, n, v}), HasSubstr("at least 1"));
  EXPECT_THAT(launch({1, {1, 0}}, {x, n, v}), HasSubstr("at least 1"));
  EXPECT_THAT(launch({1, 0xffffffffu}, {x, n, v}), HasSubstr("beyond what " + device.name() + " takes"));
  EXPECT_THAT(launch({1, 1, 0xffffffffu}, {x, n, v}), HasSubstr("shared memory"));
  EXPECT_THAT(error_of(ErrorCode::invalid,
                       [&] {
                         kernels.add_value.launch(other.default_stream(), {1, 1}, {x, n, v});
                       }),
              AllOf(HasSubstr("'add_value' is loaded on " + device.name()),
                    HasSubstr("but the stream is of " + other.name() + "; load the module on that device")));
  EXPECT_EQ(Watch::get().count("kernel_launch"), 0u);
}

TEST(Module, ReportsTheDriversKernelInfo) {
  const Device device = open_real();
  EXPECT_GE(Kernels(device).nothing.info().max_block_threads, 0u);
  EXPECT_EQ(Kernels(device).nothing.name(), "nothing");
}

// proves R35
TEST(Module, AndKernelsThatWereMovedFromSaySo) {
  const Device device = open_real();
  const Stream stream = device.create_stream();
  Kernels kernels(device);
  const KernelFunction taken = std::move(kernels.nothing);
  error_of(ErrorCode::invalid, [&] { kernels.nothing.launch(stream, LaunchShape{}, {}); });
  error_of(ErrorCode::invalid, [&] { kernels.nothing.name(); });
  error_of(ErrorCode::invalid, [&] { kernels.nothing.info(); });
  error_of(ErrorCode::invalid, [&] { TaskList(device).add(kernels.nothing, LaunchShape{}, {}); });
  const Module module = std::move(kernels.module);
  error_of(ErrorCode::invalid, [&] { kernels.module.kernel("nothing", {}); });
  error_of(ErrorCode::invalid, [&] { kernels.module.device(); });
}

}  // namespace
}  // namespace weir::test
