// SPDX-License-Identifier: Apache-2.0
// Measurements in separate processes: the lease of a stream, and the time from the start of a process to the
// first result of a kernel that was never compiled before.
#include <spawn.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

#include "device.hpp"
#include "figures.hpp"

extern char** environ;

namespace weir::bench::gpu {
namespace {

std::string installed(const char* program) {
  return (std::filesystem::read_symlink("/proc/self/exe").parent_path() / program).string();
}

double seconds_of_process(const std::string& program) {
  char* const arguments[] = {const_cast<char*>(program.c_str()), nullptr};
  pid_t child = 0;
  const double begin = now();
  if (posix_spawn(&child, program.c_str(), nullptr, nullptr, arguments, environ) != 0)
    throw std::runtime_error("cannot start " + program);
  int status = 0;
  if (waitpid(child, &status, 0) < 0 || status != 0) throw std::runtime_error(program + " failed");
  return now() - begin;
}

void add_first_result() {
  add({.name = "process_start_to_first_result",
       .peer = "NVRTC and the driver API",
       .bar = at_most<1000>(),
       .prepare =
           [] {
             setenv("CUDA_CACHE_DISABLE", "1", 1);  // the kernel is new in every process
             setenv("WEIR_DEVICE", device().name().c_str(), 1);
             return Sides{.ours = [] { return seconds_of_process(installed("weir-bench-first-result")); },
                          .peer = [] { return seconds_of_process(installed("weir-bench-first-nvrtc")); }};
           },
       .samples = 9});
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
  add_first_result();
}

}  // namespace weir::bench::gpu
