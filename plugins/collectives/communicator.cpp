// SPDX-License-Identifier: Apache-2.0
// The communicators `nccl` and `rccl`: every rank has a separate device. vendor.cpp of each has the
// differences.
#include <cstdio>

#include "group.hpp"

namespace weir::collectives {

struct Communicator {
  static constexpr const char* name = WEIR_COMMUNICATOR_NAME;
  static constexpr const char* version = WEIR_VERSION;
  static constexpr const char* vendor = "Weir";
  using Group = collectives::Group;

  static weir_communicator_info describe() {
    weir_communicator_info info{};
    info.capabilities =
        WEIR_COMMUNICATOR_STREAM_ORDER | WEIR_COMMUNICATOR_THREADS | WEIR_COMMUNICATOR_PROCESSES;
    std::snprintf(info.library_version, sizeof info.library_version, "%s", nccl_version().c_str());
    info.direct_count = 1;
    std::snprintf(info.direct[0], sizeof info.direct[0], "%s", collectives::vendor.driver);
    const Place launch = read_launch();
    info.launched_rank = launch.rank;
    info.launched_size = launch.size;
    return info;
  }
};

}  // namespace weir::collectives

WEIR_COMMUNICATOR(weir::collectives::Communicator)
