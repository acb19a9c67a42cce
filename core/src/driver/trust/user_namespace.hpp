// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <optional>

namespace weir {

/// The id that the kernel reports for every user that the user namespace of this process does not map.
/// Returns nothing when it maps all users, or when /proc is not mounted. A process whose own user is unmapped
/// has this id too.
std::optional<uid_t> unmapped_user();

}  // namespace weir
