// SPDX-License-Identifier: Apache-2.0
// list, check and hide.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string_view>

#include "code/code_object.hpp"
#include "tool/commands.hpp"

namespace weir::hipsim::tool {

std::vector<std::uint8_t> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string architecture_of(const std::vector<std::uint8_t>& image) {
  // The metadata names the target, such as amdgcn-amd-amdhsa--gfx90a:xnack-.
  constexpr std::string_view start = "amdgcn-amd-amdhsa--";
  auto at = std::search(image.begin(), image.end(), start.begin(), start.end());
  if (at == image.end())
    throw std::runtime_error("the file is no AMDGPU code object: its metadata names no target");
  at += std::ptrdiff_t(start.size());
  const auto end = std::find_if(
      at, image.end(), [](std::uint8_t c) { return !((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')); });
  return {at, end};
}

namespace {

/// The target, with the features that the code requires.
Target target_of(const std::vector<std::uint8_t>& image) {
  const std::string text(image.begin(), image.end());
  return {architecture_of(image), text.find(":xnack+") != text.npos, text.find(":sramecc-") == text.npos, 0};
}

}  // namespace

int list_kernels(const std::string& file) {
  const auto image = read_file(file);
  MemoryTable memory(0);
  const CodeObject code(image, target_of(image), memory);
  fmt::print("{}: {}\n", file, code.architecture());
  for (const auto& [name, k] : code.kernels()) {
    fmt::print("{}: waves of {}, LDS {} B, private {} B, {} VGPRs, {} SGPRs, up to {} workitems\n", name,
               k.lanes, k.lds_bytes, k.private_bytes, k.vgpr_count, k.sgpr_count, k.max_threads);
    for (const KernelArgument& a : k.arguments)
      if (!a.hidden()) fmt::print("  at {:3}: {:3} bytes, {}\n", a.offset, a.size, a.kind);
  }
  return 0;
}

int check_instructions(const std::string& file) {
  const auto image = read_file(file);
  MemoryTable memory(0);
  const CodeObject code(image, target_of(image), memory);
  const unsigned lanes = code.kernels().empty() ? 64 : code.kernels().begin()->second.lanes;
  const Program& program = code.program(lanes);
  std::map<std::string, std::pair<unsigned, std::string>> unknown;
  const auto& instructions = program.instructions();
  for (std::uint32_t n = 0; n + 1 < instructions.size(); ++n) {
    if (instructions[n].problem.empty()) continue;
    const std::string text = program.text(n);
    if (text.starts_with("s_code_end") || text.starts_with("(no")) continue;  // padding
    auto& [count, problem] = unknown[text.substr(0, text.find(' '))];
    ++count;
    problem = text + " " + instructions[n].problem;
  }
  for (const auto& [name, found] : unknown) fmt::print("{} times {}: {}\n", found.first, name, found.second);
  fmt::print("{}: {} instructions, {} kinds that the simulator cannot execute\n", file,
             instructions.size() - 1, unknown.size());
  return unknown.empty() ? 0 : 1;
}

int hide_functions(const std::string& library, const std::vector<std::string>& functions,
                   const std::string& output) {
  std::vector<std::uint8_t> bytes = read_file(library);
  for (const std::string& function : functions) {
    // In the table of dynamic names, each name has a zero before and after it. Changing the first letter
    // hides both names: the hash tables still hold the hash of the old one.
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    std::size_t hidden = 0;
    for (auto at = text.find(function, 1); at < text.size() - function.size();
         at = text.find(function, at + 1)) {
      if (text[at - 1] != '\0' || text[at + function.size()] != '\0') continue;
      bytes[at] = 'x';
      ++hidden;
    }
    if (hidden == 0) throw std::runtime_error(library + " has no function " + function);
  }
  std::ofstream file(output, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), std::streamsize(bytes.size()));
  if (!file.flush()) throw std::runtime_error("cannot write " + output);
  return 0;
}

}  // namespace weir::hipsim::tool
