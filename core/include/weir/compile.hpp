// SPDX-License-Identifier: Apache-2.0
// Code generation without a device: for build systems, for `weir compile`, and for those who ship code objects.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <weir/export.hpp>
#include <weir/program.hpp>

namespace weir {

/// What to generate code for, in a driver's words; see `weir info`.
struct CompileTarget {
  std::string format = "elf-x86_64";
  std::string cpu = "native";  ///< LLVM's -mcpu; "native" is the machine this runs on
  std::string features;        ///< LLVM's -mattr, or ""
  /// What every launch of the code will keep to, separated by commas, so that the code may rely on it: "distinct" (an
  /// array that is written shares no memory with another argument), "narrow" (arrays have less than 2^31 scalars,
  /// loops have bounds within i32 and less than 2^30 iterations), "aligned" (arrays and their rows begin at multiples of
  /// 16 bytes). Code for "" is right for every launch.
  std::string assume = {};
};

/// A code object with one kernel for each task of the program, in program order.
struct CompiledProgram {
  struct Task {
    std::string symbol;
    std::int32_t region = -1;  ///< -1 outside regions
    std::int32_t block = -1;
    std::array<std::uint32_t, 3> block_threads{1, 1, 1};  ///< to launch it with; grids may be of any size
    std::uint32_t shared_bytes = 0;                       ///< dynamic, per block
    std::uint32_t argument_bytes = 0;                     ///< of its argument block
  };
  std::string format;
  std::string target;
  std::vector<std::byte> bytes;
  std::vector<Task> tasks;
};

/// Compiles `program` for `target`. Throws Error{unsupported} when there is no code generation for the format, and
/// Error{compile} with the compiler's words. Thread-safe.
WEIR_API CompiledProgram compile(const Program& program, const CompileTarget& target);

/// The same as text. `what` is "llvm" (before optimisation), "llvm-opt" (after it) or "asm".
WEIR_API std::string compile_to_text(const Program& program, const CompileTarget& target, std::string_view what);

}  // namespace weir
