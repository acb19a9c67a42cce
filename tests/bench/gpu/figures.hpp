// SPDX-License-Identifier: Apache-2.0
// Cases of the GPU part: two implementations of a task in one process, run in turn and compared with a
// target.
#pragma once

#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>

namespace weir::bench::gpu {

inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Thrown by a case that cannot run on this machine, with the reason.
struct Skipped : std::runtime_error {
  explicit Skipped(const std::string& reason) : std::runtime_error("skipped: " + reason) {}
};

/// The two sides of a case, ready to run. Each call takes one sample and returns seconds per unit of work.
struct Sides {
  std::function<double()> ours;
  std::function<double()> peer;  ///< empty if there is none
  /// Compares the results of both sides; throws std::runtime_error if they differ. May be empty.
  std::function<void()> check = {};
};

/// Evaluation of a case: `figure` of one sample of each side, and the criterion.
struct Bar {
  std::string words;
  double (*figure)(double ours, double peer);
  bool (*met)(double figure);
};

struct Case {
  std::string name;
  std::string peer;  ///< description of the peer
  Bar bar;
  std::function<Sides()> prepare;  ///< runs with the case, so that a missing resource fails only this case
  int samples = 11;
};

/// Registers a case with Google Benchmark. Counters, medians over the samples: ours_us, peer_us, figure, and
/// met.
void add(Case one);

/// Prints a row for every case that ran.
void print_table();

/// "0.98", "0.999": with a third digit where it is significant.
inline std::string in_words(int thousandths) {
  std::string words = std::to_string(thousandths / 1000.0).substr(0, 5);
  if (words.back() == '0') words.pop_back();
  return words;
}

// Ratios for which smaller is better, and for which larger is better.
template <int Thousandths>
Bar at_most() {
  return {"at most " + in_words(Thousandths) + "x", [](double a, double b) { return a / b; },
          [](double figure) { return figure <= Thousandths / 1000.0; }};
}
template <int Thousandths>
Bar at_least() {
  return {"at least " + in_words(Thousandths) + "x", [](double a, double b) { return b / a; },
          [](double figure) { return figure >= Thousandths / 1000.0; }};
}

void add_launch_cases();       // one task, chains
void add_region_cases();       // fork and join, over streams and as graphs
void add_graph_cases();        // graphs of many tasks
void add_chain_cases();        // merged loops, short chains, independent loops
void add_repetition_cases();   // loops until a condition of the device holds
void add_memory_cases();       // the pool
void add_concurrency_cases();  // gain of concurrent blocks, and absence of a loss
void add_streaming_cases();    // kernels that move memory, against nvcc's
void add_kernel_cases();       // other kernels, against nvcc's
void add_algorithm_cases();    // sort, scan, ... against CUB
void add_process_cases();      // stream leases and first results, in separate processes
inline void add_all_cases() {
  add_launch_cases();
  add_region_cases();
  add_graph_cases();
  add_chain_cases();
  add_repetition_cases();
  add_memory_cases();
  add_concurrency_cases();
  add_process_cases();
  add_streaming_cases();
  add_kernel_cases();
  add_algorithm_cases();
}

}  // namespace weir::bench::gpu
