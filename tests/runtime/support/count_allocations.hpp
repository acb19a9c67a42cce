// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace weir::test {

/// How often this thread has called operator new. Counts nothing under sanitizers, which have their own.
std::uint64_t allocations_of_this_thread() noexcept;

}  // namespace weir::test
