// SPDX-License-Identifier: Apache-2.0
// The drivers that stubs/stub.c implements, and the status of each.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "driver_folder.hpp"

namespace weir::test {

enum class StubStatus {
  refused,    ///< broken; the reason contains `words`
  reported,   ///< usable; the notes contain `words`
  unnoticed,  ///< usable; nothing is reported
};

struct Stub {
  std::string when, what;
  StubStatus status;
  std::string words;
  std::string name() const { return when + "-" + what; }
};

/// One for each useful combination of side effect and moment.
std::vector<Stub> stub_drivers();

/// The drivers that do not return within a limit of 1.5 s.
std::vector<Stub> hanging_stub_drivers();

/// Adds the stub of that name to the folder.
void add_stub(const DriverFolder& folder, const std::string& name);

/// Whether the process is gone, or a zombie that no process reaps.
bool has_ended(pid_t process);

}  // namespace weir::test
