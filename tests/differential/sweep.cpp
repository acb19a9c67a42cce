// SPDX-License-Identifier: Apache-2.0
// Many random kernels on one device or more, compared with the interpreter of the IR, and their coverage:
// random_kernels --help.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>
#include <weir/error.hpp>

#include "aimed_kernel.hpp"
#include "comparison.hpp"
#include "ir/printer.hpp"
#include "tested_device.hpp"

namespace weir::test {
namespace {

constexpr const char* usage = R"(random_kernels [OPTION]...
Runs random kernels on devices and in an interpreter, and prints what differs. Ends with 1 when something does.

  --device NAME,...   devices; kernels are dealt to them in turn (WEIR_DEVICE, else cpu)
  --cpu               runs each kernel on the CPU driver, too
  --kernels N         how many (2000)
  --first N           the first seed (0); a kernel depends on its seed, --cpu and whether devices are GPUs
  --seconds N         begins no kernel after that time
  --jobs N            processes at a time (1)
  --complete          goes on with seeds that aim at missing pairs; ends with 1 when some stay missing
  --coverage FILE     writes the table of coverage, in Markdown
  --print             prints the kernels instead of running them
)";

struct Options {
  std::vector<std::string> devices;
  bool cpu = false, complete = false, print = false;
  std::uint64_t kernels = 2000, first = 0, jobs = 1;
  double seconds = 1e9;
  std::string coverage;
};

Options options_of(int count, char** words) {
  Options options;
  const auto split = [&](const std::string& names) {
    std::stringstream stream(names);
    for (std::string name; std::getline(stream, name, ',');) options.devices.push_back(name);
  };
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    const auto value = [&]() -> std::string {
      if (i + 1 < count) return words[++i];
      throw Error(ErrorCode::invalid, word + " needs a value");
    };
    if (word == "--device")
      split(value());
    else if (word == "--cpu")
      options.cpu = true;
    else if (word == "--complete")
      options.complete = true;
    else if (word == "--print")
      options.print = true;
    else if (word == "--kernels")
      options.kernels = std::stoull(value());
    else if (word == "--first")
      options.first = std::stoull(value());
    else if (word == "--jobs")
      options.jobs = std::max<std::uint64_t>(1, std::stoull(value()));
    else if (word == "--seconds")
      options.seconds = std::stod(value());
    else if (word == "--coverage")
      options.coverage = value();
    else
      throw Error(ErrorCode::invalid, "'" + word + "' is no option:\n" + usage);
  }
  if (options.devices.empty()) split(tested_device());
  return options;
}

/// The pairs that a run covers: those of the CPU, of GPUs or of both.
struct Pairs {
  bool cpu, gpu;
  std::vector<Aim> all = aims(cpu, gpu);
  std::vector<Aim> in_turn = often();

 private:
  std::vector<Aim> often() const {
    std::vector<Aim> result = all;
    std::erase_if(result, [](const Aim& aim) { return is_rare_row(aim.row); });
    return result;
  }
};

/// Every 16th kernel has no aim and comes from the general generator.
bool is_general(std::uint64_t seed) {
  return seed % 16 == 15;
}
/// Every 200th kernel for GPUs has a long body.
bool is_long(std::uint64_t seed, const Pairs& pairs) {
  return pairs.gpu && seed % 200 == 120;
}
Aim aim_of(std::uint64_t seed, const Pairs& pairs) {
  if (is_long(seed, pairs)) return {Row::gpu_long_body, kind_of(ir::Op::load)};
  return pairs.in_turn[(seed - seed / 16) % pairs.in_turn.size()];
}

RunnableKernel kernel_of(std::uint64_t seed, const Pairs& pairs) {
  Choices choices(seed);
  if (is_general(seed)) return runnable_kernel(choices);
  return aimed_kernel(aim_of(seed, pairs), pairs.in_turn, choices);
}

/// Results that a process passes to its parent in shared memory.
struct Progress {
  std::uint64_t seed = 0;  ///< the current seed
  std::uint64_t ran = 0, left_out = 0, differing = 0;
};

std::string describe(const Aim& aim) {
  return row_name(aim.row) + " with " + kind_name(aim.kind);
}

/// The kernel, with the layout of its arrays in comments.
std::string text_of(const RunnableKernel& runnable) {
  std::ostringstream text;
  for (std::uint32_t p = 0; p < runnable.extents.size(); ++p) {
    if (runnable.extents[p].empty()) continue;
    text << "// @" << runnable.kernel.parameters[p].name << ": extents";
    for (const std::int64_t extent : runnable.extents[p]) text << ' ' << extent;
    if (std::find(runnable.shifted.begin(), runnable.shifted.end(), p) != runnable.shifted.end())
      text << ", begins one element or row into its memory";
    if (p == runnable.shadow)
      text << ", in the memory of @" << runnable.kernel.parameters[runnable.shadowed].name;
    text << "\n";
  }
  text << ir::print(runnable.kernel);
  return text.str();
}

class Worker {
 public:
  Worker(const Options& options, const Pairs& pairs, Progress& progress, std::uint64_t job)
      : pairs_(pairs), progress_(progress) {
    const Device cpu = open("cpu");
    std::vector<Device> devices;
    if (options.cpu) devices.push_back(cpu);
    // One device per process, so that no process opens unneeded devices.
    devices.push_back(open(options.devices[job % options.devices.size()]));
    comparer_.emplace(std::move(devices), cpu);
  }

  void run(std::uint64_t seed) {
    progress_.seed = seed;
    ::alarm(180);  // a kernel that hangs ends the process, which is reported
    const RunnableKernel runnable = kernel_of(seed, pairs_);
    const Comparison found = comparer_->compare(runnable, seed, &coverage);
    ++(found.ran ? progress_.ran : progress_.left_out);
    if (!found.difference.empty()) report(seed, runnable, found.difference);
    lost = lost || found.difference.find(" was lost") != std::string::npos;
    ::alarm(0);
  }

  Coverage coverage;
  bool lost = false;  ///< a device was, so that further kernels need another process

 private:
  void report(std::uint64_t seed, const RunnableKernel& runnable, const std::string& words) {
    ++progress_.differing;
    std::cout << "seed " + std::to_string(seed) + ": " + words + "\n" << std::flush;
    std::ostringstream text;
    if (reports_++ < 3 && words.find(" was lost") == std::string::npos) {
      const RunnableKernel small = reduced(runnable, [&](const RunnableKernel& candidate) {
        ::alarm(180);
        return !comparer_->compare(candidate, seed, nullptr).difference.empty();
      });
      text << "seed " << seed << " reduced: " << comparer_->compare(small, seed, nullptr).difference << "\n";
      text << text_of(small);
    }
    std::cout << text.str() << std::flush;
  }

  const Pairs& pairs_;
  Progress& progress_;
  std::optional<Comparer> comparer_;
  int reports_ = 0;
};

using Clock = std::chrono::steady_clock;

/// Runs seeds in the given number of processes. If a process ends early, another continues after its seed.
class Sweep {
 public:
  Sweep(const Options& options, const Pairs& pairs) : options_(options), pairs_(pairs) {
    void* memory = ::mmap(nullptr, options.jobs * sizeof(Progress), PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw Error(ErrorCode::system, "no memory for the processes to share");
    progress_ = static_cast<Progress*>(memory);
  }

  void run(const std::vector<std::uint64_t>& seeds) {
    std::vector<std::vector<std::uint64_t>> shares(options_.jobs);
    for (std::size_t i = 0; i < seeds.size(); ++i) shares[i % options_.jobs].push_back(seeds[i]);
    std::vector<Child> children;
    for (std::uint64_t job = 0; job < options_.jobs; ++job)
      if (!shares[job].empty()) children.push_back(start(job, std::move(shares[job])));
    for (std::size_t i = 0; i < children.size(); ++i) {  // the loop body appends to it
      int status = 0;
      ::waitpid(children[i].process, &status, 0);
      std::ifstream file(children[i].file);
      coverage.read(file);
      std::remove(children[i].file.c_str());
      if (WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
      const std::uint64_t at = progress_[children[i].job].seed;
      std::cout << "seed " << at << ": the process ended "
                << (WIFSIGNALED(status) ? "by signal " + std::to_string(WTERMSIG(status))
                                        : "with status " + std::to_string(WEXITSTATUS(status)))
                << std::endl;
      ++ended;
      auto rest = std::find(children[i].seeds.begin(), children[i].seeds.end(), at);
      if (rest == children[i].seeds.end() || ended > 20) continue;
      children.push_back(start(children[i].job, {rest + 1, children[i].seeds.end()}));
    }
  }

  Progress total() const {
    Progress sum;
    for (std::uint64_t job = 0; job < options_.jobs; ++job) {
      sum.ran += progress_[job].ran;
      sum.left_out += progress_[job].left_out;
      sum.differing += progress_[job].differing;
    }
    sum.differing += ended;
    return sum;
  }
  bool late() const {
    return std::chrono::duration<double>(Clock::now() - began_).count() > options_.seconds;
  }
  double seconds() const { return std::chrono::duration<double>(Clock::now() - began_).count(); }

  Coverage coverage;
  std::uint64_t ended = 0;

 private:
  struct Child {
    ::pid_t process;
    std::uint64_t job;
    std::vector<std::uint64_t> seeds;
    std::string file;
  };

  Child start(std::uint64_t job, std::vector<std::uint64_t> seeds) {
    std::string name = (std::filesystem::temp_directory_path() / "random-kernels-XXXXXX").string();
    const int file = ::mkstemp(name.data());
    if (file < 0) throw Error(ErrorCode::system, name + ": no file for a process's coverage can be made");
    ::close(file);
    std::cout << std::flush;
    const ::pid_t process = ::fork();
    if (process != 0) return {process, job, std::move(seeds), name};
    int status = 0;
    try {
      Worker worker(options_, pairs_, progress_[job], job);
      for (const std::uint64_t seed : seeds) {
        if (late()) break;
        worker.run(seed);
        if (worker.lost) break;
      }
      if (worker.lost) status = 3;
      std::ofstream out(name);
      worker.coverage.write(out);
    } catch (const std::exception& error) {
      std::cout << error.what() << std::endl;
      status = 2;
    }
    std::cout << std::flush;
    std::exit(status);
  }

  const Options& options_;
  const Pairs& pairs_;
  Progress* progress_;
  Clock::time_point began_ = Clock::now();
};

/// `each` seeds from `beyond` on for each missing pair, and many for reductions, whose kind and type are
/// random.
std::vector<std::uint64_t> seeds_for(const std::vector<Aim>& missing, bool reductions, const Pairs& pairs,
                                     std::uint64_t beyond, std::uint64_t each) {
  std::vector<std::uint64_t> seeds;
  const auto add = [&](std::uint64_t count, const auto& fits) {
    for (std::uint64_t seed = beyond, found = 0; found < count; ++seed) {
      if (is_general(seed) || !fits(aim_of(seed, pairs))) continue;
      seeds.push_back(seed);
      ++found;
    }
  };
  const auto is_rare = [](const Aim& aim) { return is_rare_row(aim.row); };
  if (std::any_of(missing.begin(), missing.end(), is_rare)) add(2, is_rare);
  for (const Aim& aim : missing)
    if (!is_rare(aim)) add(each, [&](const Aim& of) { return of.row == aim.row && of.kind == aim.kind; });
  if (reductions) add(16 * each, [](const Aim& aim) { return is_reduction(aim.row); });
  return seeds;
}

int sweep(const Options& options) {
  const bool gpu = std::any_of(options.devices.begin(), options.devices.end(),
                               [](const std::string& name) { return !name.starts_with("cpu"); });
  const Pairs pairs{.cpu = options.cpu || !gpu, .gpu = gpu};
  if (options.print) {
    for (std::uint64_t seed = options.first; seed < options.first + options.kernels; ++seed)
      std::cout << "// seed " << seed << "\n" << text_of(kernel_of(seed, pairs));
    return 0;
  }
  Sweep sweep(options, pairs);
  std::vector<std::uint64_t> seeds(options.kernels);
  for (std::uint64_t i = 0; i < options.kernels; ++i) seeds[i] = options.first + i;
  sweep.run(seeds);
  std::vector<Aim> missing = sweep.coverage.missing(pairs.cpu, pairs.gpu);
  std::uint64_t beyond = options.first + options.kernels;
  std::vector<std::string> reductions = sweep.coverage.missing_reductions(pairs.cpu, pairs.gpu);
  // Most pairs are met by the first kernel that aims at them.
  for (std::uint64_t each = 2; each <= 32 && options.complete && !sweep.late(); each *= 2) {
    if (missing.empty() && reductions.empty()) break;
    sweep.run(seeds_for(missing, !reductions.empty(), pairs, beyond, each));
    beyond += each * pairs.all.size() * 2;
    missing = sweep.coverage.missing(pairs.cpu, pairs.gpu);
    reductions = sweep.coverage.missing_reductions(pairs.cpu, pairs.gpu);
  }
  if (options.complete) {
    for (const Aim& aim : missing) std::cout << "not met: " << describe(aim) << "\n";
    for (const std::string& reduction : reductions) std::cout << "not met: " << reduction << "\n";
  }
  if (!options.coverage.empty()) {
    std::ofstream out(options.coverage);
    sweep.coverage.print(out, pairs.cpu, pairs.gpu);
  }
  const Progress total = sweep.total();
  std::printf("random kernels: %llu ran, %llu left out, %llu differ; %zu of %zu pairs met; %.0f s\n",
              static_cast<unsigned long long>(total.ran), static_cast<unsigned long long>(total.left_out),
              static_cast<unsigned long long>(total.differing), pairs.all.size() - missing.size(),
              pairs.all.size(), sweep.seconds());
  const bool incomplete = options.complete && (!missing.empty() || !reductions.empty());
  return total.differing > 0 || total.ran == 0 || incomplete ? 1 : 0;
}

}  // namespace
}  // namespace weir::test

int main(int count, char** words) {
  if (count > 1 && std::strcmp(words[1], "--help") == 0) {
    std::fputs(weir::test::usage, stdout);
    return 0;
  }
  try {
    return weir::test::sweep(weir::test::options_of(count, words));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "random_kernels: %s\n", error.what());
    return 2;
  }
}
