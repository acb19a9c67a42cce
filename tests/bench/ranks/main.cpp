// SPDX-License-Identifier: Apache-2.0
// weir-bench-ranks: what ranks with a device each cost and gain. Prints a row for each case as it ends.
//
//   weir-bench-ranks [--driver cuda] [--ranks 2] [--twin LIBRARY] [--smaller N] [--cells N] [--steps N]
//                    [--halo N] [--samples N] [--seconds S] [--list] [CASE...]
//
// A CASE is the beginning of names; without one, all cases run. --smaller divides the extents of arrays, for
// trials on CPUs: WEIR_CPU_DEVICES=2 weir-bench-ranks --driver cpu --smaller 16 --cells 500 --steps 20
#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <string_view>
#include <weir/sdk/standard_output.hpp>

#include "ranks_bench.hpp"

namespace weir::bench::ranks {
namespace {

struct Words {
  Options options;
  bool list = false;
  std::vector<std::string> cases;
};

Words read(int argc, char** argv) {
  Words words;
  Options& o = words.options;
  o.program = (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "weir").string();
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--list") {
      words.list = true;
      continue;
    }
    if (word.rfind("--", 0) != 0) {
      words.cases.push_back(word);
      continue;
    }
    if (i + 1 == argc) throw std::runtime_error(word + " needs a value");
    const std::string value = argv[++i];
    if (word == "--driver")
      o.driver = value;
    else if (word == "--ranks")
      o.ranks = static_cast<std::uint32_t>(std::stoul(value));
    else if (word == "--twin")
      o.twin = value;
    else if (word == "--smaller")
      o.smaller = std::stol(value);
    else if (word == "--cells")
      o.cells = std::stol(value);
    else if (word == "--steps")
      o.steps = std::stol(value);
    else if (word == "--halo")
      o.halo = std::stol(value);
    else if (word == "--samples")
      o.samples = std::stoi(value);
    else if (word == "--seconds")
      o.sample_seconds = std::stod(value);
    else
      throw std::runtime_error("unknown option " + word + "; the options are listed in main.cpp");
  }
  if (o.ranks == 0 || o.smaller < 1 || o.samples < 1 || o.halo < 1)
    throw std::runtime_error("expected numbers from 1");
  return words;
}

bool is_wanted(const Words& words, const std::string& name) {
  if (words.cases.empty()) return true;
  for (const std::string& beginning : words.cases)
    if (name.rfind(beginning, 0) == 0) return true;
  return false;
}

void print(Row row) {
  std::replace(row.words.begin(), row.words.end(), '\n', ' ');
  std::printf("%-34s %12.3f %12.3f %-8s %9.3f  %-15s %-7s %s\n", row.name.c_str(), row.ours, row.against,
              row.units.c_str(), row.figure, row.bar.empty() ? "-" : row.bar.c_str(),
              row.wrong         ? "FAILED"
              : row.bar.empty() ? ""
              : row.met         ? "met"
                                : "MISSED",
              row.words.c_str());
  std::fflush(stdout);
}

int run(int argc, char** argv) {
  const Words words = read(argc, argv);
  const Options& options = words.options;
  std::vector<Case> cases;
  for (const auto& add : {all_reduce_cases, stencil_cases, reduction_cases, river_cases})
    for (Case& one : add(options)) cases.push_back(std::move(one));
  if (words.list) {
    for (const Case& one : cases) std::printf("%s\n", one.name.c_str());
    return 0;
  }
  std::printf("%-34s %12s %12s %-8s %9s  %-15s\n", "case", "ours", "against", "", "figure", "bar");
  bool wrong = false;
  for (const Case& one : cases) {
    if (!is_wanted(words, one.name)) continue;
    std::vector<Row> rows;
    try {
      rows = one.run(options);
    } catch (const std::exception& error) {
      Row row;
      row.name = one.name;
      row.words = error.what();
      row.wrong = true;
      rows.push_back(row);
    }
    for (const Row& row : rows) {
      print(row);
      wrong |= row.wrong;
    }
  }
  return wrong ? 1 : 0;
}

}  // namespace
}  // namespace weir::bench::ranks

int main(int argc, char** argv) try {
  weir::sdk::hold_standard_descriptors();
  return weir::sdk::check_standard_output("weir-bench-ranks", weir::bench::ranks::run(argc, argv));
} catch (const std::exception& error) {
  std::fprintf(stderr, "weir-bench-ranks: %s\n", error.what());
  return 2;
}
