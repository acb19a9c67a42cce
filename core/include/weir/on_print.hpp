// SPDX-License-Identifier: Apache-2.0
// The lines that kernels print; see weir::print in weir/dsl/print.hpp.
#pragma once

#include <functional>
#include <string_view>
#include <weir/export.hpp>

namespace weir {

/// Passes the lines that kernels print to `receive` instead of standard output; an empty function restores
/// standard output. A line has no newline at its end. Applies to the whole process, to lines shown later.
///
/// `receive` is called by the thread that waits for a stream, once for each line, in their order. Several
/// threads may call it at the same time. It must not wait for streams. Its exceptions are ignored.
/// Thread-safe. Throws Error{system} if there is no memory.
WEIR_API void on_print(std::function<void(std::string_view line)> receive);

}  // namespace weir
