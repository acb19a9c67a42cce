// SPDX-License-Identifier: Apache-2.0
// The interface of libweir-codegen. The helper program weir-codegen opens it, so that LLVM is not loaded into
// programs. One C symbol returns the interface; all else is C++ of the same build.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>
#include <weir/lowering.hpp>

#include "ir/ir.hpp"
#include "ir/task.hpp"

namespace weir::codegen {

/// Properties of a launch's arguments that the launch has proven and its code may rely on. Each set of
/// assumptions has separate code; code for the empty set is correct for every launch.
struct LaunchAssumptions {
  /// No array that the kernel writes shares memory with another of its arrays.
  bool no_alias = false;
  /// Every loop's bounds are known to the host and fit an i32, and the product of its extents is below 2^30.
  /// Every extent of an array is below 2^31, and so is the product of its extents and its element's
  /// components. Extents of 0 count as 1 in these products, because a part of the product may overflow before
  /// it is multiplied by 0.
  bool index32 = false;
  /// Every array begins at a multiple of 16 bytes, and so does each row of arrays of several dimensions.
  bool aligned = false;
  /// Every array is in ordinary memory of the device, neither pinned on the host nor shared while kernels run
  /// (HIP: fine-grained). Device scope is then sufficient for atomics.
  bool device_local = false;

  static constexpr std::uint32_t sets = 16;
  constexpr std::uint32_t number() const noexcept {
    return (no_alias ? 1 : 0) | (index32 ? 2 : 0) | (aligned ? 4 : 0) | (device_local ? 8 : 0);
  }
  /// The inverse of number().
  static constexpr LaunchAssumptions of(std::uint32_t set) noexcept {
    return {(set & 1) != 0, (set & 2) != 0, (set & 4) != 0, (set & 8) != 0};
  }
  friend bool operator==(const LaunchAssumptions&, const LaunchAssumptions&) = default;
};

/// The formats of code objects that this build generates.
inline constexpr std::string_view formats[] = {"elf-x86_64", "ptx", "hsaco", "spirv-vulkan"};
constexpr bool generates(std::string_view format) noexcept {
  for (const std::string_view known : formats)
    if (known == format) return true;
  return false;
}
/// Whether tasks for a format may be cooperative.
constexpr bool generates_cooperative(std::string_view format) noexcept {
  return format == "ptx" || format == "hsaco";
}
/// "elf-x86_64, ptx, hsaco and spirv-vulkan"
inline std::string list_of_formats() {
  std::string list(formats[0]);
  for (std::size_t i = 1; i < std::size(formats); ++i)
    list.append(i + 1 < std::size(formats) ? ", " : " and ").append(formats[i]);
  return list;
}

/// The target of code generation: a weir_code_target and further properties of the device.
struct Target {
  std::string format;    ///< "elf-x86_64", ...
  std::string cpu;       ///< LLVM's -mcpu; "native" is the machine of this process
  std::string features;  ///< LLVM's -mattr, or ""
  std::uint32_t lanes = 1;
  std::uint32_t max_block_threads = 1;
  LaunchAssumptions assumptions{};  ///< of the launches that the code will serve
};

/// A finished code object with one entry per task, in the order of the request.
struct CodeObject {
  static constexpr std::uint32_t every_block = ~std::uint32_t{0};
  struct Entry {
    std::string symbol;
    std::uint32_t block[3] = {1, 1, 1};  ///< threads per block to launch with
    std::uint32_t dynamic_shared_bytes = 0;
    /// Iterations, or chunks of a reduction, that a block takes at a time: additional blocks have no work.
    std::uint32_t block_share = 1;
    /// How many times the blocks may fill the device; 0 leaves it to the host. Small for blocks with much
    /// work besides their share; every_block for blocks with no other work.
    std::uint32_t waves = 0;
    Lowering lowering{};  ///< the forms that the code takes
  };
  std::string format;
  std::string target;
  std::vector<std::byte> bytes;
  std::vector<Entry> entries;
  /// The features beyond `target` that a device must list to run the code, as in "+float64,+int64". "" if the
  /// device's driver checks all features.
  std::string needs = {};
};

class Compiler {
 public:
  virtual ~Compiler() = default;
  /// Compiles `tasks` of `kernel` into one code object. The result depends only on the arguments, except for
  /// the body of `kernel`. Throws weir::Error{compile, unsupported}. Thread-safe.
  virtual CodeObject compile(const ir::Kernel& kernel, std::span<const ir::Task* const> tasks,
                             const Target& target) = 0;
  /// LLVM IR (before or after optimisation) or assembly of the same tasks, for `weir compile --emit`.
  virtual std::string emit_text(const ir::Kernel& kernel, std::span<const ir::Task* const> tasks,
                                const Target& target, std::string_view what) = 0;
};

}  // namespace weir::codegen

/// The one exported symbol. `abi` is weir_codegen_abi of the caller's build; null is returned on a mismatch.
inline constexpr std::uint32_t weir_codegen_abi = 6;
extern "C" __attribute__((visibility("default"))) weir::codegen::Compiler* weir_codegen(std::uint32_t abi);
