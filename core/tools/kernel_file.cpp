// SPDX-License-Identifier: Apache-2.0
#include "kernel_file.hpp"

#include <filesystem>
#include <fstream>
#include <iostream>
#include <system_error>
#include <weir/error.hpp>
#include <weir/pack.hpp>

#include "command.hpp"
#include "kernel_text.hpp"

namespace weir::tool {
namespace {

/// The first bytes of all packs, and of no text.
constexpr std::string_view pack_magic = "weir-pack ";

std::string list_of(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  return list;
}

/// A pipe is read once, as text.
bool is_pack(const std::string& file) {
  if (std::error_code none; !std::filesystem::is_regular_file(file, none)) return false;
  std::ifstream in(file, std::ios::binary);
  std::string begin(pack_magic.size(), '\0');
  in.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  return in && begin == pack_magic;
}

Program read_text(const std::string& file) {
  if (file != "-") return Program::parse(read_kernel_text(file), file);
  constexpr auto name = "<standard input>";
  return Program::parse(read_kernel_text(std::cin, name), name);
}

}  // namespace

std::vector<Program> read_kernels(const std::string& file) {
  if (!is_pack(file)) return {read_text(file)};
  const Pack pack = Pack::load(file);
  std::vector<Program> programs;
  for (std::size_t i = 0; i < pack.kernels().size(); ++i) programs.push_back(pack.program(i));
  return programs;
}

Program read_kernel(const std::string& file, const std::string& name) {
  if (is_pack(file)) {
    const Pack pack = Pack::load(file);
    const std::vector<std::string> names = pack.kernels();
    if (!name.empty()) return pack.program(name);
    if (names.size() == 1) return pack.program(std::size_t{0});
    throw UsageError(file + " has the kernels " + list_of(names) + "; choose one with --kernel NAME");
  }
  Program program = read_text(file);
  if (!name.empty() && program.name() != name)
    throw UsageError(file + " has the kernel " + program.name() + ", and none called '" + name + "'");
  return program;
}

}  // namespace weir::tool
