// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace weir::test {

/// The number of calls of pthread_mutex_lock on this thread, which std::mutex uses.
std::uint64_t locks_of_this_thread() noexcept;

}  // namespace weir::test
