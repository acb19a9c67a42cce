// SPDX-License-Identifier: Apache-2.0
// `weir compile`: translates a kernel in text form to a code object or to an intermediate text form.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <weir/compile.hpp>
#include <weir/error.hpp>

#include "command.hpp"
#include "kernel_file.hpp"

namespace weir::tool {
namespace {

struct CompileOptions {
  std::string file;
  std::string target = "elf-x86_64:native";
  std::string output;
  std::string emit = "object";
  std::string assume;
  bool explain = false;
};

/// "FORMAT[:CPU[:FEATURES]]".
CompileTarget parse_target(const std::string& text) {
  CompileTarget target;
  const std::size_t first = text.find(':');
  target.format = text.substr(0, first);
  if (first == std::string::npos) return target;
  const std::size_t second = text.find(':', first + 1);
  target.cpu = text.substr(first + 1, second == std::string::npos ? second : second - first - 1);
  if (second != std::string::npos) target.features = text.substr(second + 1);
  return target;
}

constexpr const char* standard_output = "-";

void write(const std::string& file, std::span<const std::byte> bytes) {
  if (file == standard_output) {
    std::fwrite(bytes.data(), 1, bytes.size(), stdout);  // main() checks for errors
    return;
  }
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  out.flush();
  if (!out) throw Error(ErrorCode::system, file + ": cannot write the file; check the folder and the space");
}

int compile_kernel(const CompileOptions& options) {
  const Program program = read_kernel(options.file);
  CompileTarget target = parse_target(options.target);
  target.assume = options.assume;
  if (options.emit != "object") {
    std::string text = options.emit == "ir" ? program.text() : compile_to_text(program, target, options.emit);
    if (!text.ends_with('\n')) text += '\n';
    write(options.output.empty() ? standard_output : options.output, std::as_bytes(std::span(text)));
    return 0;
  }
  if (options.output.empty()) throw UsageError("a code object needs a file; add -o FILE");
  const CompiledProgram compiled = compile(program, target);
  write(options.output, compiled.bytes);
  std::FILE* const words = options.output == standard_output ? stderr : stdout;
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
    "compile", "Compile a kernel in text form", [](CLI::App& app) -> std::function<int()> {
      auto options = std::make_shared<CompileOptions>();
      app.add_option("file", options->file, "Kernel in IR text form, or - for standard input")->required();
      app.add_option("--target", options->target, "FORMAT[:CPU[:FEATURES]] as weir info lists them")
          ->capture_default_str();
      app.add_option(
          "--assume", options->assume,
          "Properties of launches that the code may rely on: no_alias,index32,aligned,device_local; see "
          "weir/compile.hpp");
      app.add_option("-o,--output", options->output, "File to write, or - for standard output");
      app.add_flag(
          "--explain", options->explain,
          "Also print the lowering of each task, and which loops launches merge; see sdk/docs/fusion.md");
      app.add_option("--emit", options->emit, "Form to write")
          ->check(CLI::IsMember({"object", "ir", "llvm", "llvm-opt", "asm"}))
          ->capture_default_str();
      return [options] { return compile_kernel(*options); };
    });

}  // namespace
}  // namespace weir::tool
