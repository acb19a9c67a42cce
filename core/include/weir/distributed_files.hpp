// SPDX-License-Identifier: Apache-2.0
// Distributed arrays in NumPy's .npy files. Each rank reads and writes its own elements. Part of Weir::files.
// The file must be in a folder that all ranks can access.
//
// Collective, and waits on the host. A failure on a rank ends the group: the other ranks throw Error{rank}.
// Threads: as for the Distributed. Errors: as in <weir/files.hpp>.
#pragma once

#include <filesystem>
#include <weir/distributed.hpp>
#include <weir/files.hpp>

namespace weir {

/// Each rank reads its own elements of a file in C order; halos do not change. The components of a Vec or Mat are
/// the last dimensions in the file. Throws Error{invalid} if the file has another type or shape than `array`.
void read_npy(const StreamRef& stream, const std::filesystem::path& path, const AnyDistributed& array);

/// Each rank writes its own elements. The file is written as PATH.part and renamed when all ranks are done; a
/// failure keeps the previous file.
void write_npy(const StreamRef& stream, const std::filesystem::path& path, const AnyDistributed& array);

}  // namespace weir
