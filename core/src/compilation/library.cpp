// SPDX-License-Identifier: Apache-2.0
#include "compilation/library.hpp"

#include <dlfcn.h>

#include <filesystem>

namespace weir::compilation {
namespace {

constexpr const char* file_name = "libweir-codegen.so.1";

/// In the parent of weir-codegen's folder.
std::filesystem::path path_of_library() {
  std::error_code error;
  const std::filesystem::path own = std::filesystem::read_symlink("/proc/self/exe", error);
  return own.parent_path().parent_path() / file_name;
}

}  // namespace

codegen::Compiler* Library::open() {
  if (compiler_ || !problem_.empty()) return compiler_;
  const std::filesystem::path path = path_of_library();
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  const auto entry =
      library ? reinterpret_cast<decltype(&weir_codegen)>(dlsym(library, "weir_codegen")) : nullptr;
  compiler_ = entry ? entry(weir_codegen_abi) : nullptr;
  if (!library)
    problem_ = path.string() + ": " + dlerror();
  else if (!compiler_)
    problem_ = path.string() + ": of another version of Weir";
  return compiler_;
}

}  // namespace weir::compilation
