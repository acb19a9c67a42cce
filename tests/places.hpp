// SPDX-License-Identifier: Apache-2.0
// Files that tests need, relative to the test programs, so that they run from an unpacked bundle as well as
// from the build tree. Both have the layout of an install prefix, with the tests in bin/.
#pragma once

#include <filesystem>
#include <string_view>

namespace weir::test {

/// The folder that contains the bin/ of this program.
const std::filesystem::path& prefix();

/// A built file, by its path in the build tree.
std::filesystem::path built(std::string_view path);

/// A file or folder of the source tree; a bundle contains those that tests read.
std::filesystem::path source(std::string_view path);

}  // namespace weir::test
