// SPDX-License-Identifier: Apache-2.0
// The packs of this process: read-only caches, which launches search before the cache on disk.
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "codegen/codegen.hpp"
#include "compilation/pack_file.hpp"
#include "compilation/task_groups.hpp"

namespace weir::detail {

/// A pack in memory. Immutable.
struct LoadedPack {
  LoadedPack(std::string name, std::string bytes);
  /// `bytes` are not copied.
  LoadedPack(std::string name, std::string_view bytes);
  LoadedPack(const LoadedPack&) = delete;
  LoadedPack& operator=(const LoadedPack&) = delete;

  bool usable() const { return file.contents().maker == compilation::pack_identity(); }

  const std::string name;
  const std::string own_bytes;
  const compilation::PackFile file;
  std::optional<struct stat> state;  ///< of the file that was read
};

}  // namespace weir::detail

namespace weir::compilation {

using LoadedPack = std::shared_ptr<const detail::LoadedPack>;

/// Reads a pack. `trusted`: refuses a file that others may write. Throws as Pack::load does.
LoadedPack read_pack(const std::filesystem::path& file, bool trusted);

/// Adds a pack to those of this process, which keeps it until its end. Returns the pack that was added before
/// if the same file was and has not changed since. Thread-safe and safe in a forked child.
LoadedPack add_pack(LoadedPack pack);

/// The packs of this process, the last one added first.
std::vector<LoadedPack> packs();

/// Finds code for all `groups` in the packs of this process, and calls `accept` with it until it returns
/// true. `loads` are the targets of the device, in its order, with the assumptions of the launch. Code for a
/// target that the device lists comes first, then that for other targets of its formats, which its driver
/// may refuse. Leaves out code that needs features or blocks that the device lacks. Returns whether some code
/// was accepted.
bool find_packed(const ir::Kernel& kernel, std::span<const TaskGroup> groups,
                 std::span<const codegen::Target> loads,
                 const std::function<bool(std::vector<codegen::CodeObject>&&)>& accept);

/// The code of the packs for the kernel, for the message that there is none for a device that loads `loads`;
/// "" when this process has no packs.
std::string describe_packs(const std::string& kernel, std::span<const codegen::Target> loads);

/// "ptx:sm_90:+ptx86", as `weir compile --target` takes it.
std::string describe_target(const std::string& format, const std::string& cpu, const std::string& features);

}  // namespace weir::compilation
