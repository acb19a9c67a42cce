// SPDX-License-Identifier: Apache-2.0
// The bytes of a pack: entries of the compile cache in one file, with a list of contents.
//
//   "weir-pack 1\n"                                          12 bytes
//   sizes of the file and of the contents                    2 x 8 bytes, in the machine's byte order
//   contents, as archive.hpp writes PackContents
//   XXH3-128 of all bytes before                             16 bytes
//   entries, as cache::encode_entry writes them, each with its own checksum
//
// The contents have fixed fields, so that each build reads those of every other. The entries belong to the
// build in `maker`, because their inputs and code depend on the types of the IR and of the code generator.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cache/entry.hpp"

namespace weir::compilation {

struct PackContents {
  struct Place {
    std::uint64_t offset = 0, size = 0;  ///< bytes; the offset is from the first entry
  };
  /// The kernel in text form, in an entry whose input is text_input.
  struct Kernel {
    std::string name;
    Place text;
  };
  struct Target {
    std::string format, cpu, features;
  };
  /// Code of some of a kernel's tasks. Kernels with equal tasks have rows with equal places.
  struct Code {
    std::uint32_t kernel = 0, target = 0;  ///< positions in the lists below
    std::uint32_t assumptions = 0;         ///< codegen::LaunchAssumptions::number()
    std::uint32_t tasks = 0;
    Place place = {};
    std::string key = {};  ///< cache::entry_name of the entry's input
  };

  std::string maker;      ///< pack_identity() of the build that made it
  std::string generator;  ///< generator_text() of that build
  std::vector<Kernel> kernels;
  std::vector<Target> targets;
  std::vector<Code> codes;
};

inline constexpr std::string_view text_input = "kernel in text form";

/// The build of Weir whose kernels and code have the same meaning: entries of other builds are not used.
/// Unlike generator_identity() it is known without a code generator.
std::string pack_identity();

/// The build of Weir and its LLVM, for people.
std::string generator_text();

/// The file. `entries` are all entries, one after the other.
std::string encode_pack(const PackContents& contents, std::string_view entries);

/// A pack in memory. Immutable.
class PackFile {
 public:
  /// Throws Error{invalid} for bytes that are no pack, are truncated, have damaged contents, or are of
  /// another version of the format; `name` names them in messages. `bytes` must outlive this. Entries are not
  /// verified.
  PackFile(std::string_view bytes, const std::string& name);

  const PackContents& contents() const noexcept { return contents_; }
  /// The entry there; nothing when it is damaged.
  std::optional<cache::Entry> read(const PackContents::Place& place) const;
  /// The code for `input`; nothing when it is absent or damaged.
  std::optional<std::string> find(std::string_view input) const;

 private:
  PackContents contents_;
  std::string_view entries_;
  std::vector<std::pair<std::string_view, PackContents::Place>> by_key_;  // sorted
};

}  // namespace weir::compilation
