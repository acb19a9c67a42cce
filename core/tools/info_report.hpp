// SPDX-License-Identifier: Apache-2.0
// The reports of `weir info`, as functions of the loader's findings.
#pragma once

#include <span>
#include <string>

#include "driver/registry.hpp"

namespace weir::tool {

/// Whether there is a usable driver.
bool any_usable(std::span<const Candidate> candidates);

/// The compile cache, for the report.
struct CacheState {
  std::string folder;   ///< "" when none is named
  std::string why_off;  ///< "" when it is in use
};

/// The report for people about drivers and communicators. Text from drivers and file names is made printable.
std::string info_text(std::span<const SearchFolder> folders, std::span<const Candidate> candidates,
                      const CacheState& cache, bool coloured);

/// The report for programs: one JSON object with the keys weir_version, abi_version, usable, folders,
/// drivers, communicator_folders, communicators, cache. Later versions may add keys but never remove or
/// rename them.
std::string info_json(std::span<const SearchFolder> folders, std::span<const Candidate> candidates,
                      const CacheState& cache);

/// A capability bit, its key in JSON, and a phrase that follows "can".
struct CapabilityWords {
  std::uint64_t bit;
  const char* key;
  const char* words;
};
std::span<const CapabilityWords> all_capabilities();
/// The same for communicators.
std::span<const CapabilityWords> all_communicator_capabilities();

/// "2 drivers", "does not exist", "cannot be read: ..." or the reason why it is ignored.
std::string folder_state(const SearchFolder& folder, std::span<const Candidate> candidates);

/// The JSON word for a driver's status; it never changes.
const char* status_key(DriverStatus status);

/// The JSON word for the place of the trial; it never changes.
const char* probe_key(ProbePlace place);

const char* kind_word(std::uint32_t kind);

}  // namespace weir::tool
