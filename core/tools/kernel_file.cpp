// SPDX-License-Identifier: Apache-2.0
#include "kernel_file.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <system_error>
#include <weir/error.hpp>
#include <weir/pack.hpp>

#include "command.hpp"

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

/// Of any kernel; longer texts are refused before they fill the memory: a device or a pipe may never end.
constexpr std::size_t most_text_bytes = std::size_t{16} << 20;

Program parse_stream(std::istream& in, const std::string& name) {
  std::string text;
  std::array<char, 65536> part;
  do {
    in.read(part.data(), part.size());
    text.append(part.data(), static_cast<std::size_t>(in.gcount()));
  } while (in && text.size() <= most_text_bytes);
  if (text.size() > most_text_bytes)
    throw Error(ErrorCode::parse, name + ": a kernel's text has at most " + std::to_string(most_text_bytes) +
                                      " bytes, and more were found; expected a kernel in IR text form");
  return Program::parse(text, name);
}

Program read_text(const std::string& file) {
  if (file == "-") return parse_stream(std::cin, "<standard input>");
  const auto refuse = [&](int error) {
    const std::string why = error ? std::string(": ") + std::strerror(error) : "";
    throw Error(ErrorCode::system,
                "'" + file + "': cannot read the file" + why + "; expected a kernel in IR text form");
  };
  // A folder can be opened as a stream and reads as empty, which would be reported as an empty kernel.
  if (std::error_code none; std::filesystem::is_directory(file, none)) refuse(EISDIR);
  errno = 0;
  std::ifstream in(file);
  if (!in) refuse(errno);
  return parse_stream(in, file);
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
