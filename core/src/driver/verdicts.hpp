// SPDX-License-Identifier: Apache-2.0
// What is known of drivers that were probed before, in a small file of the user's cache folder.
//
//   weir-probes 3
//   <key> <seconds since 1970> <outcome>      one line per driver, at most 128
//   <hash of everything before this line>
//
// Whatever is wrong with the file means that nothing is known.
#pragma once

#include <cstdint>
#include <ctime>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "driver/probe_outcome.hpp"

namespace weir {

struct Manifest;

/// Names a driver by what is in its manifest and its library, the ABI that is spoken, and, when the manifest
/// names libraries of a vendor, where the system finds those. Empty when a file cannot be read.
std::string verdict_key(const std::filesystem::path& manifest_file, const Manifest& manifest);

class Verdicts {
 public:
  /// `file` is empty when nothing is to be kept.
  explicit Verdicts(std::filesystem::path file) : file_(std::move(file)) {}

  /// Reads the file at the first call. A driver that did not complete is forgotten after a day, so that
  /// trouble of a moment is not held against it for ever.
  std::optional<ProbeOutcome> find(const std::string& key, std::int64_t now = std::time(nullptr));

  void add(const std::string& key, const ProbeOutcome& outcome);

  /// Writes what was added, and what other processes wrote meanwhile, to a new file that takes the old one's
  /// place at once.
  void save() noexcept;

  /// Why verdicts are not kept, or those that are there not believed; empty when all is well.
  const std::string& problem() const { return problem_; }

 private:
  struct Entry {
    std::int64_t time;
    ProbeOutcome outcome;
  };
  using Entries = std::map<std::string, Entry, std::less<>>;

  Entries read();
  static Entries parse(std::string_view text);
  static std::string print(const Entries& entries);
  void write(const std::string& text);

  std::filesystem::path file_;
  bool was_read_ = false;
  Entries known_, added_;
  std::string problem_;
};

}  // namespace weir
