// SPDX-License-Identifier: Apache-2.0
// Runs the conformance suite on every mutant and prints which tests find which fault.
//
//   weir-conformance-mutants --suite PROGRAM --mutant mutant.json spoilt.json --kills kills.json
//       runs each mutant's listed tests, which together must cover levels 6 to 8; "C1.98 --thorough" runs
//       with that option
//   ... --repeat 100 --only NAME
//       runs each listed test alone that often and prints how many runs failed: the rate at which it finds a
//       race
//   ... --all
//       runs all tests of the levels of each mutant's listed tests: 0 to 5, 6 to 8, or both
//   ... --all --write kills.json
//       writes a new list, with tests that find a mutant every time
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct Options {
  std::string suite, kills, write, level, only;
  std::vector<std::string> mutants;  ///< manifests
  bool all = false;
  unsigned repeat = 0;
  unsigned jobs = std::max(1u, std::thread::hardware_concurrency());
};

struct Mutant {
  std::string manifest = {}, name = {}, rule = {};
  std::vector<std::string> killers = {};  ///< numbers of requirements that failed
  bool ran = false;
  int runs = 0;             ///< until a test failed
  double milliseconds = 0;  ///< of the last run
};

std::vector<Mutant> listed_mutants(const fs::path& manifest) {
  std::ifstream file(manifest);
  const fs::path library = manifest.parent_path() / json::parse(file).at("library").get<std::string>();
  void* loaded = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!loaded) throw std::runtime_error(dlerror());
  using Tell = void (*)(const char*, const char*, void*);
  const auto list = reinterpret_cast<void (*)(Tell, void*)>(dlsym(loaded, "weir_mutant_list"));
  if (!list) throw std::runtime_error(library.string() + " lists no mutants");
  std::vector<Mutant> mutants;
  list([](const char* name, const char* rule,
          void* user) { static_cast<std::vector<Mutant>*>(user)->push_back({.name = name, .rule = rule}); },
       &mutants);
  for (Mutant& mutant : mutants) mutant.manifest = manifest.string();
  return mutants;
}

constexpr const char* lower_levels = "0-5";
constexpr const char* upper_levels = "6-8";

bool is_upper(const std::string& test) {
  return test.size() > 1 && test[1] >= '6';
}

/// The levels to run for a mutant that `tests` are known to find.
std::string levels_for(const Options& options, const std::vector<std::string>& tests) {
  if (!options.level.empty()) return options.level;
  if (std::ranges::none_of(tests, is_upper)) return lower_levels;
  return std::ranges::all_of(tests, is_upper) ? upper_levels : "0-8";
}

/// Runs the suite on one mutant and records the failed requirements.
void judge(const Options& options, Mutant& mutant, const std::string& level,
           const std::vector<std::string>& tests) {
  const fs::path report =
      fs::temp_directory_path() / ("weir-mutant-" + std::to_string(getpid()) + "-" + mutant.name);
  std::string filter;
  bool thorough = false;
  for (const std::string& test : tests) {
    const std::size_t end = test.find(' ');
    filter += (filter.empty() ? "" : ",") + test.substr(0, end);
    thorough |= end != std::string::npos;
  }
  std::vector<std::string> arguments = {options.suite, "--driver", mutant.manifest, "--level",
                                        level,         "--quiet",  "--patience",    "1",
                                        "--timeout",   "10",       "--report",      report.string()};
  if (!filter.empty()) arguments.insert(arguments.end(), {"--filter", filter});
  if (thorough) arguments.push_back("--thorough");
  std::vector<char*> raw;
  for (std::string& argument : arguments) raw.push_back(argument.data());
  raw.push_back(nullptr);
  const auto began = std::chrono::steady_clock::now();
  const std::string chosen = "WEIR_MUTANT=" + mutant.name;
  const pid_t child = fork();
  if (child == 0) {
    putenv(const_cast<char*>(chosen.c_str()));
    if (!std::freopen("/dev/null", "w", stdout) || !std::freopen("/dev/null", "w", stderr)) _exit(126);
    execv(options.suite.c_str(), raw.data());
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ++mutant.runs;
  mutant.milliseconds =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - began).count();
  std::ifstream file(report / "conformance.json");
  const json results = json::parse(file, nullptr, false);
  if (results.is_object()) {
    for (const json& entry : results["requirements"]) {
      mutant.ran = true;
      if (entry["outcome"] == "failed") mutant.killers.push_back(entry["id"]);
    }
  }
  std::error_code ignored;
  fs::remove_all(report, ignored);
}

/// Keeps at most two of the tests that found the mutant: those that find it alone, three times out of three.
/// A test that fails only because of the state left by an earlier test is dropped.
void keep_reliable(const Options& options, Mutant& mutant) {
  std::vector<std::string> reliable;
  for (const std::string& test : mutant.killers) {
    bool always = true;
    for (int i = 0; i < 3 && always; ++i) {
      Mutant again{.manifest = mutant.manifest, .name = mutant.name, .rule = mutant.rule};
      judge(options, again, "0-8", {test});
      always = !again.killers.empty();
    }
    if (always) reliable.push_back(test);
    if (reliable.size() == 2) break;
  }
  mutant.killers = reliable;
}

/// Runs each of a mutant's tests alone `options.repeat` times and returns a line for each that says how often
/// it failed. Clears `reliable` if fewer than 99 of 100 runs found the mutant.
std::string rates(const Options& options, const Mutant& mutant, const std::vector<std::string>& tests,
                  std::atomic<bool>& reliable) {
  std::string lines;
  for (const std::string& test : tests) {
    unsigned found = 0;
    for (unsigned i = 0; i < options.repeat; ++i) {
      Mutant again{.manifest = mutant.manifest, .name = mutant.name, .rule = mutant.rule};
      judge(options, again, "0-8", {test});
      found += !again.killers.empty();
    }
    lines += mutant.name + " " + test + " found it in " + std::to_string(found) + " of " +
             std::to_string(options.repeat) + " runs\n";
    if (100 * found < 99 * options.repeat) reliable = false;
  }
  return lines;
}

/// The requirements of the upper levels that no mutant has failed.
std::vector<std::string> unbroken(const Options& options, const std::vector<Mutant>& mutants) {
  const std::string command = "'" + options.suite + "' --list --level " + upper_levels;
  std::FILE* const listed = popen(command.c_str(), "r");
  if (!listed) throw std::runtime_error("cannot run " + command);
  std::vector<std::string> left;
  char line[512];
  while (std::fgets(line, sizeof line, listed))
    if (line[0] == 'C') left.emplace_back(line, std::string_view(line).find(' '));
  pclose(listed);
  if (left.empty()) throw std::runtime_error("nothing was listed by " + command);
  for (const Mutant& mutant : mutants)
    for (const std::string& killer : mutant.killers) std::erase(left, killer);
  return left;
}

void print(const Mutant& mutant) {
  std::string verdict = mutant.ran ? "SURVIVED" : "DID NOT RUN";
  if (!mutant.killers.empty()) verdict = "killed by";
  for (const std::string& killer : mutant.killers) verdict += " " + killer;
  const std::string run = mutant.runs > 1 ? ", run " + std::to_string(mutant.runs) : "";
  std::printf("%-40s %s (%.0f ms%s)\n", mutant.name.c_str(), verdict.c_str(), mutant.milliseconds,
              run.c_str());
}

int run(const Options& options) {
  std::vector<Mutant> mutants;
  for (const std::string& manifest : options.mutants)
    std::ranges::move(listed_mutants(manifest), std::back_inserter(mutants));
  if (!options.only.empty())
    std::erase_if(mutants, [&](const Mutant& m) { return m.name.find(options.only) == std::string::npos; });
  json known = json::object();
  if (!options.kills.empty()) {
    std::ifstream file(options.kills);
    known = json::parse(file);
  }
  std::vector<std::string> unlisted;
  std::atomic<std::size_t> next{0};
  std::atomic<bool> reliable{true};
  std::mutex mutex;
  auto work = [&] {
    for (std::size_t i; (i = next++) < mutants.size();) {
      Mutant& mutant = mutants[i];
      std::vector<std::string> tests;
      if (known.contains(mutant.name)) tests = known[mutant.name].get<std::vector<std::string>>();
      if (options.repeat) {
        const std::string lines = rates(options, mutant, tests, reliable);
        std::lock_guard lock(mutex);
        std::fputs(lines.c_str(), stdout);
        std::fflush(stdout);
        continue;
      }
      if (options.all) {
        judge(options, mutant, levels_for(options, tests), {});
      } else if (tests.empty()) {
        std::lock_guard lock(mutex);
        unlisted.push_back(mutant.name);
        continue;
      } else {
        // A fault that shows in some orders of threads only may need several runs; --repeat prints the rates.
        for (int run = 0; run < 3 && mutant.killers.empty(); ++run) judge(options, mutant, "0-8", tests);
      }
      if (!options.write.empty()) keep_reliable(options, mutant);
    }
  };
  std::vector<std::thread> workers;
  for (unsigned i = 0; i < options.jobs; ++i) workers.emplace_back(work);
  for (std::thread& worker : workers) worker.join();
  if (options.repeat) return reliable ? 0 : 1;

  for (const Mutant& mutant : mutants)
    if (!mutant.killers.empty()) print(mutant);
  std::size_t survivors = 0;
  json table = json::object();
  for (const Mutant& mutant : mutants) {
    table[mutant.name] = mutant.killers;
    if (!mutant.killers.empty()) continue;
    ++survivors;
    print(mutant);  // last, because a report of a failed test shows the end
  }
  for (const std::string& name : unlisted)
    std::printf("%-40s has no test in %s\n", name.c_str(), options.kills.c_str());
  std::printf("%zu mutants, %zu killed, %zu survived\n", mutants.size(), mutants.size() - survivors,
              survivors);
  for (const auto& [name, tests] : known.items())
    if (options.only.empty() &&
        std::ranges::none_of(mutants, [&](const Mutant& m) { return m.name == name; })) {
      std::printf("%s lists %s, which is no mutant\n", options.kills.c_str(), name.c_str());
      ++survivors;
    }
  if (options.only.empty() && options.level.empty())
    for (const std::string& test : unbroken(options, mutants)) {
      std::printf("%s fails on no mutant\n", test.c_str());
      ++survivors;
    }
  if (!options.write.empty()) std::ofstream(options.write) << table.dump(2) << "\n";
  return survivors == 0 && unlisted.empty() && !mutants.empty() ? 0 : 1;
}

}  // namespace

int main(int argument_count, char** arguments) {
  Options options;
  CLI::App app("Runs the conformance suite on every mutant.");
  app.add_option("--suite", options.suite, "weir-conformance")->required();
  app.add_option("--mutant", options.mutants, "the manifests of drivers with mutants")->required();
  app.add_option("--repeat", options.repeat, "how often to run each mutant's tests, to print their rates");
  app.add_option("--kills", options.kills, "JSON: mutant -> tests that find it");
  app.add_option("--write", options.write, "where to write such a file");
  app.add_option("--level", options.level, "levels to run, for all mutants");
  app.add_option("--only", options.only, "mutants whose name contains this");
  app.add_option("--jobs", options.jobs, "how many at once");
  app.add_flag("--all", options.all, "run all tests on each, not only those that are known to find it");
  CLI11_PARSE(app, argument_count, arguments);
  try {
    return run(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "weir-conformance-mutants: %s\n", error.what());
    return 2;
  }
}
