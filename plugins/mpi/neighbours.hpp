// SPDX-License-Identifier: Apache-2.0
// The ranks of this machine that are present, and those that have ended. MPI reports neither: MPI_Init waits
// for all ranks without a limit, and a message from a killed rank never comes.
//
// Each rank listens on a socket that the kernel closes with the process, however it ends. The others connect
// and never send. Ranks of other machines are not covered; for them the limit of each call decides.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launch.hpp"

namespace weir::mpi {

class Neighbours {
 public:
  /// Begins to listen. Fails if another process has taken this rank.
  explicit Neighbours(const Launch& launch);
  Neighbours(const Neighbours&) = delete;
  Neighbours& operator=(const Neighbours&) = delete;

  /// Connects to the ranks that are present and returns the others. Empty if they cannot be known.
  std::vector<std::uint32_t> absent();
  /// The ranks that were present and have ended. One system call.
  std::vector<std::uint32_t> ended() const;

 private:
  bool connect_to(std::uint32_t rank);
  std::string name_of(std::uint32_t rank) const;

  const Launch launch_;
  std::vector<int> sockets_;  ///< by rank; -1 when not connected
};

}  // namespace weir::mpi
