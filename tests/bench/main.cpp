// SPDX-License-Identifier: Apache-2.0
// weir-bench: measures Weir's costs in comparison with a peer in the same process. --json FILE writes all
// figures; --gpu runs the cases for a GPU on CUDA instead of those for the CPU, --vulkan those for a Vulkan
// device.
#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>
#include <weir/sdk/standard_output.hpp>

#include "gpu/figures.hpp"
#include "paired.hpp"
#ifdef WEIR_BENCH_VULKAN
#include "vulkan/cases.hpp"
#endif

// Google Benchmark does not check its output for write errors.
static bool is_complete(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  const std::string figures = text.str();
  const std::size_t end = figures.find_last_not_of(" \n");
  return in && end != figures.npos && figures[end] == '}';
}

static int run(int argc, char** argv) {
  // --json is a shorter name for Google Benchmark's output option.
  std::vector<std::string> words{argv[0]};
  bool gpu = false, vulkan = false;
  std::string figures;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--gpu") == 0) {
      gpu = true;
    } else if (std::strcmp(argv[i], "--vulkan") == 0) {
      vulkan = true;
    } else if (std::strcmp(argv[i], "--json") != 0) {
      words.emplace_back(argv[i]);
    } else if (i + 1 < argc && argv[i + 1][0] != '-') {
      figures = argv[++i];
      words.push_back("--benchmark_out=" + figures);
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
  } else if (vulkan) {
#ifdef WEIR_BENCH_VULKAN
    weir::bench::vulkan::add_all_cases();
#else
    std::cerr
        << "weir-bench: built without the Vulkan driver, which needs libvulkan-dev, libvulkan-volk-dev and "
           "glslang-tools\n";
    return 1;
#endif
  } else {
    weir::bench::add_compute_cases();
    weir::bench::add_chain_cases();
    weir::bench::add_algorithm_cases();
    weir::bench::add_language_cases();
    weir::bench::add_whole_cases();
    weir::bench::add_overhead_cases();
    weir::bench::add_startup_cases();
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  if (gpu || vulkan) weir::bench::gpu::print_table();
  if (figures.empty() || is_complete(figures)) return 0;
  std::cerr << "weir-bench: " << figures
            << " could not be written completely; check the folder and the space\n";
  return 1;
}

int main(int argc, char** argv) {
  weir::sdk::hold_standard_descriptors();
  return weir::sdk::check_standard_output("weir-bench", run(argc, argv));
}
