// SPDX-License-Identifier: Apache-2.0
// `weir run`: launches a kernel once, with arguments from the command line and from NumPy files.
#include <CLI/CLI.hpp>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>
#include <weir/weir.hpp>

#include "command.hpp"
#include "command_line_values.hpp"
#include "kernel_file.hpp"

namespace weir::tool {
namespace {

struct RunOptions {
  std::string file;
  std::string kernel;
  std::vector<std::string> arguments;
  std::vector<std::string> outputs;
  std::string device;
  std::string seed;
  bool explain = false;
  bool debug = false;
};

/// Standard output, unless an array is written to it.
std::FILE* report_stream(const std::map<std::string, std::string>& outputs) {
  std::error_code error;
  for (const auto& [name, file] : outputs)
    if (std::filesystem::equivalent(file, "/dev/stdout", error)) return stderr;
  return stdout;
}

void report(std::FILE* out, const Program& program, const Device& device, const KernelArguments& arguments,
            std::chrono::duration<double, std::milli> time,
            const std::map<std::string, std::string>& outputs) {
  std::fprintf(out, "%s on %s (%s): compiled and run in %.3g ms\n", program.name().c_str(),
               device.name().c_str(), device.info().name.c_str(), time.count());
  for (const std::string& line : arguments.descriptions()) std::fprintf(out, "  %s\n", line.c_str());
  for (const auto& [name, file] : outputs) std::fprintf(out, "wrote %s to %s\n", name.c_str(), file.c_str());
}

std::uint64_t parse_seed(const std::string& text) {
  std::uint64_t seed = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, seed);
  if (error != std::errc() || rest != end)
    throw UsageError("--seed is '" + text + "', expected a whole number from 0 to 18446744073709551615");
  return seed;
}

void refuse_shared_files(const std::map<std::string, std::string>& outputs) {
  std::map<std::filesystem::path, std::string> names;
  for (const auto& [name, file] : outputs) {
    std::error_code none;  // a pipe has no path of its own
    const std::filesystem::path real = std::filesystem::weakly_canonical(file, none);
    if (const auto [other, is_new] = names.emplace(none ? std::filesystem::path(file) : real, name); !is_new)
      throw UsageError("--out writes '" + other->second + "' and '" + name + "' to " + file +
                       "; give each a file of its own");
  }
}

int run_kernel(const RunOptions& options) {
  const Program program = read_kernel(options.file, options.kernel);
  if (options.debug) program.debug();
  const auto values = split_assignments(options.arguments, "--arg");
  const auto outputs = split_assignments(options.outputs, "--out");
  refuse_shared_files(outputs);
  LaunchOptions launch;
  if (!options.seed.empty()) launch.seed = parse_seed(options.seed);
  const Device device = options.device.empty() ? open() : open(options.device);
  const Stream stream = device.create_stream();
  const KernelArguments arguments(program, values, stream);
  const auto begin = std::chrono::steady_clock::now();
  program.launch(stream, arguments.launch_arguments(), launch);
  stream.synchronize();
  const auto end = std::chrono::steady_clock::now();
  std::FILE* const out = report_stream(outputs);
  for (const auto& [name, file] : outputs) arguments.write(name, file, stream);
  report(out, program, device, arguments, end - begin, outputs);
  if (options.explain) std::fprintf(out, "%s", program.explain(stream).c_str());
  return 0;
}

const Command run_command("run", "Run a kernel once", [](CLI::App& app) -> std::function<int()> {
  auto options = std::make_shared<RunOptions>();
  app.add_option("file", options->file, "Kernel in IR text form, - for standard input, or a pack")
      ->required();
  app.add_option("--kernel", options->kernel, "Name of the kernel, for a pack of several");
  app.add_option(
         "--arg", options->arguments,
         "PARAMETER=@FILE.npy, =zeros:EXTENTS (zeros:100x20), or =NUMBER; an omitted array that the kernel "
         "writes takes the extents of the first array of its rank")
      ->allow_extra_args(false);
  app.add_option("--out", options->outputs, "PARAMETER=FILE.npy: write an array after the run")
      ->allow_extra_args(false);
  app.add_option("--device", options->device, "Device such as cpu or cpu:1; see weir info");
  app.add_flag("--explain", options->explain,
               "Print the assumptions of the launch's code, its tasks, and which loops were merged");
  app.add_flag(
      "--debug", options->debug,
      "Run in the interpreter on the host, which stops at an index outside an array, a race, a NaN or a "
      "read of unwritten memory; WEIR_DEBUG=KERNEL does so in any program");
  app.add_option("--seed", options->seed, "Seed of the kernel's random numbers, a whole number");
  return [options] { return run_kernel(*options); };
});

}  // namespace
}  // namespace weir::tool
