// SPDX-License-Identifier: Apache-2.0
// Verdicts of earlier probes, stored in a small file of the user's cache folder.
//
//   weir-probes 3
//   <key> <seconds since 1970> <outcome>      one line per driver, at most 128
//   <hash of everything before this line>
//
// A file with any fault counts as empty.
#pragma once

#include <cstdint>
#include <ctime>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "driver/probe/probe_outcome.hpp"

namespace weir {

struct Manifest;

/// Identifies a driver by the contents of its manifest and its library, and the ABI version. If the manifest
/// names libraries of a vendor, the places where the system finds them count too. Empty when a file cannot be
/// read.
std::string verdict_key(const std::filesystem::path& manifest_file, const Manifest& manifest);

class Verdicts {
 public:
  /// With an empty `file`, no verdicts are kept.
  explicit Verdicts(std::filesystem::path file) : file_(std::move(file)) {}

  /// Reads the file at the first call. The verdict of a driver that did not complete expires after a day,
  /// because the cause may have been temporary.
  std::optional<ProbeOutcome> find(const std::string& key, std::int64_t now = std::time(nullptr));

  void add(const std::string& key, const ProbeOutcome& outcome);

  /// Writes the new verdicts, and those that other processes have written since, to a new file that replaces
  /// the old one atomically.
  void save() noexcept;

  /// The reason why verdicts are not recorded, or why the recorded ones are ignored; empty without a problem.
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
