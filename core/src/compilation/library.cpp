// SPDX-License-Identifier: Apache-2.0
#include "compilation/library.hpp"

#include <dlfcn.h>

#include <string_view>
#include <weir/error.hpp>

namespace weir::compilation {
namespace {

constexpr const char* file_name = "libweir-codegen.so.1";

/// glibc's loader reports ENOMEM in words only.
bool is_about_memory(std::string_view problem) {
  for (const std::string_view words :
       {"failed to map segment from shared object", "cannot map zero-fill pages",
        "cannot create shared object descriptor", "out of memory"})
    if (problem.find(words) != std::string_view::npos) return true;
  return problem.ends_with("annot allocate memory");
}

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
  if (!library) {
    const std::string problem = dlerror();  // begins with the file
    if (is_about_memory(problem)) throw Error(ErrorCode::out_of_memory, "host memory ran out: " + problem);
    problem_ = problem;
  } else if (!compiler_) {
    problem_ = path.string() + ": of another version of Weir";
  }
  return compiler_;
}

}  // namespace weir::compilation
