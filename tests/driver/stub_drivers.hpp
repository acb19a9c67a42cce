// SPDX-License-Identifier: Apache-2.0
// The drivers that stubs/stub.c makes, and the status that each gets.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "driver_folder.hpp"

namespace weir::test {

enum class StubStatus {
  refused,    ///< broken, and `words` are in the reason
  reported,   ///< usable, and `words` are in the notes
  unnoticed,  ///< usable, and nothing is reported
};

struct Stub {
  std::string when, what;
  StubStatus status;
  std::string words;
  std::string name() const { return when + "-" + what; }
};

/// One for each side effect and moment that mean something together.
std::vector<Stub> stub_drivers();

/// Those that do not return within a limit of 1.5 s.
std::vector<Stub> hanging_stub_drivers();

/// Puts the stub of that name into the folder.
void add_stub(const DriverFolder& folder, const std::string& name);

/// Gone, or a zombie that no process reaps.
bool has_ended(pid_t process);

}  // namespace weir::test
