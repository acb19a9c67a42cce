// SPDX-License-Identifier: Apache-2.0
#include "compilation/handshake.hpp"

#include "weir_build_identity.hpp"

namespace weir::compilation {

std::string_view greeting() {
  return build_greeting;
}

}  // namespace weir::compilation
