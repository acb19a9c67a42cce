// SPDX-License-Identifier: Apache-2.0
// Packs: files of compiled kernels, so that programs start without weir-codegen and LLVM.
// sdk/docs/guides/packs.md explains them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>
#include <weir/compile.hpp>
#include <weir/export.hpp>
#include <weir/program.hpp>

namespace weir {

namespace detail {
struct LoadedPack;
struct PackDraft;
}  // namespace detail

/// One piece of code in a pack: some tasks of one kernel, for one target and set of assumptions.
struct PackedCode {
  std::size_t kernel = 0;   ///< position in Pack::kernels()
  CompileTarget target;     ///< `assume` holds the assumptions of the launches that it serves
  std::uint32_t tasks = 0;  ///< of the kernel, that it contains
  std::uint64_t bytes = 0;  ///< in the file
  bool sound = false;       ///< its checksum is right
};

/// A loaded pack: a cheap handle. The code of a loaded pack serves the launches of every Kernel and Program
/// of the process, for as long as the process runs. Every function may be called from several threads;
/// those of a moved-from Pack throw Error{invalid}.
class WEIR_API Pack {
 public:
  /// Reads a file that PackBuilder or `weir compile` wrote. Loading a file again while it is unchanged
  /// returns the same pack. Throws Error{system} when the file cannot be read or others may write it. Throws
  /// Error{invalid} if it is no pack, is truncated, has a damaged list of contents, or is of another version
  /// of the file format. A pack of another build of Weir is loaded: its kernels can be listed and read, and
  /// their code is generated again.
  static Pack load(const std::string& file);

  /// A pack inside the program, as weir_add_kernels() puts it there. `bytes` must live as long as the
  /// process. Writes a warning to standard error instead of throwing, because it runs before main().
  static Pack embedded(std::span<const std::byte> bytes, std::string_view name) noexcept;

  /// Reads the contents of a file without making its code available to launches, so that the file may belong
  /// to another user. Throws as load() does.
  static Pack examine(const std::string& file);

  /// The file, or the name of an embedded pack.
  const std::string& name() const;
  /// The build of Weir that made the pack, and its LLVM.
  const std::string& maker() const;
  /// Whether this build of Weir can use the code.
  bool usable() const;
  /// The names of the kernels, in the order in which they were added.
  std::vector<std::string> kernels() const;
  /// The kernel of that name, with its source locations. Throws Error{not_found} that lists the names, and
  /// Error{invalid} when its text is damaged or several kernels have the name.
  Program program(std::string_view name) const;
  /// The kernel at that position of kernels(); likewise.
  Program program(std::size_t position) const;
  /// All code, in the order of kernels, targets and assumptions. Reads the whole pack.
  std::vector<PackedCode> code() const;

  explicit Pack(std::shared_ptr<const detail::LoadedPack> state) noexcept : state_(std::move(state)) {}

 private:
  std::shared_ptr<const detail::LoadedPack> state_;
};

/// Makes a pack. Not thread-safe.
class WEIR_API PackBuilder {
 public:
  PackBuilder();
  PackBuilder(PackBuilder&&) noexcept;
  PackBuilder& operator=(PackBuilder&&) noexcept;
  ~PackBuilder();

  /// Adds a target for the kernels that are added later. If several of its kind run on a device, launches
  /// take the one that the device lists, else the one that was added first. Code is generated for launches
  /// that meet `target.assume` ("": the assumptions that most launches meet), and for all other launches.
  /// Throws Error{invalid} for the processor "native", whose meaning differs between machines, and for words
  /// that are no assumptions.
  void add_target(const CompileTarget& target);

  /// Compiles the kernel for all targets. Kernels may have equal names, as those that a template makes.
  /// Throws Error{invalid} without targets, and as compile() does; the pack then stays as it was.
  void add(const Program& program);

  /// Writes the file; a file of that name is replaced at once. The same kernels and targets give the same
  /// bytes. Throws Error{system}.
  void write(const std::string& file) const;

 private:
  std::unique_ptr<detail::PackDraft> draft_;
};

namespace detail {

/// For the program that weir_add_kernels() builds and runs once: keeps every Program that is made from now
/// on, so that pack_main() finds them.
WEIR_API void keep_programs();
/// main() of that program: `FILE --target TARGET... [--assume WORDS]... [--text IR-FILE]...`. Returns the
/// exit status.
WEIR_API int pack_main(int argc, char** argv) noexcept;

}  // namespace detail

}  // namespace weir
