// SPDX-License-Identifier: Apache-2.0
// A code object in memory. The driver maps it instead of the dynamic linker, which accepts only files and
// trusts their contents. Files would fail with a full disk, a limit of file sizes or a missing /proc.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "code/elf_file.hpp"
#include "code/unwind_tables.hpp"

namespace weir::cpu {

class CodeImage {
 public:
  /// Maps a copy of the file, binds its symbols and runs its initialisation. References are resolved first in
  /// the object, then in the process, then in the libraries that the object needs. Throws ElfError when the
  /// file cannot be loaded, and Failure when the system provides no memory. `name` is for debuggers.
  /// Thread-safe.
  CodeImage(const ElfFile& file, const std::string& name);
  ~CodeImage();
  CodeImage(const CodeImage&) = delete;
  CodeImage& operator=(const CodeImage&) = delete;

  /// The address of an exported function; null when no function has that name.
  void* function(std::string_view name) const noexcept;

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept {
      return std::hash<std::string_view>{}(text);
    }
  };
  using Functions = std::unordered_map<std::string, std::byte*, Hash, std::equal_to<>>;
  using Initialisation = void (*)(int, char**, char**);

  void map(const ElfFile& file);
  void open_needed(const ElfFile& file);
  void relocate(const ElfFile& file);
  std::byte* address_of(const ElfFile& file, const ElfFile::Symbol& symbol) const;
  void protect(const ElfFile& file);
  void read_initialisation(const ElfFile& file);
  void release() noexcept;
  std::byte* at(std::uint64_t address) const noexcept { return memory_ + (address - first_); }

  std::byte* memory_ = nullptr;
  std::size_t size_ = 0;
  std::byte* reserved_ = nullptr;  // contains memory_ at its alignment
  std::size_t reserved_bytes_ = 0;
  std::uint64_t first_ = 0;
  std::vector<void*> needed_;  // of dlopen
  Functions functions_;
  std::vector<Initialisation> begin_;
  std::vector<void (*)()> end_;
  std::optional<UnwindTables> unwind_tables_;
  struct DebuggerEntry* debugger_ = nullptr;
};

}  // namespace weir::cpu
