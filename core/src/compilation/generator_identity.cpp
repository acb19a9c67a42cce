// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <weir/driver.h>

#include <filesystem>
#include <string_view>
#include <vector>

#include "compilation/cached_compiler.hpp"
#include "compilation/generator.hpp"
#include "compilation/library.hpp"
#include "compilation/pack_file.hpp"
#include "compilation/protocol.hpp"
#include "weir_generator_sources.hpp"

namespace weir::compilation {
namespace {

namespace fs = std::filesystem;

std::string state_of(const fs::path& file) {
  struct stat info{};
  if (stat(file.c_str(), &info) != 0) return "absent";
  return fmt::format("{} bytes of {}.{}", info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
}

/// The file that the loader finds for weir-codegen, unless its own search is configured otherwise; "" if
/// libweir-codegen contains LLVM.
fs::path llvm_library(const fs::path& generator) {
  const fs::path built_with = WEIR_LLVM_FILE;
  if (built_with.empty()) return built_with;
  std::vector<fs::path> folders;
  const char* const first = secure_getenv("LD_LIBRARY_PATH");
  for (std::string_view rest = first ? first : ""; !rest.empty();) {
    const std::string_view folder = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(folder.size() + 1, rest.size()));
    folders.emplace_back(folder);
  }
  folders.push_back(generator.parent_path());
  folders.push_back(generator.parent_path() / "weir/libs");  // in a bundle
  std::error_code error;
  for (const fs::path& folder : folders)
    if (fs::path file = folder / built_with.filename(); fs::exists(file, error)) return file;
  return built_with;
}

}  // namespace

std::string generator_identity() {
  const fs::path generator = library_of(current_generator_policy().program);
  const fs::path llvm = llvm_library(generator);
  return fmt::format("{}, {}, {}, LLVM {} {}, driver ABI {}", greeting(), generator_sources,
                     state_of(generator), WEIR_LLVM_VERSION, llvm.empty() ? "in it" : state_of(llvm),
                     WEIR_ABI_CURRENT);
}

std::string generator_text() {
  return fmt::format("{}, LLVM {}", generator_sources, WEIR_LLVM_VERSION);
}

}  // namespace weir::compilation
