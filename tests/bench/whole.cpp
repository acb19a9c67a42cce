// SPDX-License-Identifier: Apache-2.0
// Whole algorithms of short loops, by processor time: a solver, a histogram.
#include <memory>
#include <vector>
#include <weir/kernel.hpp>
#include <weir/weir.hpp>

#include "paired.hpp"
#include "peers.hpp"

namespace weir::bench {
namespace {

struct Processor {
  Device device = open("cpu");
  Stream stream = device.create_stream();
};
Processor& processor() {
  static Processor one;
  return one;
}

/// The 5-point matrix of a square grid.
struct Grid {
  std::vector<std::int32_t> start{0}, column;
  std::vector<double> value;

  explicit Grid(std::int32_t side) {
    const auto add = [&](std::int32_t i, std::int32_t j, double v) {
      if (i < 0 || j < 0 || i >= side || j >= side) return;
      column.push_back(i * side + j);
      value.push_back(v);
    };
    for (std::int32_t i = 0; i < side; ++i)
      for (std::int32_t j = 0; j < side; ++j) {
        add(i - 1, j, -1), add(i, j - 1, -1), add(i, j, 4), add(i, j + 1, -1), add(i + 1, j, -1);
        start.push_back(static_cast<std::int32_t>(column.size()));
      }
  }
};

void add_conjugate_gradients() {
  constexpr std::int32_t side = 200;
  constexpr std::size_t rows = std::size_t{side} * side;
  constexpr int iterations = 50;
  static Kernel begin{"begin", [](View<const double> r, View<double, 0> rr) {
                        rr() = reduce_sum(r.size(), [&](Index i) { return r[i] * r[i]; });
                      }};
  static Kernel step{
      "step", [](View<const std::int32_t> start, View<const std::int32_t> column, View<const double> value,
                 View<double> x, View<double> r, View<double> p, View<double> q, View<double, 0> rr) {
        const Value pq = reduce_sum(x.size(), [&](Index i) {
          Var<double> sum;
          for_(start[i], start[i + 1], [&](Index k) { sum += value[k] * p[column[k]]; });
          q[i] = sum;
          return p[i] * sum;
        });
        const Value before = rr();
        const Value alpha = before / pq;
        const Value next = reduce_sum(x.size(), [&](Index i) {
          x[i] += alpha * p[i];
          const Value left = r[i] - alpha * q[i];
          r[i] = left;
          return left * left;
        });
        rr() = next;
        const Value beta = next / before;
        range_for(x.size(), [&](Index i) { p[i] = r[i] + beta * p[i]; });
        return next;
      }};
  const auto grid = std::make_shared<Grid>(side);
  struct Ours {
    Array<std::int32_t> start, column;
    Array<double> value, right, x, r, p, q;
    Array<double, 0> rr;
  };
  const Stream& s = processor().stream;
  const Device& d = processor().device;
  const std::vector<double> ones(rows, 1.0);
  const auto ours = std::make_shared<Ours>(
      Ours{d.array_of<std::int32_t>(s, grid->start), d.array_of<std::int32_t>(s, grid->column),
           d.array_of<double>(s, grid->value), d.array_of<double>(s, ones), d.array<double>(s, rows),
           d.array<double>(s, rows), d.array<double>(s, rows), d.array<double>(s, rows), d.array<double>(s)});
  struct Peer {
    std::vector<double> x, r, p, q;
  };
  const auto peer = std::make_shared<Peer>();
  for (auto* v : {&peer->x, &peer->r, &peer->p, &peer->q}) v->resize(rows);
  for (const bool waits : {false, true})
    add({.name = waits ? "conjugate_gradients_40000_rows_waits" : "conjugate_gradients_40000_rows",
         .bar = "at most 1.1 of the processor time of g++ -O3 on one core",
         .samples = 21,
         .units = iterations,
         .ours =
             [=] {
               const Stream& on = processor().stream;
               ours->x.fill_zero(on);
               ours->r.copy_from(on, ours->right);
               ours->p.copy_from(on, ours->right);
               begin(on, ours->r, ours->rr);
               for (int i = 0; i < iterations; ++i) {
                 const Future<double> left = step(on, ours->start, ours->column, ours->value, ours->x,
                                                  ours->r, ours->p, ours->q, ours->rr);
                 if (waits) benchmark::DoNotOptimize(left.get());
               }
               on.synchronize();
             },
         .peer =
             [=] {
               peer->x.assign(rows, 0.0);
               peer->r.assign(rows, 1.0);
               peer->p.assign(rows, 1.0);
               const peer::Rows a{rows, grid->start.data(), grid->column.data(), grid->value.data()};
               peer::conjugate_gradients(a, peer->x.data(), peer->r.data(), peer->p.data(), peer->q.data(),
                                         iterations);
             },
         .processor_time = true});
}

void add_histogram() {
  constexpr std::size_t n = std::size_t{4} << 20;
  static Kernel histogram{"histogram", [](View<std::uint32_t> bins, View<const std::uint8_t> values) {
                            range_for(values.size(), [&](Index i) { atomic_add(bins[values[i]], 1u); });
                          }};
  std::vector<std::uint8_t> host(n);
  std::uint32_t state = 1;
  for (std::uint8_t& value : host)
    value = static_cast<std::uint8_t>((state = state * 1664525u + 1013904223u) >> 24);
  const Stream& s = processor().stream;
  const auto values =
      std::make_shared<Array<std::uint8_t>>(processor().device.array_of<std::uint8_t>(s, host));
  const auto bins = std::make_shared<Array<std::uint32_t>>(processor().device.array<std::uint32_t>(s, 256));
  const auto shared = std::make_shared<std::vector<std::uint8_t>>(std::move(host));
  const auto theirs = std::make_shared<std::vector<std::uint32_t>>(256);
  for (const bool all_threads : {true, false})
    add({.name = all_threads ? "histogram_256_bins_processor_time" : "histogram_256_bins",
         .bar = "at most 1.1 of bins per thread, g++ -O3 -fopenmp",
         .samples = 31,
         .units = double(n),
         .ours =
             [=] {
               histogram(processor().stream, *bins, *values);
               processor().stream.synchronize();
             },
         .peer = [=] { peer::histogram(theirs->data(), shared->data(), n); },
         .processor_time = all_threads});
}

}  // namespace

void add_whole_cases() {
  add_conjugate_gradients();
  add_histogram();
}

}  // namespace weir::bench
