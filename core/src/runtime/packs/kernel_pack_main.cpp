// SPDX-License-Identifier: Apache-2.0
// The program that weir_add_kernels() builds and runs once: packs the kernels of its source files.
#include <stdio.h>

#include <atomic>
#include <exception>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>
#include <weir/pack.hpp>

#include "kernel_text.hpp"
#include "runtime/errors/stream_errors.hpp"
#include "runtime/packs/kept_programs.hpp"

namespace weir::detail {
namespace {

constinit std::atomic<bool> keeps{false};

struct Kept {
  std::mutex mutex;
  std::vector<Program> programs;
};
/// Never destroyed, and made on first use: kernels are made before and after other static objects.
Kept& kept() {
  static auto* const one = new Kept;
  return *one;
}

struct PackArguments {
  std::string output;
  std::vector<std::string> targets, assumptions, texts;
};

PackArguments parse(int argc, char** argv) {
  const auto refuse = [](const std::string& word) {
    throw Error(ErrorCode::invalid, "'" + word +
                                        "' is not expected; the arguments are FILE --target TARGET..., "
                                        "--assume WORDS and --text IR-FILE");
  };
  PackArguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    auto* const list = word == "--target"   ? &arguments.targets
                       : word == "--assume" ? &arguments.assumptions
                       : word == "--text"   ? &arguments.texts
                                            : nullptr;
    if (list && i + 1 < argc)
      list->emplace_back(argv[++i]);
    else if (!list && arguments.output.empty())
      arguments.output = word;
    else
      refuse(std::string(word));
  }
  if (arguments.output.empty()) refuse("");
  return arguments;
}

}  // namespace

void keep_programs() {
  keeps.store(true, std::memory_order_relaxed);
}

void note_program(const std::shared_ptr<ProgramState>& program) {
  if (!keeps.load(std::memory_order_relaxed)) [[likely]]
    return;
  const std::lock_guard lock(kept().mutex);
  kept().programs.emplace_back(program);
}

int pack_main(int argc, char** argv) noexcept {
  try {
    const PackArguments arguments = parse(argc, argv);
    PackBuilder builder;
    for (const std::string& words : arguments.targets) {
      CompileTarget target = parse_target(words);
      if (arguments.assumptions.empty()) builder.add_target(target);
      for (const std::string& assume : arguments.assumptions) {
        target.assume = assume;
        builder.add_target(target);
      }
    }
    for (const std::string& file : arguments.texts)
      Program::parse(read_kernel_text(file), file);  // which is kept
    const std::vector<Program> programs = [] {
      const std::lock_guard lock(kept().mutex);
      return kept().programs;
    }();
    if (programs.empty())
      throw Error(ErrorCode::invalid,
                  "there are no kernels to pack; define them at namespace scope in the "
                  "files that weir_add_kernels names, or name the function that makes them");
    for (const Program& program : programs) builder.add(program);
    builder.write(arguments.output);
    return 0;
  } catch (const std::exception& error) {
    fprintf(stderr, "weir_add_kernels: %s\n", error.what());
  }
  return 1;
}

}  // namespace weir::detail
