// SPDX-License-Identifier: Apache-2.0
// From LLVM IR to a SPIR-V 1.6 module for Vulkan 1.3.
#pragma once

#include <llvm/IR/Module.h>

#include <map>
#include <string>
#include <string_view>

#include "codegen/spirv/module_builder.hpp"

namespace weir::codegen::spirv {

// Functions for operations that LLVM IR lacks; lowering calls them.
inline constexpr std::string_view thread_function = "weir.spirv.thread";    ///< i32 (): the thread's number
inline constexpr std::string_view block_function = "weir.spirv.block";      ///< i32 (): the block's number
inline constexpr std::string_view grid_function = "weir.spirv.grid";        ///< i32 (): the number of blocks
inline constexpr std::string_view barrier_function = "weir.spirv.barrier";  ///< void (): of a block
inline constexpr std::string_view lanes_barrier_function = "weir.spirv.barrier.lanes";  ///< void ()
inline constexpr std::string_view shuffle_function = "weir.spirv.shuffle";              ///< i32 (value, lane)
/// i32 (i1, word): word `word` of the bits of a subgroup.
inline constexpr std::string_view ballot_function = "weir.spirv.ballot";
inline constexpr std::string_view inverse_sqrt_function = "weir.spirv.inverse_sqrt";  ///< f32 (f32)

/// The guarantees of the device for floats of one width; each adds an execution mode.
struct FloatControls {
  bool keeps_denormals = false;  ///< DenormPreserve
  bool keeps_specials = false;   ///< SignedZeroInfNanPreserve
  bool rounds_to_even = false;   ///< RoundingModeRTE
};

struct TranslationOptions {
  FloatControls f16, f32, f64;
  bool pushes_arguments = true;  ///< whether arguments are push constants too, where they fit
  bool orders_memory = true;  ///< whether stores may have release order; the host waits for the kernel if not
  std::map<Capability, std::string> missing;  ///< capabilities that modules must not declare: their features
};

/// `module` is the result of prepare(). Its functions of external linkage become entry points that read their
/// arguments from the block whose address is the push constant; their parameters are its fields. Throws
/// Error{compile} for an instruction that prepare() should have removed, and Error{unsupported} that names a
/// missing feature.
Words translate(llvm::Module& module, const TranslationOptions& options);

}  // namespace weir::codegen::spirv
