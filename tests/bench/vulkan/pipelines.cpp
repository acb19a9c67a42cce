// SPDX-License-Identifier: Apache-2.0
// The first launch of a kernel in a process whose predecessor has filled the caches of code and pipelines.
#include <stdlib.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>

#include "cases.hpp"
#include "device.hpp"
#include "temporary_folder.hpp"

namespace weir::bench::vulkan {
namespace {

namespace fs = std::filesystem;

/// A cache of its own, so that the user's is left unchanged.
class Cache {
 public:
  /// Seconds for each kernel's first launch in a new process.
  double run() const {
    const fs::path program = fs::read_symlink("/proc/self/exe").parent_path() / "weir-bench-first-pipelines";
    // The vendor's own cache would hide ours: these variables are NVIDIA's and Mesa's.
    const std::string command =
        "WEIR_CACHE='" + folder_.path().string() + "' WEIR_DEVICE=" + device().name() +
        " __GL_SHADER_DISK_CACHE=0 MESA_SHADER_CACHE_DISABLE=1 exec '" + program.string() + "'";
    FILE* const pipe = popen(command.c_str(), "r");
    if (!pipe) throw std::runtime_error("cannot start " + program.string());
    double milliseconds = 0;
    const int read = std::fscanf(pipe, "%lf", &milliseconds);
    if (pclose(pipe) != 0 || read != 1) throw std::runtime_error(program.string() + " failed");
    return milliseconds * 1e-3;
  }
  void forget_pipelines() const {
    for (const auto& file : fs::directory_iterator(folder_.path() / "vulkan"))
      if (file.path().extension() == ".pipeline") fs::remove(file.path());
  }

 private:
  const test::TemporaryFolder folder_;
};

}  // namespace

void add_pipeline_cases() {
  add({.name = "first_launch_in_a_second_process",
       .peer = "without the pipelines",
       .bar = {"at most 1 ms a kernel", [](double ours, double) { return ours * 1e3; },
               [](double milliseconds) { return milliseconds <= 1; }},
       .prepare =
           [] {
             auto cache = std::make_shared<Cache>();
             cache->run();
             return Sides{.ours = [=] { return cache->run(); },
                          .peer =
                              [=] {
                                cache->forget_pipelines();
                                return cache->run();
                              }};
           },
       .samples = 7});
}

}  // namespace weir::bench::vulkan
