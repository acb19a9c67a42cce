// SPDX-License-Identifier: Apache-2.0
// `weir compile`: translates kernels in text form to a code object, to an intermediate text form, or to a
// pack.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>
#include <weir/compile.hpp>
#include <weir/error.hpp>
#include <weir/pack.hpp>

#include "command.hpp"
#include "kernel_file.hpp"
#include "tool_files.hpp"

namespace weir::tool {
namespace {

struct CompileOptions {
  std::vector<std::string> files;
  std::vector<std::string> targets;
  std::string kernel;
  std::string output;
  std::string emit = "object";
  std::vector<std::string> assumptions;
  bool explain = false;
  bool times = false;
};

constexpr const char* standard_output = "-";

void write(const std::string& file, std::span<const std::byte> bytes) {
  if (file == standard_output) {
    std::fwrite(bytes.data(), 1, bytes.size(), stdout);  // main() checks for errors
    return;
  }
  write_file(file, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

/// For words beside the output.
std::FILE* words_beside(const std::string& output) {
  return output == standard_output ? stderr : stdout;
}

constexpr const char* pack_suffix = ".weirpack";

int make_pack(const CompileOptions& options) {
  if (options.emit != "object" || options.explain || options.times)
    throw UsageError(
        "a pack has code objects only; drop --emit, --explain and --times, or compile one kernel to a file "
        "of another name");
  if (options.targets.empty())
    throw UsageError(
        "a pack needs its targets; add --target FORMAT:CPU for each, such as "
        "elf-x86_64:x86-64-v3, ptx:sm_70 or hsaco:gfx942");
  PackBuilder builder;
  std::vector<std::string> targets;  // the better ones first
  for (const std::string& words : options.targets)
    if (std::ranges::find(targets, words) == targets.end()) targets.push_back(words);
  for (const std::string& words : targets) {
    CompileTarget target = parse_target(words);
    if (options.assumptions.empty()) builder.add_target(target);
    for (const std::string& assume : options.assumptions) {
      target.assume = assume;
      builder.add_target(target);
    }
  }
  for (const std::string& file : options.files)
    for (const Program& program : read_kernels(file)) builder.add(program);
  builder.write(options.output);
  const Pack pack = Pack::examine(options.output);
  const auto count = [](std::size_t number, const char* what) {
    return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
  };
  std::printf("%s: %s for %s, %ju bytes\n", options.output.c_str(),
              count(pack.kernels().size(), "kernel").c_str(), count(targets.size(), "target").c_str(),
              static_cast<std::uintmax_t>(std::filesystem::file_size(options.output)));
  return 0;
}

/// Throws if the output would replace a file that is read.
void check_output(const CompileOptions& options) {
  for (const std::string& file : options.files) {
    std::error_code missing;
    if (std::filesystem::is_regular_file(file, missing) &&
        std::filesystem::equivalent(file, options.output, missing))
      throw UsageError("-o " + options.output + " is the file of the kernel; write to another one");
  }
}

int compile_kernel(const CompileOptions& options) {
  check_output(options);
  if (options.output.ends_with(pack_suffix)) return make_pack(options);
  if (options.files.size() > 1 || options.targets.size() > 1 || options.assumptions.size() > 1)
    throw UsageError(
        "several kernels, targets or sets of assumptions go into a pack; write it with -o "
        "FILE.weirpack");
  const Program program = read_kernel(options.files.at(0), options.kernel);
  CompileTarget target = parse_target(options.targets.empty() ? "elf-x86_64:native" : options.targets[0]);
  if (!options.assumptions.empty()) target.assume = options.assumptions[0];
  if (options.times) {
    std::fputs(compile_to_text(program, target, "times").c_str(), stdout);
    return 0;
  }
  if (options.emit != "object") {
    std::string text = options.emit == "ir" ? program.text() : compile_to_text(program, target, options.emit);
    if (!text.ends_with('\n')) text += '\n';
    const std::string output = options.output.empty() ? standard_output : options.output;
    write(output, std::as_bytes(std::span(text)));
    if (options.explain) std::fputs(explain(program, target).c_str(), words_beside(output));
    return 0;
  }
  if (options.output.empty()) throw UsageError("a code object needs a file; add -o FILE");
  const CompiledProgram compiled = compile(program, target);
  write(options.output, compiled.bytes);
  std::FILE* const words = words_beside(options.output);
  std::fprintf(words, "%s: %zu bytes for %s %s\n", options.output.c_str(), compiled.bytes.size(),
               compiled.format.c_str(), compiled.target.c_str());
  for (const CompiledProgram::Task& task : compiled.tasks) {
    std::fprintf(words, "  %s", task.symbol.c_str());
    if (task.region >= 0) std::fprintf(words, "  (region %d, block %d)", task.region, task.block);
    if (options.explain) std::fprintf(words, ": %s", to_string(task.lowering).c_str());
    std::fprintf(words, "\n");
  }
  if (options.explain) std::fprintf(words, "%s", explain(program, target).c_str());
  return 0;
}

const Command compile_command(
    "compile", "Compile kernels in text form to a code object or a pack",
    [](CLI::App& app) -> std::function<int()> {
      auto options = std::make_shared<CompileOptions>();
      app.add_option("files", options->files,
                     "Kernels in IR text form, or - for standard input; several make a pack")
          ->required();
      app.add_option(
             "--target", options->targets,
             "FORMAT[:CPU[:FEATURES]] as weir info lists them, elf-x86_64:native for a code object; a "
             "pack takes several")
          ->allow_extra_args(false);
      app.add_option(
             "--assume", options->assumptions,
             "Properties of launches that the code may rely on: no_alias,index32,aligned,device_local; see "
             "weir/compile.hpp. A pack takes several, and has the usual ones without this option")
          ->allow_extra_args(false);
      app.add_option("--kernel", options->kernel, "Name of the kernel, for a pack of several");
      app.add_option("-o,--output", options->output,
                     "File to write, or - for standard output; a pack if its name ends with .weirpack");
      app.add_flag(
          "--explain", options->explain,
          "Also print the lowering of each task, and which loops launches merge; see sdk/docs/fusion.md");
      app.add_flag(
          "--times", options->times,
          "Write no file; print the time that each stage of compilation takes, for each task compiled alone");
      app.add_option("--emit", options->emit, "Form to write")
          ->check(CLI::IsMember({"object", "ir", "llvm", "llvm-opt", "asm"}))
          ->capture_default_str();
      return [options] { return compile_kernel(*options); };
    });

}  // namespace
}  // namespace weir::tool
