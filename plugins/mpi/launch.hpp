// SPDX-License-Identifier: Apache-2.0
// This process's rank among those that a launcher started, from the environment.
#pragma once

#include <cstdint>
#include <string>

namespace weir::mpi {

struct Launch {
  std::uint32_t rank = 0;
  std::uint32_t size = 0;    ///< 0: no launcher
  std::string by;            ///< the variables that were found: "OMPI_COMM_WORLD_SIZE=4"
  std::string job;           ///< names the job on this machine; empty if the launcher names none
  bool one_machine = false;  ///< all ranks run on this machine
  bool usable = true;        ///< false: the launcher does not serve Open MPI
};

/// Fails with WEIR_ERROR_INVALID if the variables contradict each other.
Launch read_launch();

}  // namespace weir::mpi
