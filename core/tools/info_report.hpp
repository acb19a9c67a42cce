// SPDX-License-Identifier: Apache-2.0
// What `weir info` prints, as functions of what the loader found.
#pragma once

#include <span>
#include <string>

#include "driver/registry.hpp"

namespace weir::tool {

bool any_usable(std::span<const Candidate> candidates);

/// For people. Text that comes from drivers and file names is made printable.
std::string info_text(std::span<const SearchFolder> folders, std::span<const Candidate> candidates,
                      bool coloured);

/// For programs: one JSON object with the keys weir_version, abi_version, usable, folders, drivers. Keys are
/// only ever added.
std::string info_json(std::span<const SearchFolder> folders, std::span<const Candidate> candidates);

/// A capability bit, its key in JSON, and words that follow "can".
struct CapabilityWords {
  std::uint64_t bit;
  const char* key;
  const char* words;
};
std::span<const CapabilityWords> all_capabilities();

/// "2 drivers", "not there", "cannot be read: ..." or why it is ignored.
std::string folder_state(const SearchFolder& folder, std::span<const Candidate> candidates);

/// The word for a fate in JSON, which never changes.
const char* status_key(DriverStatus status);

/// The same for where it was probed.
const char* probe_key(ProbePlace place);

const char* kind_word(std::uint32_t kind);

}  // namespace weir::tool
