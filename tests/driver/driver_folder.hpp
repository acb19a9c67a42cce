// SPDX-License-Identifier: Apache-2.0
// A folder of driver candidates that a test fills; its destructor removes it.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "driver/probe/prober.hpp"
#include "driver/registry.hpp"
#include "places.hpp"
#include "temporary_folder.hpp"

namespace weir::test {

namespace fs = std::filesystem;

class DriverFolder {
 public:
  const fs::path& path() const { return folder_.path(); }

  fs::path write(const std::string& name, const std::string& content) const {
    std::ofstream(path() / name, std::ios::binary) << content;
    restrict(path() / name);
    return path() / name;
  }

  static nlohmann::json manifest(const std::string& name, const std::string& library) {
    return {{"name", name},
            {"library", library},
            {"abi", {{"min", "1.0"}, {"max", "1.0"}}},
            {"architecture", WEIR_MACHINE}};
  }

  void add_manifest(const std::string& name, const nlohmann::json& manifest) const {
    write(name + ".json", manifest.dump());
  }

  /// Copies the driver built from broken/<source> here, with a manifest for `name`.
  void add_driver(const std::string& source, const std::string& name) const {
    const std::string library = source + ".so";
    fs::copy_file(built("tests/driver/broken") / library, path() / library,
                  fs::copy_options::overwrite_existing);
    restrict(path() / library);
    add_manifest(name, manifest(name, library));
  }

  /// Probes with the built weir-probe, and stores verdicts in this folder.
  ProbePolicy policy() const {
    return {built("lib/weir/weir-probe"), {}, path() / "cache/weir/probes", std::chrono::seconds(20)};
  }

  std::vector<Candidate> find() const { return find(policy()); }
  std::vector<Candidate> find(const ProbePolicy& policy) const {
    const std::array folders{path()};
    return find_drivers(folders, policy);
  }

  /// The only candidate in the folder.
  Candidate find_one() const { return find_one(policy()); }
  Candidate find_one(const ProbePolicy& policy) const {
    std::vector<Candidate> found = find(policy);
    if (found.size() != 1)
      throw std::runtime_error("one candidate was expected, found " + std::to_string(found.size()));
    return std::move(found.front());
  }

 private:
  // Independent of the umask of the user who runs the tests.
  static void restrict(const fs::path& file) { chmod(file.c_str(), 0644); }

  const TemporaryFolder folder_;
};

}  // namespace weir::test
