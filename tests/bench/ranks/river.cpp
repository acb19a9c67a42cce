// SPDX-License-Identifier: Apache-2.0
// `weir demo river` on one terrain, over ranks and alone.
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "ranks_bench.hpp"
#include "temporary_folder.hpp"

namespace weir::bench::ranks {
namespace {

/// Hills and valleys of several sizes on a slope, in centimetres.
void write_terrain(const std::filesystem::path& path, std::int64_t cells) {
  std::ofstream file(path, std::ios::binary);
  file << "ncols " << cells << "\nnrows " << cells << "\nxllcorner 0\nyllcorner 0\ncellsize 30\n";
  std::string line;
  for (std::int64_t i = 0; i < cells; ++i) {
    line.clear();
    for (std::int64_t j = 0; j < cells; ++j) {
      const auto y = static_cast<double>(i), x = static_cast<double>(j);
      const double height = 900 + 0.05 * y + 120 * std::sin(x * 0.011) * std::cos(y * 0.007) +
                            25 * std::sin(x * 0.053 + y * 0.031) +
                            6 * std::sin(x * 0.21) * std::sin(y * 0.17);
      char digits[24];
      const auto end = std::to_chars(digits, digits + sizeof digits, std::lround(height * 100)).ptr;
      line.append(digits, end - 2).append(".").append(end - 2, 2);
      line += j + 1 < cells ? ' ' : '\n';
    }
    file << line;
  }
  if (!file.flush()) throw std::runtime_error(path.string() + " could not be written completely");
}

struct Run {
  double steps_per_second = 0;
  std::string state;  ///< hash of all fields
};

/// The end of a program's output.
std::string on_one_line(std::string text) {
  constexpr std::size_t most = 400;
  if (text.size() > most) text.erase(0, text.size() - most);
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

Run run(const Options& options, const std::filesystem::path& terrain, const std::filesystem::path& out,
        std::uint32_t ranks, const std::string& environment) {
  const std::string command = environment + " exec '" + options.program + "' demo river --terrain '" +
                              terrain.string() + "' --out '" + out.string() + "' --device " + options.driver +
                              " --keep-hollows --rain 500 --hours 0.1 --steps " +
                              std::to_string(options.steps) +
                              (ranks > 1 ? " --ranks " + std::to_string(ranks) : "") + " 2>&1";
  FILE* const pipe = popen(command.c_str(), "r");
  if (!pipe) throw std::runtime_error("cannot start " + options.program);
  Run found;
  std::string printed;
  char line[4096];
  while (std::fgets(line, sizeof line, pipe)) {
    char hash[32];
    if (std::sscanf(line, "state %16[0-9a-f]", hash) == 1) found.state = hash;
    std::sscanf(line, "speed %lf", &found.steps_per_second);
    printed += line;
  }
  const int status = pclose(pipe);
  if (status != 0 || found.state.empty() || found.steps_per_second == 0)
    throw std::runtime_error("weir demo river: " + on_one_line(printed));
  return found;
}

/// `environment_of(ranks)`: settings of a run.
std::vector<Row> river(const Options& options, const std::string& name,
                       const std::function<std::string(std::uint32_t)>& environment_of) {
  Row row;
  row.name = name;
  row.units = "steps/s";
  row.bar = "at least 1.85x";
  try {
    const test::TemporaryFolder temporary;
    const std::filesystem::path& folder = temporary.path();
    write_terrain(folder / "terrain.asc", options.cells);
    std::vector<double> ours, alone, figures;
    std::string of_ranks, of_one;
    for (int sample = 0; sample < 3; ++sample) {
      const Run together = run(options, folder / "terrain.asc", folder / "ranks", options.ranks,
                               environment_of(options.ranks)),
                one = run(options, folder / "terrain.asc", folder / "one", 1, environment_of(1));
      ours.push_back(together.steps_per_second);
      alone.push_back(one.steps_per_second);
      figures.push_back(together.steps_per_second / one.steps_per_second);
      of_ranks = together.state, of_one = one.state;
    }
    row.ours = median(ours);
    row.against = median(alone);
    row.figure = median(figures);
    row.met = row.figure >= 1.85;
    row.wrong = of_ranks != of_one;
    row.words = std::to_string(options.cells) + " x " + std::to_string(options.cells) + " cells; " +
                (row.wrong ? "BITS DIFFER: " + of_ranks + " and " + of_one : "bits of one device, " + of_one);
  } catch (const std::exception& error) {
    row.words = error.what();
    row.wrong = true;
  }
  return {row};
}

}  // namespace

std::vector<Case> river_cases(const Options& options) {
  const bool cpu = options.driver == "cpu";
  const char* const name = cpu ? "river_cpu" : "river";
  // The CPU driver gets a thread for each rank.
  const auto environment = [=](std::uint32_t ranks) {
    return cpu ? "WEIR_CPU_THREADS=" + std::to_string(ranks) : std::string();
  };
  return {{name, [=](const Options& o) { return river(o, name, environment); }}};
}

}  // namespace weir::bench::ranks
