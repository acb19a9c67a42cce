// SPDX-License-Identifier: Apache-2.0
// `weir pack`: the contents of a file of compiled kernels.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <weir/error.hpp>
#include <weir/pack.hpp>

#include "byte_text.hpp"
#include "command.hpp"

namespace weir::tool {
namespace {

struct PackOptions {
  std::string file;
  bool list = false;
};

std::string parameters_of(const Program& program) {
  std::string words;
  for (const ParameterInfo& parameter : program.parameters()) {
    const std::string element = to_string(parameter.element);
    words += fmt::format("{}{}: {}", words.empty() ? "" : ", ", parameter.name,
                         parameter.kind == ParameterInfo::Kind::array
                             ? fmt::format("array<{}, {}>", element, parameter.rank)
                             : element);
  }
  return words;
}

/// The rows of a kernel, from `next` on; returns how many are damaged.
std::size_t list_code(const std::vector<PackedCode>& all, std::size_t kernel, std::size_t& next) {
  std::size_t damaged = 0;
  for (; next < all.size() && all[next].kernel == kernel; ++next) {
    const PackedCode& code = all[next];
    const CompileTarget& target = code.target;
    std::string name = target.format + ":" + target.cpu;
    if (!target.features.empty()) name += ":" + target.features;
    damaged += !code.sound;
    fmt::print("  {:32}  {:34}  {:2} task{}  {:>10}{}\n", name,
               target.assume.empty() ? "any launch" : target.assume, code.tasks, code.tasks == 1 ? " " : "s",
               byte_text(code.bytes), code.sound ? "" : "  damaged");
  }
  return damaged;
}

int list_pack(const PackOptions& options) {
  const Pack pack = Pack::examine(options.file);
  const std::vector<std::string> kernels = pack.kernels();
  const std::vector<PackedCode> code = pack.code();
  fmt::print("{}: {} kernel{}, made by {}\n", options.file, kernels.size(), kernels.size() == 1 ? "" : "s",
             pack.maker());
  if (!pack.usable())
    fmt::print("Another build of Weir made this pack. This one generates the code of its kernels anew.\n");
  std::size_t next = 0, damaged = 0, damaged_texts = 0;
  for (std::size_t kernel = 0; kernel < kernels.size(); ++kernel) {
    std::string words;
    bool unreadable = false;
    try {
      words = parameters_of(pack.program(kernel));
    } catch (const Error& error) {
      if (error.code() == ErrorCode::out_of_memory) throw;
      words = "...";
      unreadable = true;
    }
    // Another build's text may be of another version.
    const bool text_damaged = unreadable && pack.usable();
    damaged_texts += text_damaged;
    fmt::print("{}({}){}\n", kernels[kernel], words, text_damaged ? "  text damaged" : "");
    damaged += list_code(code, kernel, next);
  }
  if (damaged_texts != 0)
    fmt::print("the texts of {} of {} kernels are damaged; make the pack again\n", damaged_texts,
               kernels.size());
  if (damaged != 0)
    fmt::print("{} of {} pieces of code are damaged and are not used; make the pack again\n", damaged,
               code.size());
  return damaged == 0 && damaged_texts == 0 ? 0 : 1;
}

const Command pack_command(
    "pack", "List the contents of a pack of compiled kernels", [](CLI::App& app) -> std::function<int()> {
      auto options = std::make_shared<PackOptions>();
      app.add_option("file", options->file, "Pack that weir compile or weir_add_kernels made")->required();
      app.add_flag("--list", options->list,
                   "List kernels, targets, assumptions and sizes, and verify the code; the default");
      return [options] { return list_pack(*options); };
    });

}  // namespace
}  // namespace weir::tool
