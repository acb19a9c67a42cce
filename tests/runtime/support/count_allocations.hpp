// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace weir::test {

/// The number of calls of operator new on this thread. Always 0 under sanitizers, which replace the operator.
std::uint64_t allocations_of_this_thread() noexcept;
/// The same for all threads.
std::uint64_t allocations_of_all_threads() noexcept;

}  // namespace weir::test
