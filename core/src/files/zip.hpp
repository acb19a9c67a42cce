// SPDX-License-Identifier: Apache-2.0
// Zip archives, as far as .npz files need them: stored and deflated members, sizes above 4 GiB, no
// encryption.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace weir::files {

struct ZipMember {
  std::string name;
  std::vector<std::byte> contents;
};

/// All members, their checksums verified. Throws Error{parse} that begins with `archive`, the file's name.
std::vector<ZipMember> read_zip(std::span<const std::byte> bytes, const std::string& archive);

std::vector<std::byte> print_zip(std::span<const ZipMember> members, bool deflate);

}  // namespace weir::files
