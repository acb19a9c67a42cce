// SPDX-License-Identifier: Apache-2.0
// The compiling process. It has one thread, so that a fault in one compilation does not end another.
#pragma once

#include <chrono>

#include "compilation/library.hpp"

namespace weir::compilation {

/// Answers the requests from `socket` until it is closed or none has arrived for `idle`.
[[noreturn]] void work(Library& library, int socket, std::chrono::milliseconds idle);

}  // namespace weir::compilation
