// SPDX-License-Identifier: Apache-2.0
// Compilation in the background: Program::prepare and Kernel::prepare.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "on_threads.hpp"
#include "support/expect_error.hpp"
#include "support/forked_beside.hpp"
#include "support/kernels.hpp"
#include "support/watched_driver.hpp"
#include "tested_device.hpp"

namespace weir::test {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

auto add_kernel() {
  return Kernel{"add", [](View<std::int32_t> x, Value<std::int32_t> value) {
                  range_for(x.size(), [&](Index i) { x[i] = x[i] + value; });
                }};
}

/// Holds threads in the driver's module_load until release(). A thread may leave it after this is destroyed.
class HeldLoads {
 public:
  HeldLoads() {
    Watch::get().before("module_load", [state = state_] {
      ++state->held;
      state->held.notify_all();
      state->released.wait(false);
    });
  }
  HeldLoads(const HeldLoads&) = delete;
  HeldLoads& operator=(const HeldLoads&) = delete;
  ~HeldLoads() {
    release();
    Watch::get().before("module_load", nullptr);
  }
  void wait_for(int threads) const {
    for (int held; (held = state_->held) < threads;) state_->held.wait(held);
  }
  /// Releases when `ready` holds and a thread that then calls the driver has had time to be held.
  template <class Ready>
  void release_after(const Ready& ready) {
    while (!ready()) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    release();
  }
  void release() {
    state_->released = true;
    state_->released.notify_all();
  }

 private:
  struct State {
    std::atomic<int> held{0};
    std::atomic<bool> released{false};
  };
  const std::shared_ptr<State> state_ = std::make_shared<State>();
};

TEST(Prepare, ReturnsBeforeTheCodeIsReady) {
  const Device device = Watch::open();
  const auto add = add_kernel();
  HeldLoads loads;
  const Preparation preparation = add.prepare(device);
  loads.wait_for(1);
  EXPECT_FALSE(preparation.ready());
  loads.release();
  preparation.wait();
  EXPECT_TRUE(preparation.ready());
  EXPECT_FALSE(add.program().variants(device.default_stream()).empty());
}

TEST(Prepare, OfNothingIsReady) {
  EXPECT_TRUE(Preparation().ready());
  Preparation().wait();
  const Preparation none = add_kernel().prepare(std::span<const Device>());
  none.wait();
  EXPECT_TRUE(none.ready());
}

TEST(Prepare, LaunchesFindTheCode) {
  const Device device = Watch::open();
  const Stream stream = device.create_stream();
  const auto add = add_kernel();
  add.prepare(device).wait();
  EXPECT_EQ(Watch::get().count("module_load"), 1u);
  const auto x = device.array<std::int32_t>(stream, 10);
  x.fill(stream, 0);
  add(stream, x, 1);
  EXPECT_THAT(x.to_host(stream), Each(1));
  EXPECT_EQ(Watch::get().count("module_load"), 1u);
}

// proves R10
TEST(Prepare, LaunchesWaitForTheCompilation) {
  const Device device = Watch::open();
  const auto add = add_kernel();
  HeldLoads loads;
  const Preparation preparation = add.prepare(device);
  loads.wait_for(1);
  std::atomic<int> launching{0};
  on_threads(5, [&](int t) {
    if (t == 0) return loads.release_after([&] { return launching == 4; });
    const Stream stream = device.create_stream();
    const auto x = device.array<std::int32_t>(stream, 100);
    x.fill(stream, 0);
    ++launching;
    add(stream, x, t);
    EXPECT_THAT(x.to_host(stream), Each(t));
  });
  EXPECT_EQ(Watch::get().count("module_load"), 1u);
}

TEST(Prepare, CompilesForSeveralDevices) {
  const Device first = Watch::open(), second = Watch::sibling(first);
  const auto add = add_kernel();
  const std::vector<Device> both{first, second};
  add.prepare(both).wait();
  EXPECT_EQ(Watch::get().count("module_load"), 2u);
  EXPECT_FALSE(add.program().variants(first.default_stream()).empty());
  EXPECT_FALSE(add.program().variants(second.default_stream()).empty());
}

// proves R10
TEST(Prepare, ManyThreadsPrepareAndLaunchManyKernels) {
  const Device device = Watch::open();
  std::vector<Kernel<void(View<std::int32_t>, Value<std::int32_t>)>> kernels;
  for (int i = 0; i < 8; ++i) kernels.push_back(add_kernel());
  on_threads(8, [&](int t) {
    const Stream stream = device.create_stream();
    const auto x = device.array<std::int32_t>(stream, 100);
    x.fill(stream, 0);
    std::vector<Preparation> all;
    for (int i = 0; i < 8; ++i) all.push_back(kernels[static_cast<std::size_t>(i + t) % 8].prepare(device));
    for (const auto& kernel : kernels) kernel(stream, x, 1);
    for (const Preparation& one : all) one.wait();
    EXPECT_THAT(x.to_host(stream), Each(8));
  });
  EXPECT_EQ(Watch::get().count("module_load"), 8u);
}

// proves R34
TEST(Prepare, FailuresReachTheWaitAndTheLaunch) {
  const Device device = Watch::open();
  const Stream stream = device.create_stream();
  const auto x = device.array<std::int32_t>(stream, 10);
  x.fill(stream, 0);
  const auto add = add_kernel();
  Watch::get().fail("module_load", 1, WEIR_ERROR_SYSTEM);
  HeldLoads loads;
  const Preparation preparation = add.prepare(device);
  loads.wait_for(1);
  std::atomic<bool> launching{false};
  on_threads(2, [&](int t) {
    if (t == 1) return loads.release_after([&] { return launching.load(); });
    launching = true;
    EXPECT_THAT(error_of(ErrorCode::system, [&] { add(stream, x, 1); }), HasSubstr("made to fail"));
  });
  for (int i = 0; i < 2; ++i)
    EXPECT_THAT(error_of(ErrorCode::system, [&] { preparation.wait(); }), HasSubstr("made to fail"));
  EXPECT_TRUE(preparation.ready());
  add(stream, x, 2);  // compiles again
  EXPECT_THAT(x.to_host(stream), Each(2));
  EXPECT_EQ(Watch::get().count("module_load"), 2u);
}

// proves R34
TEST(Prepare, AFailureThatNobodyWaitedForIsNotKept) {
  const Device device = Watch::open();
  const Stream stream = device.create_stream();
  const auto x = device.array<std::int32_t>(stream, 10);
  x.fill(stream, 0);
  const auto add = add_kernel();
  Watch::get().fail("module_load", 1, WEIR_ERROR_SYSTEM);
  for (const Preparation preparation = add.prepare(device); !preparation.ready();) std::this_thread::yield();
  add(stream, x, 3);
  EXPECT_THAT(x.to_host(stream), Each(3));
}

// proves R6
TEST(Prepare, TheKernelMayBeDestroyedMeanwhile) {
  const Device device = Watch::open();
  HeldLoads loads;
  Preparation preparation;
  {
    const auto add = add_kernel();
    preparation = add.prepare(device);
    loads.wait_for(1);
  }
  loads.release();
  preparation.wait();
  // The thread releases the kernel after that.
  for (int i = 0; i < 10'000 && Watch::get().count("module_unload") == 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(Watch::get().count("module_unload"), 1u);
}

// proves R6
TEST(Prepare, ADestroyedKernelIsNotCompiled) {
  const Device device = Watch::open();
  HeldLoads loads;
  const auto threads = static_cast<int>(std::max(std::thread::hardware_concurrency(), 1u));
  std::vector<Kernel<void(View<std::int32_t>, Value<std::int32_t>)>> kernels;
  for (int i = 0; i < threads; ++i) {
    kernels.push_back(add_kernel());
    (void)kernels.back().prepare(device);
  }
  loads.wait_for(threads);
  const Preparation never = add_kernel().prepare(device);
  loads.release();
  never.wait();
  EXPECT_EQ(Watch::get().count("module_load"), static_cast<std::uint64_t>(threads));
}

// proves R35
TEST(Prepare, OfAMovedFromProgramIsRefused) {
  Program program = add_kernel().program();
  const Program taken = std::move(program);
  error_of(ErrorCode::invalid, [&] { (void)program.prepare(open_real()); });
}

// proves R6
TEST(Prepare, AForkedChildDoesNotWaitForIt) {
  const Device device = Watch::open();  // without a stream
  const auto add = add_kernel();
  HeldLoads loads;
  const Preparation preparation = add.prepare(device);
  loads.wait_for(1);
  const std::string text = report_of_child(
      60,
      [&](const auto& report) {
        const std::function<void()> calls[] = {[&] { preparation.wait(); },
                                               [&] { (void)add.prepare(device); },
                                               [&] { (void)device.create_stream(); }};
        for (const std::function<void()>& call : calls) try {
            call();
            report("nothing was thrown\n");
          } catch (const Error& error) {
            report(error.code() == ErrorCode::system ? "refused\n" : error.what());
          }
        report(preparation.ready() ? "ready\n" : "not ready\n");
      },
      [&] { loads.release(); });
  EXPECT_EQ(text, "refused\nrefused\nrefused\nnot ready\n");
  preparation.wait();
}

// proves R6
TEST(Prepare, AForkedChildDestroysAKernelForWhichTheParentWaits) {
  const Device device = Watch::open();
  std::optional add(add_kernel());
  const Stream first = device.create_stream(), second = device.create_stream();
  const auto x = device.array<std::int32_t>(first, 100), y = device.array<std::int32_t>(second, 100);
  x.fill(first, 1);
  y.fill(second, 1);
  HeldLoads loads;
  std::thread compiles([&] { (*add)(first, x, 1); });
  loads.wait_for(1);
  std::thread waits([&] { (*add)(second, y, 1); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const std::string text = report_of_child(
      60,
      [&](const auto& report) {
        add.reset();
        report("destroyed");
      },
      [&] { loads.release(); });
  EXPECT_EQ(text, "destroyed");
  compiles.join();
  waits.join();
  EXPECT_THAT(x.to_host(first), Each(2));
  EXPECT_THAT(y.to_host(second), Each(2));
}

}  // namespace
}  // namespace weir::test
