// SPDX-License-Identifier: Apache-2.0
#include "compilation/library.hpp"

#include <dlfcn.h>

namespace weir::compilation {
namespace {

constexpr const char* file_name = "libweir-codegen.so.1";

}  // namespace

std::filesystem::path library_of(const std::filesystem::path& program) {
  return program.parent_path().parent_path() / file_name;
}

codegen::Compiler* Library::open() {
  if (compiler_ || !problem_.empty()) return compiler_;
  const std::filesystem::path path = library_of(program_);
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
