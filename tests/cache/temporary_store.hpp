// SPDX-License-Identifier: Apache-2.0
// A store in a new folder, which its destructor removes.
#pragma once

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "cache/maintenance.hpp"
#include "cache/store.hpp"
#include "compilation/cache_policy.hpp"
#include "temporary_file.hpp"
#include "temporary_folder.hpp"

namespace weir::test {

namespace fs = std::filesystem;

/// The store that a program uses, with its warnings in `warnings`.
class TemporaryStore {
 public:
  explicit TemporaryStore(fs::path folder, std::uint64_t limit = std::uint64_t{1} << 30)
      : folder(std::move(folder)) {
    restart(limit);
  }
  /// As a new process does.
  void restart(std::uint64_t limit = std::uint64_t{1} << 30) {
    compilation::CachePolicy policy;
    policy.folder = folder;
    policy.named = true;
    policy.limit = limit;
    cache::Settings settings = compilation::cache_settings(policy);
    settings.warn = [this](const std::string& problem) { warnings.push_back(problem); };
    store.reset();
    store = std::make_unique<cache::Store>(std::move(settings));
  }

  cache::Store* operator->() { return store.get(); }
  fs::path file(const std::string& input) const { return folder / cache::entry_name(input); }

  const fs::path folder;
  std::vector<std::string> warnings;
  std::unique_ptr<cache::Store> store;
};

inline cache::Entry entry(const std::string& input, const std::string& code, double seconds = 0.5) {
  return {"a kernel", input, code, seconds};
}

inline std::string bytes_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void write_bytes(const fs::path& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
}

}  // namespace weir::test
