// SPDX-License-Identifier: Apache-2.0
// weir-bench: what Weir costs, beside a peer in the same process. --json FILE writes all figures; --gpu runs the cases
// for a GPU instead of those for the CPU.
#include <cstring>
#include <string>
#include <vector>

#include "gpu/figures.hpp"
#include "paired.hpp"

int main(int argc, char** argv) {
  // --json is Google Benchmark's own output under a name that one can remember.
  std::vector<std::string> words{argv[0]};
  bool gpu = false;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--gpu") == 0) {
      gpu = true;
    } else if (std::strcmp(argv[i], "--json") != 0) {
      words.emplace_back(argv[i]);
    } else if (i + 1 < argc && argv[i + 1][0] != '-') {
      words.push_back("--benchmark_out=" + std::string(argv[++i]));
      words.emplace_back("--benchmark_out_format=json");
    } else {
      words.emplace_back("--benchmark_format=json");
    }
  }
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  int count = static_cast<int>(arguments.size());

  benchmark::Initialize(&count, arguments.data());
  if (benchmark::ReportUnrecognizedArguments(count, arguments.data())) return 1;
  if (gpu) {
    weir::bench::gpu::add_all_cases();
  } else {
    weir::bench::add_compute_cases();
    weir::bench::add_overhead_cases();
    weir::bench::add_startup_cases();
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  if (gpu) weir::bench::gpu::print_table();
}
