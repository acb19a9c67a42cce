// SPDX-License-Identifier: Apache-2.0
// The locks of tables that belong to the whole process. A fork waits until they are free, so that its child
// finds each table whole, and its lock free, whatever other threads of the parent were doing.
#pragma once

#include <cstdint>
#include <mutex>

namespace weir::detail {

/// In the order in which a thread may hold several.
enum class ProcessTable : std::uint8_t { devices, traced_kernels, names, failure_sites, print_output, kept };
inline constexpr std::size_t process_tables = 6;

/// While a thread holds it, the thread neither forks nor calls a driver or a function of the program.
std::mutex& mutex_of(ProcessTable table) noexcept;

}  // namespace weir::detail
