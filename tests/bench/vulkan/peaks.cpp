// SPDX-License-Identifier: Apache-2.0
// Peaks of arithmetic and bandwidth: kernels of the kernel language against the same ones written in GLSL, of
// which the fastest variant counts.
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>
#include <weir/kernel.hpp>

#include "by_hand.hpp"
#include "cases.hpp"
#include "device.hpp"

namespace weir::bench::vulkan {
namespace {

constexpr int chains = 8, repeats = 5;

/// A way to write a kernel by hand.
struct Variant {
  Words code;
  std::uint32_t block = 0;  ///< threads
  std::uint32_t per_thread = 1;
};

/// The two sides of a peak: `launch(stream)`, and `threads` elements by the fastest of `variants`.
Sides peak_sides(std::function<void(const Stream&)> launch, const std::vector<Variant>& variants,
                 const Arguments& arguments, std::uint32_t elements, std::function<void()> compare) {
  ByHand& by_hand = ByHand::get();
  const auto run = [&by_hand](VkCommandBuffer commands) {
    return per_run(
               1, [&] { by_hand.submit(commands); }, [&] { by_hand.wait(); }) /
           repeats;
  };
  VkCommandBuffer best = VK_NULL_HANDLE;
  double least = std::numeric_limits<double>::infinity();
  for (const Variant& one : variants) {
    const VkCommandBuffer commands = by_hand.record(by_hand.pipeline(one.code, one.block), arguments,
                                                    elements / one.per_thread / one.block, repeats);
    run(commands);
    if (const double seconds = run(commands); seconds < least) least = seconds, best = commands;
  }
  auto stream = std::make_shared<Stream>(device().create_stream());
  device().synchronize();
  return {.ours =
              [=] {
                return per_run(
                    repeats, [&] { launch(*stream); }, [&] { stream->synchronize(); });
              },
          .peer = [=] { return run(best); },
          .check = std::move(compare)};
}

template <class T>
void expect_results(const Array<T>& ours, const Buffer& theirs, double tolerance, const char* what) {
  device().synchronize();
  const std::vector<T> a = ours.to_host(device().default_stream());
  const auto* b = static_cast<const T*>(theirs.host);
  for (std::size_t i = 0; i < a.size(); ++i)
    gpu::expect_close(static_cast<double>(a[i]), static_cast<double>(b[i]), tolerance, what);
}

struct Size {
  std::uint32_t elements, rounds;
};
Size arithmetic_size() {
  return is_cpu() ? Size{1u << 12, 64} : Size{1u << 20, 512};
}

/// As in shaders/products.comp.
template <class T>
const auto& products() {
  static const Kernel kernel{"products",
                             [](View<T> to, Value<T> a, Value<T> b, Value<std::uint32_t> rounds) {
                               range_for(to.size(), [&](Index i) {
                                 Var<T> x[chains];
                                 for (int k = 0; k < chains; ++k) x[k] = cast<T>(i % 1024 + k);
                                 for_(0, cast<std::int64_t>(rounds), [&](Index) {
                                   for (int step = 0; step < 16; ++step)
                                     for (auto& each : x) each = each * a + b;
                                 });
                                 to[i] = ((x[0] + x[1]) + (x[2] + x[3])) + ((x[4] + x[5]) + (x[6] + x[7]));
                               });
                             },
                             KernelOptions{.fast_math = true}};
  return kernel;
}

template <class T>
Sides product_sides(Words code, double tolerance) {
  const auto [elements, rounds] = arithmetic_size();
  auto ours = std::make_shared<Array<T>>(device().array<T>(elements));
  const Buffer theirs = ByHand::get().mapped_buffer(elements * sizeof(T));
  // Results neither grow nor lose what they began with.
  const T a = T(1) - T(1) / T(65536), b = T(0.5);
  return peak_sides([=, count = rounds](const Stream& s) { products<T>()(s, *ours, a, b, count); },
                    {{code, 64}, {code, 128}, {code, 256}}, Arguments(theirs.address, a, b, rounds), elements,
                    [=] { expect_results(*ours, theirs, tolerance, "products"); });
}

/// As in shaders/integers.comp.
const auto& integers_in_weir() {
  using Word = std::uint32_t;
  static const Kernel kernel{"integers", [](View<Word> to, Value<Word> rounds) {
                               range_for(to.size(), [&](Index i) {
                                 Var<Word> x[chains], y[chains];
                                 for (Word k = 0; k < chains; ++k) {
                                   x[k] = cast<Word>(i) + k;
                                   y[k] = cast<Word>(i) ^ k;
                                 }
                                 for_(0, cast<std::int64_t>(rounds), [&](Index) {
                                   for (int step = 0; step < 8; ++step)
                                     for (int k = 0; k < chains; ++k) {
                                       x[k] = y[k] * x[k] + y[k];
                                       y[k] = x[k] * y[k] + x[k];
                                     }
                                 });
                                 Var<Word> sum = 0u;
                                 for (int k = 0; k < chains; ++k) sum += x[k] + y[k];
                                 to[i] = sum;
                               });
                             }};
  return kernel;
}

Sides integer_sides() {
  const auto [elements, rounds] = arithmetic_size();
  auto ours = std::make_shared<Array<std::uint32_t>>(device().array<std::uint32_t>(elements));
  const Buffer theirs = ByHand::get().mapped_buffer(elements * sizeof(std::uint32_t));
  return peak_sides([=, count = rounds](const Stream& s) { integers_in_weir()(s, *ours, count); },
                    {{integers, 64}, {integers, 128}, {integers, 256}}, Arguments(theirs.address, rounds),
                    elements, [=] { expect_results(*ours, theirs, 0, "integers"); });
}

Sides copy_sides() {
  static const Kernel copy{"copy", [](View<float> to, View<const float> from) {
                             range_for(to.size(), [&](Index i) { to[i] = from[i]; });
                           }};
  static const Kernel count{
      "count", [](View<float> x) { range_for(x.size(), [&](Index i) { x[i] = cast<float>(i % 8191); }); }};
  const std::uint32_t n = is_cpu() ? 1u << 23 : 1u << 28;
  struct State {
    Array<float> to, from;
  };
  auto state = std::make_shared<State>(device().array<float>(n), device().array<float>(n));
  count(device().default_stream(), state->from);
  ByHand& by_hand = ByHand::get();
  const Buffer to = by_hand.device_buffer(std::uint64_t{n} * sizeof(float)),
               from = by_hand.device_buffer(std::uint64_t{n} * sizeof(float));
  // The peer's numbers are undefined; a copy takes the same time with any.
  return peak_sides([=](const Stream& s) { copy(s, state->to, state->from); },
                    {{copy_by_words, 256}, {copy_by_fours, 128, 4}, {copy_by_fours, 256, 4}},
                    Arguments(to.address, from.address), n,
                    [=] { gpu::expect_equal(state->to, state->from, 0, "copy"); });
}

void add_peak(const char* name, Sides (*prepare)()) {
  add({.name = name, .peer = "GLSL", .bar = at_least<950>(), .prepare = prepare, .samples = 21});
}

}  // namespace

void add_peak_cases() {
  add_peak("peak_f32", [] { return product_sides<float>(products_f32, 1e-4); });
  add_peak("peak_f64", [] {
    if (!ByHand::get().has_float64()) throw Skipped(device().name() + " has no f64");
    return product_sides<double>(products_f64, 1e-10);
  });
  add_peak("peak_i32", integer_sides);
  add_peak("peak_bandwidth", copy_sides);
}

}  // namespace weir::bench::vulkan
