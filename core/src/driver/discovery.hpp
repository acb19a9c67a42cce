// SPDX-License-Identifier: Apache-2.0
// Takes the candidates of some folders from their manifests over a trial to their drivers: those of one name,
// or all.
#pragma once

#include <atomic>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "driver/manifest.hpp"
#include "driver/prober.hpp"
#include "driver/registry.hpp"

namespace weir {

/// One thread at a time examines; all others may ask meanwhile what is known.
class Discovery {
 public:
  /// `inspect` describes each driver from a process of its own, and loads none here where that is possible.
  enum class Purpose : bool { use, inspect };

  /// Reads the manifests. No library is touched, and no driver is tried.
  Discovery(std::span<const std::filesystem::path> folders, const ProbePolicy& policy,
            Purpose purpose = Purpose::use);

  /// Takes those that are called `name`, or all, to their end, and leaves the others, each of which may load
  /// its vendor's libraries and start them for half a second. Throws LayersError, behind which it may be
  /// called again.
  void examine(std::optional<std::string_view> name = std::nullopt);

  /// The usable driver of that name, null when there is none; nothing while that is not known.
  std::optional<const Candidate*> known(std::string_view name) const noexcept;
  bool all_known() const noexcept;

  /// In the order of the folders and of the names of manifests. Those that are not known are being changed.
  const std::vector<Candidate>& candidates() const { return candidates_; }
  std::vector<Candidate> take() && { return std::move(candidates_); }

 private:
  struct Examination {
    Manifest manifest;
    std::optional<Trial> trial;  ///< what is known of the driver, or the process that finds it out
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
  Prober prober_;
  std::vector<Candidate> candidates_;
  std::vector<Examination> examinations_;  ///< one for each candidate
};

}  // namespace weir
