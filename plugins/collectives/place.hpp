// SPDX-License-Identifier: Apache-2.0
// This process's rank, and the place where the ranks of a group meet.
#pragma once

#include <cstdint>
#include <string>
#include <weir/sdk/communicator.hpp>

namespace weir::collectives {

struct Place {
  std::uint32_t rank = 0;
  std::uint32_t size = 0;  ///< 0: no launcher
  std::string by;          ///< the variables that were found: "RANK=1, WORLD_SIZE=4"
  /// Where rank 0 waits for the others: "unix:NAME", "tcp:HOST:PORT" or "file:PATH", where it writes its TCP
  /// address. Empty if the launcher gives none.
  std::string meeting;
  std::uint32_t number = 0;  ///< of the group among those at this place
};

/// The launcher's place, from the environment of torchrun, Open MPI's mpirun or Slurm's srun. Throws a
/// Failure with WEIR_ERROR_INVALID for values that contradict each other.
Place read_launch();

/// The place of a group. Ranks that a launcher started number their groups in the order of joining. Throws a
/// Failure with WEIR_ERROR_INVALID.
Place place_of(const weir_group_options& options);

}  // namespace weir::collectives
