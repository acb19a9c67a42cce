// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "isa/code/program.hpp"
#include "runtime/memory_table.hpp"

namespace weir::hipsim {

/// One argument of a kernel, from the metadata of the code object.
struct KernelArgument {
  std::string kind;  ///< such as "by_value", "global_buffer", "hidden_block_count_x"
  std::uint32_t offset = 0, size = 0;
  bool hidden() const { return kind.starts_with("hidden_"); }
};

/// A kernel: its descriptor and metadata.
struct Kernel {
  std::string name;
  std::vector<KernelArgument> arguments;
  std::uint32_t argument_bytes = 0;  ///< size of the argument segment, hidden arguments included
  std::uint32_t explicit_bytes = 0;  ///< size of the program's arguments
  std::uint32_t lds_bytes = 0, private_bytes = 0, max_threads = 1024;
  std::uint32_t sgpr_count = 0, vgpr_count = 0, agpr_count = 0;
  bool dynamic_stack = false;
  unsigned lanes = 64;                                        ///< in a wave
  std::uint32_t resource1 = 0, resource2 = 0, resource3 = 0;  ///< COMPUTE_PGM_RSRC1 to 3
  std::uint16_t properties = 0, preload = 0;
  std::uint64_t entry = 0;       ///< address of the first instruction
  std::uint64_t descriptor = 0;  ///< address of the descriptor
};

/// The reason why a code object cannot be loaded.
struct CodeObjectError : std::runtime_error {
  CodeObjectError(bool wrong_target, const std::string& what)
      : std::runtime_error(what), wrong_target(wrong_target) {}
  bool wrong_target;  ///< valid, but for another device
};

/// The device that code is loaded for.
struct Target {
  std::string architecture;  ///< such as "gfx90a"
  bool xnack = false, sramecc = false;
  int device = 0;
};

/// A loaded HSACO: its segments in memory, its kernels, its variables.
class CodeObject {
 public:
  /// Loads an image and adds its memory to `table`. Throws CodeObjectError.
  CodeObject(std::span<const std::uint8_t> image, const Target& target, MemoryTable& table);
  ~CodeObject();
  CodeObject(const CodeObject&) = delete;
  CodeObject& operator=(const CodeObject&) = delete;

  const Kernel* kernel(const std::string& name) const;
  const std::map<std::string, Kernel>& kernels() const { return kernels_; }
  struct Variable {
    std::uint64_t address = 0, size = 0;
  };
  const Variable* variable(const std::string& name) const;
  /// The code, decoded for waves of 32 or 64 lanes at the first call. Thread-safe.
  const Program& program(unsigned lanes) const;
  const std::string& architecture() const { return target_.architecture; }

 private:
  void load_segments(std::span<const std::uint8_t> image);
  void read_symbols(std::span<const std::uint8_t> image);
  void read_metadata(std::span<const std::uint8_t> image);
  void check_target(std::string_view name) const;

  Target target_;
  MemoryTable& table_;
  std::shared_ptr<Allocation> memory_;
  std::span<const std::uint8_t> code_;
  std::uint64_t bias_ = 0;  // add this to an address of the file
  std::map<std::string, Kernel> kernels_;
  std::map<std::string, Variable> symbols_;
  mutable std::mutex mutex_;
  mutable std::unique_ptr<Program> programs_[2];
};

/// The size of the ELF file at `image` according to its headers, for images that are given by their address
/// alone. 0 if it is not an ELF file.
std::size_t elf_size(const void* image);

}  // namespace weir::hipsim
