// SPDX-License-Identifier: Apache-2.0
// KernelOptions::deterministic refuses atomics whose effect depends on the order of iterations.
#include "support.hpp"

namespace weir::test {
namespace {

/// The message of the refusal, without the file.
template <class F>
std::string order_refusal(F body) {
  const std::string text = error_of([&] { Kernel("k", body, {.deterministic = true}); });
  const std::size_t at = text.find("determinism_test.cpp:");
  return at == text.npos ? text : text.substr(at);
}

std::string own_line(int line) {
  return "determinism_test.cpp:" + std::to_string(line) + ":";
}

TEST(Determinism, RefusesSumsAndProductsOfFloats) {
  const std::string text = order_refusal([](View<float> x, View<half> h, View<float> least) {
    range_for(x.size(), [&](Index i) {
      atomic_add(x[0], 1);
      atomic_mul(h[i % 2], 2);
      atomic_min(least[1], 3);
    });
  });
  EXPECT_THAT(text, testing::StartsWith(own_line(__LINE__ - 5)));
  EXPECT_THAT(text, testing::HasSubstr("the kernel is deterministic, but 'atomic.add' of f32 on @p0"));
  EXPECT_THAT(text, testing::HasSubstr("use a reduction, sort_by_key and reduce_by_key"));
  EXPECT_THAT(text, testing::HasSubstr(own_line(__LINE__ - 7)));
  EXPECT_THAT(text, testing::HasSubstr("'atomic.mul' of f16 on @p1"));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("'atomic.min' of")));
}

TEST(Determinism, RefusesExchangesOldValuesAndMixedOperations) {
  EXPECT_THAT(order_refusal([](View<int> x) {
                range_for(x.size(), [&](Index i) { atomic_exchange(x[0], cast<int>(i)); });
              }),
              testing::HasSubstr("'atomic.exchange' of i32 on @p0"));
  EXPECT_THAT(order_refusal([](View<int> x, View<int> tickets) {
                range_for(x.size(), [&](Index i) { tickets[i] = atomic_add(x[0], 1); });
              }),
              testing::HasSubstr("the old value of 'atomic.add' of i32 on @p0"));
  const std::string mixed = order_refusal([](View<int> x) {
    range_for(x.size(), [&](Index i) {
      atomic_add(x[0], 1);
      atomic_sub(x[0], 2);
      atomic_max(x[0], cast<int>(i));
    });
  });
  EXPECT_THAT(mixed, testing::StartsWith(own_line(__LINE__ - 3)));
  EXPECT_THAT(mixed, testing::HasSubstr("and 'atomic.add' at "));
}

TEST(Determinism, RefusesPlainAccessesBesideUpdates) {
  const std::string loaded = order_refusal([](View<int> x, View<int> y) {
    range_for(y.size(), [&](Index i) {
      atomic_add(x[0], 1);
      if_(i > 2, [&] { y[i] = x[0]; });
    });
  });
  EXPECT_THAT(loaded, testing::StartsWith(own_line(__LINE__ - 3)));
  EXPECT_THAT(loaded, testing::HasSubstr("'load' on @p0"));
  EXPECT_THAT(loaded, testing::HasSubstr("and 'atomic.add' at "));
  EXPECT_THAT(order_refusal([](View<int> x) {
                stream_parallel([&] {
                  range_for(9, [&](Index i) {
                    x[i] = 3;
                    atomic_max(x[5], 7);
                  });
                });
              }),
              testing::HasSubstr("'store' on @p0"));
}

// Neither block is refused alone.
TEST(Determinism, RefusesUpdatesOfBlocksThatDoNotCommute) {
  EXPECT_THAT(
      order_refusal([](View<int> x) {
        stream_parallel(conflicts_are_meant, [&] { range_for(8, [&](Index) { atomic_add(x[0], 1); }); });
        stream_parallel(conflicts_are_meant, [&] { range_for(8, [&](Index) { atomic_or(x[0], 2); }); });
      }),
      testing::HasSubstr("'atomic.or' of i32 on @p0"));
}

TEST(Determinism, RefusesFloatsInMemoryOfAGroupAndInBlocks) {
  EXPECT_THAT(order_refusal([](View<float> x) {
                group_for(groups(2), threads<32>, [&](Index g, Index t) {
                  Shared<float, 1> sum;
                  if_(t == 0, [&] { sum[0] = 0.0f; });
                  barrier();
                  atomic_add(sum[0], cast<float>(t));
                  barrier();
                  if_(t == 0, [&] { x[g] = sum[0]; });
                });
              }),
              testing::HasSubstr("'shared_atomic.add' of f32 on shared memory"));
  EXPECT_THAT(order_refusal([](View<float> x) {
                stream_parallel([&] { range_for(x.size(), [&](Index i) { x[i] = 1.0f; }); });
                stream_parallel([&] { range_for(8, [&](Index) { atomic_add(x[0], 1); }); });
              }),
              testing::HasSubstr("'atomic.add' of f32"));
}

TEST(Determinism, AllowsWhatCommutesAndWhatOneThreadDoes) {
  const Kernel kernel{"k",
                      [](View<int> count, View<float> least, View<float> serial, View<half> halves) {
                        range_for(1000, [&](Index i) {
                          atomic_add(count[0], 1);
                          atomic_sub(count[1], 2);
                          atomic_min(least[0], cast<float>(i) - 3.0f);
                          atomic_max(halves[0], cast<float>(i));
                        });
                        range_for(10, [&](Index) { atomic_max(count[0], 7); });
                        serial[0] = atomic_add(serial[1], 0.1f);
                      },
                      {.deterministic = true}};
  auto count = upload(std::vector<int>(2));
  auto least = upload(std::vector<float>(1)), serial = upload(std::vector<float>(2, 1.0f));
  auto halves = upload(std::vector<half>(2));  // an atomic operation of 16 bits reads its whole word
  kernel(count, least, serial, halves);
  EXPECT_THAT(count.to_host(), testing::ElementsAre(1000, -2000));
  EXPECT_THAT(least.to_host(), testing::ElementsAre(-3.0f));
  EXPECT_THAT(serial.to_host(), testing::ElementsAre(1.0f, 1.1f));
  EXPECT_THAT(kernel.explain(tested().default_stream()), testing::HasSubstr("k (deterministic), launches"));
}

}  // namespace
}  // namespace weir::test
