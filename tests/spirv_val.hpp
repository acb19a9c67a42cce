// SPDX-License-Identifier: Apache-2.0
// The validator of SPIRV-Tools, for modules that Weir generates.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>

#include "run_apart.hpp"

namespace weir::test {

/// Tests of modules begin with this: a machine without the validator must not report them as passed.
#define WEIR_NEEDS_SPIRV_VAL()                             \
  if (std::system("command -v spirv-val >/dev/null") != 0) \
  GTEST_SKIP() << "spirv-val is not installed: no module is validated. Install Debian's package spirv-tools"

/// What spirv-val says against a module for Vulkan 1.3, or "".
inline std::string invalidity(std::span<const std::byte> module) {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("weir-" + std::to_string(::getpid()) + ".spv");
  std::ofstream(file, std::ios::binary)
      .write(reinterpret_cast<const char*>(module.data()), std::streamsize(module.size()));
  std::string words = output_of("spirv-val --target-env vulkan1.3 " + file.string());
  if (const char* kept = std::getenv("WEIR_KEEP_SPIRV"); kept && !words.empty())
    std::filesystem::copy_file(file, kept, std::filesystem::copy_options::overwrite_existing);
  std::filesystem::remove(file);
  return words;
}

}  // namespace weir::test
