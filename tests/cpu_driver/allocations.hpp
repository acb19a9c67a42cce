// SPDX-License-Identifier: Apache-2.0
// The allocations of this process by operator new, the driver's too; failed_stream_test.cpp replaces it.
#pragma once

#include <atomic>
#include <cstddef>
#include <limits>

namespace cpu_test {

extern std::atomic<std::size_t> allocations;               ///< their number
extern std::atomic<bool> only_the_first_thread_allocates;  ///< others get no memory
extern std::atomic<std::size_t> refused_size;              ///< larger ones get no memory

}  // namespace cpu_test
