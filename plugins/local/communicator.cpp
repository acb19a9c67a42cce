// SPDX-License-Identifier: Apache-2.0
// The communicator `local`: ranks are threads of one process.
#include "group.hpp"

namespace weir::local {

struct Communicator {
  static constexpr const char* name = "local";
  static constexpr const char* version = WEIR_VERSION;
  static constexpr const char* vendor = "Weir";
  using Group = local::Group;

  static weir_communicator_info describe() {
    weir_communicator_info info{};
    info.capabilities = WEIR_COMMUNICATOR_THREADS;
    return info;
  }
};

}  // namespace weir::local

WEIR_COMMUNICATOR(weir::local::Communicator)
