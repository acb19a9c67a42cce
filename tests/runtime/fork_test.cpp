// SPDX-License-Identifier: Apache-2.0
// Errors in a forked child whose parent had started the runtime.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <weir/kernel.hpp>
#include <weir/on_print.hpp>

#include "support/forked_beside.hpp"
#include "support/kernels.hpp"

namespace weir::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(Fork, TheChildGetsAnErrorInsteadOfHanging) {
  const Device device = open_real();
  const Kernels kernels(device);
  const Stream stream = device.create_stream();
  const auto x = device.array<std::int32_t>(stream, 1000);
  TaskList region(device);
  region.add(kernels.nothing, {1, 1}, {}, {0, 0});
  region.add(kernels.nothing, {1, 1}, {}, {0, 1});
  x.fill(stream, 1);
  region.launch(stream);

  const std::string text = report_of_child(60, [&](const auto& report) {
    const std::function<void()> calls[] = {
        [&] { kernels.add(stream, x, 1); },    [&] { region.launch(stream); }, [&] { x.fill(stream, 2); },
        [&] { (void)x.to_host(stream); },      [&] { stream.synchronize(); },  [&] { device.synchronize(); },
        [&] { (void)device.create_stream(1); }};
    for (const std::function<void()>& call : calls) try {
        call();
        report("nothing was thrown\n");
      } catch (const Error& error) {
        if (error.code() == ErrorCode::system) report("refused\n");
        report(error.what());
      }
  });
  EXPECT_THAT(text, AllOf(HasSubstr("forked"), HasSubstr("start the child with exec"),
                          Not(HasSubstr("nothing was"))));
  std::size_t refused = 0;
  for (std::size_t at = 0; (at = text.find("refused\n", at)) != std::string::npos; ++at) ++refused;
  EXPECT_EQ(refused, 7u) << text;
  EXPECT_EQ(x.to_host(stream)[999], 1);  // the parent continues
}

TEST(Fork, TheChildDoesNotWaitForLocksOfAnotherThread) {
  const Device device = Watch::open();
  const Kernels kernels(device);
  Stream stream = device.create_stream();
  Event event = device.create_event();
  auto x = device.array<std::int32_t>(stream, 1000);
  event.record(stream);
  const auto fill = [&] { x.fill(stream, 1); };
  const std::string errors = errors_in_child(
      "fill", fill,
      {fill, [&] { kernels.add(stream, x, 1); }, [&] { (void)x.to_host(stream); },
       [&] { event.record(stream); }, [&] { stream.synchronize(); }, [&] { event.synchronize(); },
       [&] { (void)device.array<std::int32_t>(1000); }, [&] { (void)device.create_stream(); },
       [&] { (void)device.create_event(); }, [&] { (void)device.default_stream(); },
       [&] { (void)device.trim_memory(); }, [&] { device.synchronize(); }},
      [&] {
        x = {};
        event = {};
        stream = {};
      });
  std::string refused;
  for (int i = 0; i < 12; ++i) refused += "refused\n";
  EXPECT_EQ(errors, refused);
  EXPECT_EQ(x.to_host(stream)[999], 1);  // the parent continues
}

#ifndef WEIR_SANITIZED  // their heaps do not survive a fork beside threads that allocate
TEST(Fork, TheChildFindsTheTablesOfTheProcessFree) {
  const Device device = open_real();
  const Stream stream = device.create_stream();
  const auto x = device.array<float>(stream, 1);
  x.fill(stream, 1.0f);
  const auto checked = [](const char* name) {
    return Kernel{
        name, [](View<float> x) { range_for(x.size(), [&](Index i) { assert_(x[i] > 0.0f, "positive"); }); }};
  };
  std::optional mine(checked("mine"));
  (*mine)(stream, x);
  stream.synchronize();
  const Kernel talks{"talks", [](View<float> x) { print("{}", x[0]); }};
  on_print([](std::string_view) {});
  std::atomic<bool> ends{false};
  const auto forever = [&](const std::function<void()>& act) {
    return std::jthread([&ends, act] {
      while (!ends) act();
    });
  };
  {
    const std::jthread acting[] = {forever([] { (void)open_real(); }),
                                   forever([&] { (void)checked("built"); }), forever([&] {
                                     for (int i = 0; i < 50; ++i) talks(stream, x);
                                     stream.synchronize();
                                   })};
    for (int forks = 0; forks < 150 && !HasFailure(); ++forks) {
      const std::string text = report_of_child(20, [&](const auto& report) {
        try {
          (void)open_real();
          (void)device.create_stream();
        } catch (const Error&) {
        }
        (void)checked("of the child");
        mine.reset();
        on_print({});
        report("done");
      });
      EXPECT_EQ(text, "done") << "fork " << forks;
    }
    ends = true;
  }
  on_print({});
}
#endif

}  // namespace
}  // namespace weir::test
