// SPDX-License-Identifier: Apache-2.0
// Algorithms on arrays, against CUB. Both sides copy the keys before they sort. CUB's scratch memory is
// allocated once, ours comes from the pool each time.
#include <weir/algorithms.hpp>

#include "against_twin.hpp"

namespace weir::bench::gpu {
namespace {

using Word = std::uint32_t;

Array<Word> zeros(std::int64_t n) {
  auto array = device().array<Word>(n);
  array.fill(Word{0});
  return array;
}

Array<Word> random_words(std::int64_t n) {
  static const Kernel draw{
      "random_words", [](View<Word> x) { range_for(x.size(), [&](Index i) { x[i] = random<Word>(); }); }};
  auto array = device().array<Word>(n);
  draw(device().default_stream(), array);
  return array;
}

void add_sort(const std::string& name, std::int64_t n) {
  add({.name = "sort_u32_" + name,
       .peer = "CUB",
       .bar = at_least<900>(),
       .prepare =
           [=] {
             struct State {
               Array<Word> keys, ours, theirs, spare;
             };
             auto state = std::make_shared<State>(random_words(n), zeros(n), zeros(n), zeros(n));
             return sides(
                 3,
                 [=](const Stream& s) {
                   state->ours.copy_from(s, state->keys);
                   sort(s, state->ours);
                 },
                 [=, result = state->theirs.device_address(), spare = state->spare.device_address(),
                  keys = state->keys.device_address()](int v, CUstream s) {
                   return twin().sort(v, result, spare, keys, n, s);
                 },
                 [=] { expect_equal<Word>(state->ours, state->theirs, 0, "sort"); });
           },
       .samples = 11});
}

void add_sort_by_key(const std::string& name, std::int64_t n) {
  add({.name = "sort_by_key_u32_" + name,
       .peer = "CUB",
       .bar = at_least<900>(),
       .prepare =
           [=] {
             struct State {
               Array<Word> keys, values, ours, our_values, theirs, spare, their_values, spare_values;
             };
             auto state = std::make_shared<State>(random_words(n), random_words(n), zeros(n), zeros(n),
                                                  zeros(n), zeros(n), zeros(n), zeros(n));
             return sides(
                 3,
                 [=](const Stream& s) {
                   state->ours.copy_from(s, state->keys);
                   state->our_values.copy_from(s, state->values);
                   sort_by_key(s, state->ours, state->our_values);
                 },
                 [=](int v, CUstream s) {
                   return twin().sort_by_key(
                       v, state->theirs.device_address(), state->spare.device_address(),
                       state->their_values.device_address(), state->spare_values.device_address(),
                       state->keys.device_address(), state->values.device_address(), n, s);
                 },
                 [=] { expect_equal<Word>(state->our_values, state->their_values, 0, "sort_by_key"); });
           },
       .samples = 11});
}

void add_scan() {
  add({.name = "exclusive_scan_u32_256Mi",
       .peer = "CUB",
       .bar = at_least<950>(),
       .prepare =
           [] {
             constexpr std::int64_t n = std::int64_t{1} << 28;
             struct State {
               Array<Word> x, ours, theirs;
             };
             auto state = std::make_shared<State>(random_words(n), zeros(n), zeros(n));
             return sides(
                 5, [=](const Stream& s) { exclusive_scan(s, state->x, state->ours); },
                 [=](int v, CUstream s) {
                   return twin().exclusive_scan(v, state->theirs.device_address(), state->x.device_address(),
                                                n, s);
                 },
                 [=] { expect_equal<Word>(state->ours, state->theirs, 0, "exclusive_scan"); });
           },
       .samples = 11});
}

void add_compact(unsigned percent) {
  add({.name = "compact_256Mi_" + std::to_string(percent) + "_percent",
       .peer = "CUB",
       .bar = at_least<950>(),
       .prepare =
           [=] {
             static const Kernel choose{"choose", [](View<bool> keep, Value<Word> limit) {
                                          range_for(keep.size(),
                                                    [&](Index i) { keep[i] = random<Word>() < limit; });
                                        }};
             constexpr std::int64_t n = std::int64_t{1} << 28;
             struct State {
               Array<Word> x, ours, theirs;
               Array<bool> keep = device().array<bool>(n);
               Array<std::int64_t> our_count = device().array<std::int64_t>(1),
                                   their_count = device().array<std::int64_t>(1);
             };
             auto state = std::make_shared<State>(random_words(n), zeros(n), zeros(n));
             choose(device().default_stream(), state->keep,
                    static_cast<Word>(percent / 100.0 * 4294967296.0));
             return sides(
                 5,
                 [=](const Stream& s) { compact(s, state->x, state->keep, state->ours, state->our_count); },
                 [=](int v, CUstream s) {
                   return twin().compact(v, state->theirs.device_address(),
                                         state->their_count.device_address(), state->x.device_address(),
                                         state->keep.device_address(), n, s);
                 },
                 [=] {
                   expect_equal<std::int64_t>(state->our_count, state->their_count, 0,
                                              "the count of compact");
                   expect_equal<Word>(state->ours, state->theirs, 0, "compact");
                 });
           },
       .samples = 11});
}

void add_histogram(const std::string& name, int bins) {
  add({.name = "histogram_of_range_" + name,
       .peer = "CUB",
       .bar = at_least<900>(),
       .prepare =
           [=] {
             constexpr std::int64_t n = std::int64_t{1} << 28;
             constexpr double high = 4294967296.0;
             struct State {
               Array<Word> x;
               Array<std::int64_t> ours, theirs;
             };
             auto state = std::make_shared<State>(random_words(n), device().array<std::int64_t>(bins),
                                                  device().array<std::int64_t>(bins));
             return sides(
                 5, [=](const Stream& s) { histogram(s, state->x, 0.0, high, state->ours); },
                 [=](int v, CUstream s) {
                   return twin().histogram_of_range(v, state->theirs.device_address(),
                                                    state->x.device_address(), bins, 0.0, high, n, s);
                 },
                 [=] { expect_equal<std::int64_t>(state->ours, state->theirs, 0, "histogram"); });
           },
       .samples = 11});
}

void add_reduce_by_key() {
  add({.name = "reduce_by_key_256Mi",
       .peer = "CUB",
       .bar = at_least<900>(),
       .prepare =
           [] {
             // Runs of 7 to 9 equal keys, and shorter ones where they meet.
             static const Kernel runs{"runs", [](View<Word> keys) {
                                        range_for(keys.size(), [&](Index i) {
                                          keys[i] =
                                              cast<Word>(i + cast<std::int64_t>(random<Word>() & 1u)) >> 3u;
                                        });
                                      }};
             constexpr std::int64_t n = std::int64_t{1} << 28;
             struct State {
               Array<Word> keys, values, our_keys, our_values, their_keys, their_values;
               Array<std::int64_t> our_count = device().array<std::int64_t>(1),
                                   their_count = device().array<std::int64_t>(1);
             };
             auto state =
                 std::make_shared<State>(zeros(n), random_words(n), zeros(n), zeros(n), zeros(n), zeros(n));
             runs(device().default_stream(), state->keys);
             return sides(
                 5,
                 [=](const Stream& s) {
                   reduce_by_key(s, state->keys, state->values, state->our_keys, state->our_values,
                                 state->our_count);
                 },
                 [=](int v, CUstream s) {
                   return twin().reduce_by_key(
                       v, state->their_keys.device_address(), state->their_values.device_address(),
                       state->their_count.device_address(), state->keys.device_address(),
                       state->values.device_address(), n, s);
                 },
                 [=] {
                   expect_equal<std::int64_t>(state->our_count, state->their_count, 0,
                                              "the count of reduce_by_key");
                   expect_equal<Word>(state->our_values, state->their_values, 0, "reduce_by_key");
                 });
           },
       .samples = 11});
}

}  // namespace

void add_algorithm_cases() {
  add_sort("1Mi", std::int64_t{1} << 20);
  add_sort("16Mi", std::int64_t{1} << 24);
  add_sort("256Mi", std::int64_t{1} << 28);
  add_sort_by_key("1Mi", std::int64_t{1} << 20);
  add_sort_by_key("16Mi", std::int64_t{1} << 24);
  add_sort_by_key("256Mi", std::int64_t{1} << 28);
  add_scan();
  for (const unsigned percent : {10u, 50u, 90u}) add_compact(percent);
  add_histogram("256_bins", 256);
  add_histogram("64Ki_bins", 1 << 16);
  add_reduce_by_key();
}

}  // namespace weir::bench::gpu
