// SPDX-License-Identifier: Apache-2.0
// The interface of libweir-codegen, which the core opens on first use so that LLVM stays out of processes
// that only load ready code. One C symbol gives one table; everything behind it is C++ of the same build.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ir/ir.hpp"
#include "ir/task.hpp"

namespace weir::codegen {

/// What to generate code for: a weir_code_target and what generation must know of the device.
struct Target {
  std::string format;    ///< "elf-x86_64", ...
  std::string cpu;       ///< LLVM's -mcpu; "native" is the machine this runs on
  std::string features;  ///< LLVM's -mattr, or ""
  std::uint32_t lanes = 1;
  std::uint32_t max_block_threads = 1;
};

/// A finished code object with one entry per task, in the order of the request.
struct CodeObject {
  struct Entry {
    std::string symbol;
    std::uint32_t block[3] = {1, 1, 1};  ///< threads per block to launch with
    std::uint32_t dynamic_shared_bytes = 0;
  };
  std::string format;
  std::string target;
  std::vector<std::byte> bytes;
  std::vector<Entry> entries;
};

class Compiler {
 public:
  virtual ~Compiler() = default;
  /// Compiles `tasks` of `kernel` into one code object. Throws weir::Error{compile, unsupported}.
  /// Thread-safe.
  virtual CodeObject compile(const ir::Kernel& kernel, std::span<const ir::Task* const> tasks,
                             const Target& target) = 0;
  /// LLVM IR (before or after optimisation) or assembly of the same, for `weir compile --emit`.
  virtual std::string emit_text(const ir::Kernel& kernel, std::span<const ir::Task* const> tasks,
                                const Target& target, std::string_view what) = 0;
  /// "LLVM 22.1.8"; part of cache keys.
  virtual std::string version() const = 0;
};

}  // namespace weir::codegen

/// The one exported symbol. `abi` is weir_codegen_abi of the caller's build; null is returned on a mismatch.
inline constexpr std::uint32_t weir_codegen_abi = 1;
extern "C" __attribute__((visibility("default"))) weir::codegen::Compiler* weir_codegen(std::uint32_t abi);
