// SPDX-License-Identifier: Apache-2.0
// Measures two implementations in one process, in turn, so that changes of the machine's speed affect both.
#pragma once

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace weir::bench {

/// Duration of `work` in seconds.
template <class Work>
double seconds_of(Work&& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Processor time of `work` in seconds, of all threads of this process.
template <class Work>
double processor_seconds_of(Work&& work) {
  const auto now = [] {
    std::timespec time{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
  };
  const double start = now();
  work();
  return now() - start;
}

inline double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// One case: `ours` compared with `peer`, each called `repeats` times per sample.
struct Pair {
  std::string name;
  std::string bar;  ///< the project's target, in words
  int repeats = 1;  ///< calls per sample, for calls too short to time singly
  int samples = 15;
  double units = 1;  ///< bytes, elements or launches per call; 1 if time is the figure
  std::function<void()> ours;
  std::function<void()> peer;     ///< empty if there is none
  bool higher_is_better = false;  ///< ratio = peer time / our time instead of the inverse
  bool processor_time = false;    ///< times are of the processor, for all threads, instead of the clock's
  std::function<double()> peak_mib =
      {};  ///< resident memory of the measured program; empty if not the figure
};

/// Registers a case with Google Benchmark. Counters, all medians over samples: ours_us, peer_us (per call),
/// ratio, rate_per_s if units are given, and peak_mib if it is the figure.
inline void add(Pair pair) {
  const std::string name = pair.name;
  const int samples = pair.samples;
  auto run = [pair = std::move(pair)](benchmark::State& state) {
    std::vector<double> ours, peer, ratio;
    auto sample = [&](const std::function<void()>& call) {
      // Idle threads of the other side's pool spin for a while before they sleep, and would occupy a core of
      // this side.
      if (pair.peer) std::this_thread::sleep_for(std::chrono::milliseconds(10));
      call();  // wakes this side's threads and fills the caches
      const auto calls = [&] {
        for (int i = 0; i < pair.repeats; ++i) call();
      };
      return (pair.processor_time ? processor_seconds_of(calls) : seconds_of(calls)) / pair.repeats;
    };
    bool ours_first = true;
    for (auto _ : state) {
      double a = 0, b = 0;
      if (ours_first) a = sample(pair.ours);
      if (pair.peer) b = sample(pair.peer);
      if (!ours_first) a = sample(pair.ours);
      ours_first = !ours_first;
      state.SetIterationTime(a);
      ours.push_back(a);
      peer.push_back(b);
      if (b > 0) ratio.push_back(pair.higher_is_better ? b / a : a / b);
    }
    state.counters["ours_us"] = median(ours) * 1e6;
    if (pair.peer) {
      state.counters["peer_us"] = median(peer) * 1e6;
      state.counters["ratio"] = median(ratio);
    }
    if (pair.units != 1) state.counters["rate_per_s"] = pair.units / median(ours);
    if (pair.peak_mib) state.counters["peak_mib"] = pair.peak_mib();
    state.SetLabel(pair.bar);
  };
  benchmark::RegisterBenchmark(name.c_str(), run)
      ->UseManualTime()
      ->Iterations(samples)
      ->Unit(benchmark::kMicrosecond);
}

void add_compute_cases();    // triad, stencil, math maps, n-body
void add_chain_cases();      // chains of small loops, merged and not
void add_algorithm_cases();  // sort, scan
void add_language_cases();   // prints, structs, groups
void add_whole_cases();      // conjugate gradients, histogram: processor time
void add_overhead_cases();   // launch, enqueue, regions, pool
void add_startup_cases();    // process start to first result, and to the list of drivers

}  // namespace weir::bench
