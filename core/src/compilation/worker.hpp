// SPDX-License-Identifier: Apache-2.0
// The process that compiles. It has one thread, so that what one compilation breaks ends no other.
#pragma once

#include <chrono>

#include "compilation/library.hpp"

namespace weir::compilation {

/// Answers the requests that come over `socket` until it is closed or none has come for `idle`.
[[noreturn]] void work(Library& library, int socket, std::chrono::milliseconds idle);

}  // namespace weir::compilation
