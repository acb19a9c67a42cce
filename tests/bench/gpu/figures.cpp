// SPDX-License-Identifier: Apache-2.0
#include "figures.hpp"

#include <benchmark/benchmark.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string_view>
#include <vector>

#include "../paired.hpp"
#include "cuda_api.hpp"

namespace weir::bench::gpu {
namespace {

struct Row {
  std::string name, peer, bar, words;
  double ours = 0, against = 0, figure = 0;
  bool met = false;
};
std::vector<Row>& rows() {
  static std::vector<Row> all;
  return all;
}

/// If WEIR_BENCH_RANGE names this side ("ours" or "peer"), the sample becomes a profiler range. The profiler
/// then records concurrent kernels as such.
double sample(const std::function<double()>& side, std::string_view name) {
  static const char* const ranged = std::getenv("WEIR_BENCH_RANGE");
  if (!ranged || name != ranged) return side();
  check(cuda().ProfilerStart(), "cuProfilerStart");
  const double seconds = side();
  check(cuda().ProfilerStop(), "cuProfilerStop");
  return seconds;
}

void run(benchmark::State& state, const Case& one) {
  Row row{one.name, one.peer, one.bar.words, "", 0, 0, 0, false};
  try {
    const Sides sides = one.prepare();
    const auto ours_now = [&] { return sample(sides.ours, "ours"); };
    const auto peer_now = [&] { return sides.peer ? sample(sides.peer, "peer") : std::nan(""); };
    sides.ours();
    if (sides.peer) sides.peer();
    if (sides.check) sides.check();
    std::vector<double> ours, against, figures;
    for (auto _ : state) {
      // The sides alternate in order, so that warm clocks and caches favour neither.
      double a = 0, b = 0;
      if (ours.size() % 2 == 0)
        a = ours_now(), b = peer_now();
      else
        b = peer_now(), a = ours_now();
      state.SetIterationTime(a);
      ours.push_back(a);
      against.push_back(b);
      figures.push_back(one.bar.figure(a, b));
    }
    if (sides.check) sides.check();
    row.ours = median(ours);
    row.against = sides.peer ? median(against) : std::nan("");
    row.figure = median(figures);
    row.met = one.bar.met(row.figure);
    state.counters["ours_us"] = row.ours * 1e6;
    if (sides.peer) state.counters["peer_us"] = row.against * 1e6;
    state.counters["figure"] = row.figure;
    state.counters["met"] = row.met ? 1 : 0;
    state.SetLabel(one.peer + ": " + one.bar.words);
  } catch (const std::exception& error) {
    row.words = error.what();
    state.SkipWithError(error.what());
  }
  rows().push_back(row);
}

}  // namespace

void add(Case one) {
  const std::string name = one.name;
  const int samples = one.samples;
  benchmark::RegisterBenchmark(name.c_str(),
                               [one = std::move(one)](benchmark::State& state) { run(state, one); })
      ->UseManualTime()
      ->Iterations(samples)
      ->Unit(benchmark::kMicrosecond);
}

void print_table() {
  std::printf("\n%-44s %-26s %12s %12s %9s  %-22s\n", "case", "peer", "ours us", "peer us", "figure", "bar");
  for (const Row& row : rows()) {
    if (!row.words.empty())
      std::printf("%-44s %-26s %s\n", row.name.c_str(), row.peer.c_str(), row.words.c_str());
    else
      std::printf("%-44s %-26s %12.3f %12.3f %9.3f  %-22s %s\n", row.name.c_str(), row.peer.c_str(),
                  row.ours * 1e6, row.against * 1e6, row.figure, row.bar.c_str(), row.met ? "met" : "MISSED");
  }
}

}  // namespace weir::bench::gpu
