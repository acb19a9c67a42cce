// SPDX-License-Identifier: Apache-2.0
// The ranks of a group meet at rank 0, which sends all of them the table of addresses.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "place.hpp"
#include "wire.hpp"

namespace weir::collectives {

using UniqueId = std::array<char, 128>;

/// A rank's entry in the table.
struct Member {
  char address[160] = "";  ///< at which the rank listens
  char device[120] = "";   ///< machine and device; empty for host memory only. No two ranks have the same
};

/// The result of a meeting.
struct Table {
  Socket listener;  ///< of this rank
  std::vector<Member> members;
  std::uint64_t token = 0;  ///< that connections of the group begin with
  UniqueId id{};            ///< from rank 0, if the ranks have devices
};

/// Meets the other ranks. `device` is the entry of this rank; `make_id` runs on rank 0. After the limit,
/// throws a Failure with WEIR_ERROR_RANK and the missing ranks. Throws one with WEIR_ERROR_INVALID on all
/// ranks if their options differ or two ranks have the same device.
Table meet(const Place& place, const weir_group_options& options, const std::string& device,
           const std::function<UniqueId()>& make_id);

}  // namespace weir::collectives
