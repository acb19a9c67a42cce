// SPDX-License-Identifier: Apache-2.0
// The executors for work of several tasks: every test with this parameter passes with each of them.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>
#include <weir/graph.hpp>
#include <weir/kernel.hpp>
#include <weir/profile.hpp>
#include <weir/weir.hpp>

#include "support/expect_error.hpp"
#include "support/kernels.hpp"
#include "support/watched_driver.hpp"

namespace weir::test {

struct Executor {
  const char* name;
  LaunchMode mode;
  bool graphs;  ///< the device has graphs
};

inline void PrintTo(const Executor& executor, std::ostream* out) {
  *out << executor.name;
}

inline constexpr Executor over_streams{"streams", LaunchMode::streams, true};
inline constexpr Executor as_graph{"graph", LaunchMode::graph, true};
inline constexpr Executor without_graphs{"without_graphs", LaunchMode::graph, false};

inline Device device_for(const Executor& executor) {
  return Watch::open(executor.graphs ? 0 : std::uint64_t{WEIR_CAP_GRAPHS});
}

inline std::string name_of(const testing::TestParamInfo<Executor>& info) {
  return info.param.name;
}

/// One device of the driver under test, watched, and the executor for its work.
class EachExecutor : public testing::TestWithParam<Executor> {
 protected:
  Device device = device_for(GetParam());
  Stream stream = device.create_stream();
  LaunchOptions options{.mode = GetParam().mode};

  static std::uint64_t calls(const char* slot) { return Watch::get().count(slot); }
  static std::uint64_t host_waits() {
    return calls("stream_synchronize") + calls("event_synchronize") + calls("stream_query") +
           calls("event_query");
  }
  template <class T>
  Array<T> filled(std::int64_t count, T value) const {
    Array<T> array = device.array<T>(stream, count);
    array.fill(stream, value);
    return array;
  }
};

#define WEIR_EACH_EXECUTOR(suite) \
  INSTANTIATE_TEST_SUITE_P(Executors, suite, testing::Values(over_streams, as_graph, without_graphs), name_of)
#define WEIR_WITH_AND_WITHOUT_GRAPHS(suite) \
  INSTANTIATE_TEST_SUITE_P(Executors, suite, testing::Values(as_graph, without_graphs), name_of)

/// z becomes its index; then two concurrent blocks; then z is their sum: 2 i + 3 (i + 1).
inline const auto& two_blocks() {
  static const Kernel kernel{"two blocks",
                             [](View<std::int64_t> x, View<std::int64_t> y, View<std::int64_t> z) {
                               range_for(z.size(), [&](Index i) { z[i] = i; });
                               stream_parallel([&] {
                                 range_for(x.size(), [&](Index i) { x[i] = z[i]; });
                                 range_for(x.size(), [&](Index i) { x[i] = x[i] * 2; });
                               });
                               stream_parallel([&] {
                                 range_for(y.size(), [&](Index i) { y[i] = z[i] + 1; });
                                 range_for(y.size(), [&](Index i) { y[i] = y[i] * 3; });
                               });
                               range_for(z.size(), [&](Index i) { z[i] = x[i] + y[i]; });
                             },
                             {.fusion = false, .parameter_names = {"x", "y", "z"}}};
  return kernel;
}

/// Two blocks that add `by` to x and twice that to y.
inline const auto& add_both() {
  static const Kernel kernel{
      "add both",
      [](View<std::int32_t> x, View<std::int32_t> y, Value<std::int32_t> a, Value<std::int32_t> b) {
        stream_parallel([&] { range_for(x.size(), [&](Index i) { x[i] = x[i] + a; }); });
        stream_parallel([&] { range_for(y.size(), [&](Index i) { y[i] = y[i] + b; }); });
      },
      {.parameter_names = {"x", "y", "a", "b"}, .phases = false}};
  return kernel;
}

/// Each element times the sum of x: the sum is stored in the launch's scratch memory.
inline const auto& times_sum() {
  static const Kernel kernel{"times sum", [](View<std::int64_t> x, View<std::int64_t> result) {
                               const Value<std::int64_t> sum =
                                   reduce_sum(x.size(), [&](Index i) { return x[i]; });
                               range_for(result.size(), [&](Index i) { result[i] = x[i] * sum; });
                             }};
  return kernel;
}

}  // namespace weir::test
