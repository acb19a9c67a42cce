// SPDX-License-Identifier: Apache-2.0
// The communicator under test: found by name or path, loaded once, and called through its table.
#pragma once

#include <weir/communicator.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "driver/driver_under_test.hpp"

namespace weir::conformance {

/// As find_driver.
DriverFile find_communicator(std::string_view what);

/// The subject of this process's tests. Set before the first test.
struct RanksUnderTest {
  DriverFile file;
  std::uint32_t ranks = 3;
  std::string launcher;  ///< of ranks that are processes
  std::chrono::seconds patience{10};
};
RanksUnderTest& ranks_under_test();

/// Returns the entry point. The first call loads the library and throws if that fails.
weir_communicator_entry_function communicator_entry();
/// The table that the entry point returns to a host of this version.
const weir_communicator_table& communicator_table();
/// Throws Skipped with the reason if the vendor's library is missing.
const weir_communicator_info& communicator_info();
/// Whether the ranks are threads of this process; otherwise a launcher starts them.
bool ranks_are_threads();

/// result_name, with the results of communicators.
std::string communicator_result_name(weir_result result);

/// As describe_driver.
int describe_communicator(int output);

}  // namespace weir::conformance
