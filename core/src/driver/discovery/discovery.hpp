// SPDX-License-Identifier: Apache-2.0
// Processes the driver candidates of a list of folders, from the manifest through the trial to the loaded
// driver: the candidates of one name, or all.
#pragma once

#include <atomic>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "driver/discovery/manifest.hpp"
#include "driver/probe/prober.hpp"
#include "driver/registry.hpp"

namespace weir {

/// Only one thread may call examine at a time; other threads may call known at the same time.
class Discovery {
 public:
  /// `inspect` describes each driver from a separate process and loads none here where that is possible.
  enum class Purpose : bool { use, inspect };

  /// Reads the manifests. Opens no library and tries no driver.
  Discovery(std::span<const std::filesystem::path> folders, const ProbePolicy& policy,
            Purpose purpose = Purpose::use, PluginKind kind = PluginKind::driver);

  /// Finishes the candidates called `name`, or all. Leaves the others untouched, because each may load its
  /// vendor's libraries and initialise them for half a second. May be called again after it throws
  /// LayersError.
  void examine(std::optional<std::string_view> name = std::nullopt);

  /// The usable driver of that name, or null when there is none. Returns nothing before that is decided.
  std::optional<const Candidate*> known(std::string_view name) const noexcept;
  bool all_known() const noexcept;

  /// In the order of the folders and of the manifests' names. A thread in examine changes unfinished
  /// candidates.
  const std::vector<Candidate>& candidates() const { return candidates_; }
  std::vector<Candidate> take() && { return std::move(candidates_); }

 private:
  struct Examination {
    Manifest manifest;
    std::optional<Trial> trial;  ///< its verdict, or the process that determines it
    bool refused = false;
    std::atomic<bool> done{false};
  };

  template <class Step>
  void take_step(std::size_t number, Step step);
  void begin(std::size_t number);
  void finish(std::size_t number);
  const Candidate* find_namesake(std::size_t number) const;
  void try_out(std::size_t number);

  Purpose purpose_;
  PluginKind kind_;
  Prober prober_;
  std::vector<Candidate> candidates_;
  std::vector<Examination> examinations_;  ///< one for each candidate
};

}  // namespace weir
