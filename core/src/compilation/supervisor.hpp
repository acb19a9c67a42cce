// SPDX-License-Identifier: Apache-2.0
// The supervising part of weir-codegen: it starts workers and reports how they end.
#pragma once

#include <chrono>

#include "compilation/library.hpp"

namespace weir::compilation {

/// Starts a worker for each pair of descriptors received over `socket` (handshake.hpp). Returns, with all
/// workers ended, when the socket is closed or when there has been no worker for `idle`.
void supervise(Library& library, int socket, std::chrono::milliseconds idle);

}  // namespace weir::compilation
