// SPDX-License-Identifier: Apache-2.0
// `weir new-driver`: creates a driver project from the templates that the SDK installs.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>
#include <weir/error.hpp>

#include "command.hpp"
#include "tool_files.hpp"

namespace weir::tool {
namespace {

namespace fs = std::filesystem;

struct NewDriverOptions {
  std::string name;
  std::string out;
  std::string language = "c++";
};

// The rule of <weir/driver.h> for the name in a driver's table.
void check_name(const std::string& name) {
  const auto allowed = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; };
  if (name.empty() || name.size() > 32 || name.front() == '-' ||
      !std::all_of(name.begin(), name.end(), allowed))
    throw UsageError(
        "'" + name +
        "' cannot be a driver's name; expected at most 32 lower case letters, digits and '-', not '-' "
        "first, such as acme");
  // The new driver's package would replace Weir's package of that name.
  constexpr std::string_view taken[] = {"amdgpu", "cpu", "cuda", "sdk", "vulkan"};
  if (std::find(std::begin(taken), std::end(taken), name) != std::end(taken))
    throw UsageError("'" + name + "' cannot be a driver's name: the package weir-driver-" + name +
                     " is Weir's own; choose another, such as my-" + name);
}

/// The option with which CMake finds the SDK; none in the prefixes that CMake searches by default.
std::string prefix_option() {
  const fs::path prefix = installation_prefix();
  return prefix == "/usr" || prefix == "/usr/local" ? "" : " -DCMAKE_PREFIX_PATH=" + prefix.string();
}

fs::path templates_of(const std::string& language) {
  const fs::path prefix = installation_prefix();
  fs::path folder = prefix / WEIR_DATADIR "/weir/template" / language;
  if (!fs::is_directory(folder))
    throw Error(ErrorCode::system, "the driver templates are missing from " + folder.string() +
                                       "; install Weir's driver SDK (weir-driver-sdk) into " +
                                       prefix.string());
  return folder;
}

void check_out(const fs::path& out) {
  std::error_code error;
  if (!fs::exists(out, error)) {
    if (fs::is_symlink(out, error))
      throw Error(ErrorCode::system,
                  out.string() + " is a symbolic link to " + fs::read_symlink(out, error).string() +
                      ", which does not exist; create that folder, or choose another with --out");
    return;
  }
  if (!fs::is_directory(out, error) || !fs::is_empty(out, error))
    throw Error(ErrorCode::system,
                out.string() + " exists and is not an empty folder; choose another with --out");
}

std::string read(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in)
    throw Error(ErrorCode::system, file.string() + ": cannot read the file; reinstall Weir's driver SDK");
  return text.str();
}

std::string with_name(std::string text, const std::string& name) {
  constexpr std::string_view mark = "@NAME@";
  for (std::size_t at = 0; (at = text.find(mark, at)) != text.npos; at += name.size())
    text.replace(at, mark.size(), name);
  return text;
}

void write(const fs::path& file, const std::string& text) {
  std::error_code error;
  fs::create_directories(file.parent_path(), error);
  if (error)
    throw Error(ErrorCode::system, file.parent_path().string() + ": cannot create the folder: " +
                                       error.message() + "; choose another with --out");
  write_file(file.string(), text);
}

int write_project(const NewDriverOptions& options) {
  check_name(options.name);
  const fs::path from = templates_of(options.language);
  const fs::path out = options.out.empty() ? fs::path(options.name) : fs::path(options.out);
  check_out(out);
  std::vector<fs::path> written;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(from)) {
    if (!entry.is_regular_file()) continue;
    written.push_back(out / entry.path().lexically_relative(from));
    write(written.back(), with_name(read(entry.path()), options.name));
  }
  std::sort(written.begin(), written.end());
  for (const fs::path& file : written) std::printf("%s\n", file.c_str());
  std::printf(
      "\nBuild the driver and run the conformance suite:\n"
      "  cd %s\n  cmake -S . -B build%s && cmake --build build && ctest --test-dir build "
      "--output-on-failure\n"
      "\nNext steps: driver-tutorial.md and the other documents listed in\n  %s\n",
      out.c_str(), prefix_option().c_str(), (documentation_folder() / "README.md").c_str());
  return 0;
}

const Command new_driver_command(
    "new-driver", "Create a project for a new driver", [](CLI::App& app) -> std::function<int()> {
      auto options = std::make_shared<NewDriverOptions>();
      app.add_option("name", options->name, "The driver's name: lower case letters, digits and '-'")
          ->required();
      app.add_option("--out", options->out, "The folder to create; by default the driver's name");
      app.add_option("--language", options->language, "The driver's language")
          ->check(CLI::IsMember({"c++", "c", "rust"}))
          ->capture_default_str();
      return [options] { return write_project(*options); };
    });

}  // namespace
}  // namespace weir::tool
