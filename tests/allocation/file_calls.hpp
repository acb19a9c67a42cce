// SPDX-License-Identifier: Apache-2.0
// Calls of Weir::files, in a library of their own: failing_allocator.cpp counts the allocations of libraries
// whose names begin with libweir-.
#pragma once

#include <filesystem>
#include <weir/files.hpp>

namespace weir::test {

/// Inputs of call_files(), which itself must allocate nothing.
struct FileInputs {
  std::filesystem::path npy, npz, png;
  HostArray table;    ///< f32, (8, 4)
  HostArray picture;  ///< u8, (30, 10)
  HostArrays both;
};

/// Writes and reads each kind of file. Returns the name of a wrong result, or null.
[[gnu::visibility("default")]] const char* call_files(const StreamRef& stream, const FileInputs& inputs);

}  // namespace weir::test
