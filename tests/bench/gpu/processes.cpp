// SPDX-License-Identifier: Apache-2.0
// Measurements in separate processes: the lease of a stream, and the time from the start of a process to the
// first result of a kernel, and from the device being ready.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <utility>

#include "device.hpp"
#include "figures.hpp"
#include "temporary_folder.hpp"

extern char** environ;

namespace weir::bench::gpu {
namespace {

std::string installed(const char* program) {
  return (std::filesystem::read_symlink("/proc/self/exe").parent_path() / program).string();
}

/// Seconds of a run of a program: all of it, and from the device being ready, which the program prints.
struct Times {
  double whole = 0, since_ready = 0;
};

Times run(const char* name, const std::string& argument = "") {
  const std::string program = installed(name);
  char* const arguments[] = {const_cast<char*>(program.c_str()),
                             argument.empty() ? nullptr : const_cast<char*>(argument.c_str()), nullptr};
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  pid_t child = 0;
  const double begin = now();
  const int refused = posix_spawn(&child, program.c_str(), &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (refused != 0) {
    close(ends[0]);
    throw std::runtime_error("cannot start " + program);
  }
  int status = 0;
  const bool ended = waitpid(child, &status, 0) == child && status == 0;
  Times times{.whole = now() - begin};
  char text[64] = "";
  const ssize_t length = read(ends[0], text, sizeof text - 1);
  close(ends[0]);
  if (!ended || length <= 0 || std::sscanf(text, "%lf", &times.since_ready) != 1)
    throw std::runtime_error(program + " failed");
  return times;
}

/// Runs weir-bench-first-result with caches of its own, empty or filled by earlier runs: of Weir's code, and
/// CUDA's, which keeps the machine code of PTX.
Times first_result(bool cold, const std::string& argument = "") {
  static const test::TemporaryFolder kept;
  const test::TemporaryFolder empty;
  const std::filesystem::path& folder = (cold ? empty : kept).path();
  setenv("CUDA_CACHE_DISABLE", "0", 1);
  setenv("CUDA_CACHE_PATH", (folder / "cuda").c_str(), 1);
  setenv("WEIR_DEVICE", device().name().c_str(), 1);
  setenv("WEIR_CACHE", (folder / "weir").c_str(), 1);
  const Times times = run("weir-bench-first-result", argument);
  for (const char* name : {"CUDA_CACHE_PATH", "WEIR_CACHE"}) unsetenv(name);
  return times;
}

template <int Milliseconds>
Bar at_most_milliseconds() {
  return {"at most " + std::to_string(Milliseconds) + " ms", [](double ours, double) { return ours * 1e3; },
          [](double ms) { return ms <= Milliseconds; }};
}

void add_first_result(std::string name, const char* peer, Bar bar, std::function<double()> ours,
                      std::function<double()> theirs) {
  add({.name = std::move(name),
       .peer = peer,
       .bar = std::move(bar),
       .prepare = [ours, theirs] { return Sides{.ours = ours, .peer = theirs}; },
       .samples = 9});
}

void add_first_results() {
  const auto nvrtc = [] {
    setenv("CUDA_CACHE_DISABLE", "1", 1);  // which also keeps NVRTC's machine code
    return run("weir-bench-first-nvrtc");
  };
  add_first_result(
      "process_start_to_first_result/cold", "NVRTC and the driver API", at_most<1000>(),
      [] { return first_result(true).whole; }, [nvrtc] { return nvrtc().whole; });
  add_first_result(
      "process_start_to_first_result/warm", "machine code and the driver API", at_most<1050>(),
      [] { return first_result(false).whole; },
      [] {
        static const test::TemporaryFolder folder;
        return run("weir-bench-first-nvrtc", (folder.path() / "code").string()).whole;
      });
  add_first_result(
      "first_result_of_one_loop/cold", "NVRTC", at_most<850>(), [] { return first_result(true).since_ready; },
      [nvrtc] { return nvrtc().since_ready; });
  add_first_result(
      "first_result_of_one_loop/warm", "none", at_most_milliseconds<3>(),
      [] { return first_result(false).since_ready; }, {});
  for (const std::string kernel : {"loops", "robots"}) {
    const std::string name = kernel == "loops" ? "first_result_of_20_loops" : "first_result_of_robots";
    add_first_result(
        name + "/cold", "none", at_most_milliseconds<150>(),
        [kernel] { return first_result(true, kernel).since_ready; }, {});
    add_first_result(
        name + "/warm", "none", at_most_milliseconds<5>(),
        [kernel] { return first_result(false, kernel).since_ready; }, {});
  }
}

/// Nanoseconds per lease and return, and driver calls per thousand pairs, from weir-bench-lease.
double lease() {
  FILE* pipe = popen(("exec " + installed("weir-bench-lease")).c_str(), "r");
  if (!pipe) throw std::runtime_error("cannot start weir-bench-lease");
  double nanoseconds = 0;
  unsigned long calls = 1;
  const int read = std::fscanf(pipe, "%lf %lu", &nanoseconds, &calls);
  if (pclose(pipe) != 0 || read != 2) throw std::runtime_error("weir-bench-lease failed");
  if (calls != 0)
    throw std::runtime_error("leases make " + std::to_string(calls) + " driver calls per thousand");
  return nanoseconds * 1e-9;
}

}  // namespace

void add_process_cases() {
  add({.name = "stream_lease",
       .peer = "none",
       .bar = {"at most 0.1 us, no driver call", [](double ours, double) { return ours * 1e6; },
               [](double us) { return us <= 0.1; }},
       .prepare =
           [] {
             setenv("WEIR_DEVICE", device().name().c_str(), 1);
             return Sides{.ours = lease, .peer = {}};
           },
       .samples = 3});
  add_first_results();
}

}  // namespace weir::bench::gpu
