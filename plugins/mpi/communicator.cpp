// SPDX-License-Identifier: Apache-2.0
// The communicator `mpi`: ranks are processes that mpirun or srun starts.
#include <cstdio>

#include "group.hpp"

namespace weir::mpi {

struct Communicator {
  static constexpr const char* name = "mpi";
  static constexpr const char* version = WEIR_VERSION;
  static constexpr const char* vendor = "Weir";
  using Group = mpi::Group;

  static weir_communicator_info describe() {
    weir_communicator_info info{};
    info.capabilities = WEIR_COMMUNICATOR_PROCESSES;
    std::snprintf(info.library_version, sizeof info.library_version, "%s", library_version().c_str());
    const Launch launch = read_launch();
    info.launched_rank = launch.rank;
    info.launched_size = launch.size;
    return info;
  }
};

}  // namespace weir::mpi

WEIR_COMMUNICATOR(weir::mpi::Communicator)
