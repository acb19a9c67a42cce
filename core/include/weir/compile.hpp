// SPDX-License-Identifier: Apache-2.0
// Code generation without a device: for build systems, `weir compile`, and programs that ship code objects.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>
#include <weir/export.hpp>
#include <weir/lowering.hpp>
#include <weir/module.hpp>
#include <weir/program.hpp>

namespace weir {

/// Code generation target, as the driver names it; see `weir info`.
struct CompileTarget {
  std::string format = "elf-x86_64";
  std::string cpu = "native";  ///< LLVM's -mcpu; "native" is the machine this runs on
  std::string features;        ///< LLVM's -mattr, or ""
  /// Properties of every launch of the code, separated by commas, on which the code may rely. Code for "" is
  /// correct for every launch.
  /// - "no_alias": an array that is written shares no memory with another argument.
  /// - "index32": arrays have less than 2^31 scalars. Loops have bounds within i32 and less than 2^30
  ///   iterations.
  /// - "aligned": arrays and their rows begin at multiples of 16 bytes.
  /// - "device_local": arrays are in ordinary memory of the device, neither in pinned host memory nor in
  ///   memory that HIP calls fine-grained.
  std::string assume = {};
};

/// "FORMAT[:CPU[:FEATURES]]", as `weir compile --target` takes it and `weir info` prints it. Without a CPU it
/// is "native".
WEIR_API CompileTarget parse_target(std::string_view words);

/// A code object with one kernel for each task of the program, in program order.
struct CompiledProgram {
  /// One field of a task's argument block, on devices that name arrays by their address.
  struct Argument {
    enum class Kind : std::uint8_t {
      array,           ///< the address of an array parameter's first element
      extent,          ///< i64: extent `index` of an array parameter
      scalar,          ///< a scalar parameter; of a Vec or Mat, its scalar number `index`
      scratch,         ///< the address of scratch_bytes that the tasks of one launch share, with any contents
      failure_record,  ///< the address of an error record, all 0 before the launch: see failure_of
      launch_key,      ///< u64: key of random numbers, the same for all tasks of one launch
      site_base,       ///< u32: Task::first_site, or the caller's own numbers
      temporaries [[deprecated("use scratch")]] = scratch
    };
    Kind kind;
    std::string name;             ///< of the parameter, or of the kind
    std::uint32_t offset = 0;     ///< in bytes; a multiple of `size`
    std::uint32_t size = 0;       ///< in bytes
    std::uint32_t parameter = 0;  ///< array, extent, scalar: position in Program::parameters()
    std::uint32_t index = 0;
    ScalarType type = ScalarType::u64;  ///< of the value; u64 for addresses

    bool is_address() const noexcept {
      return kind == Kind::array || kind == Kind::scratch || kind == Kind::failure_record;
    }
  };
  struct Task {
    std::string symbol;
    std::int32_t region = -1;  ///< -1 outside regions
    std::int32_t block = -1;
    std::array<std::uint32_t, 3> block_threads{1, 1, 1};  ///< to launch it with; grids may be of any size
    std::uint32_t shared_bytes = 0;                       ///< dynamic, per block
    std::uint32_t argument_bytes = 0;                     ///< of its argument block
    std::vector<Argument> arguments;                      ///< the fields of the argument block, by offset
    std::uint32_t first_site = 0;                         ///< of its statements that can fail
    Lowering lowering;                                    ///< the forms that its code takes

    /// The parameters for Module::kernel(symbol, ...). A launch takes one argument for each field, in their
    /// order: an array for an address, a value of `size` bytes for the others.
    std::vector<KernelParameter> kernel_parameters() const {
      std::vector<KernelParameter> parameters;
      for (const Argument& field : arguments)
        parameters.push_back(field.is_address() ? KernelParameter::array()
                                                : KernelParameter::value(field.size, field.size));
      return parameters;
    }
  };
  static constexpr std::size_t failure_record_bytes = 128;  ///< of an error record
  std::string format;
  std::string target;
  std::vector<std::byte> bytes;
  std::vector<Task> tasks;
  union {
    std::uint64_t scratch_bytes = 0;  ///< for values that pass between tasks; 0 when there are none
    [[deprecated("use scratch_bytes")]] std::uint64_t temporary_bytes;
  };
};

/// Compiles `program` for `target`. Throws Error{unsupported} when there is no code generation for the
/// format, and Error{compile} with the compiler's message. Thread-safe.
WEIR_API CompiledProgram compile(const Program& program, const CompileTarget& target);

/// Lists the tasks of a launch that satisfies `target.assume`, or of a usual launch if it is empty. They are
/// in order, as a Program makes them on a device of that target. The list has the merged loops, the form of
/// their code, and the reasons why neighbouring loops stay apart. compile() merges no loops. Throws as
/// compile() does.
WEIR_API std::string explain(const Program& program, const CompileTarget& target);

/// Describes the first failure in `record`, the error record of launches, of failure_record_bytes. Returns
/// the message of the assert or bounds check with its source line, or "" if nothing failed. The launches must
/// have had first_site as site_base.
WEIR_API std::string failure_of(const Program& program, std::span<const std::byte> record);

/// The result of compile() as text. `what` is "llvm" (not optimised), "llvm-opt", "asm", or "times" of its
/// stages.
WEIR_API std::string compile_to_text(const Program& program, const CompileTarget& target,
                                     std::string_view what);

}  // namespace weir
