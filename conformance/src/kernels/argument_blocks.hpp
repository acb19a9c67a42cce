// SPDX-License-Identifier: Apache-2.0
// Kernels with argument blocks of many sizes, whose results show the whole block.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/kernels.hpp"

namespace weir::conformance {

class BlockKernel {
 public:
  /// A kernel of the module of `owner`, which was looked up with a block of `bytes` bytes.
  BlockKernel(const KernelText& text, std::shared_ptr<const Kernel> owner, weir_kernel kernel,
              std::uint32_t bytes)
      : text_(&text), owner_(std::move(owner)), kernel_(kernel), bytes_(bytes) {}

  std::uint32_t bytes() const { return bytes_; }
  /// A block, different for each seed. The launch writes its result to `out` from `offset` on.
  Bytes block(const Memory& out, std::uint64_t offset, std::uint32_t seed) const;
  /// A launch with that block, which must outlive the call that takes it.
  weir_launch launch_of(const Bytes& block) const;
  /// The result of a launch with that block.
  Bytes result(const Bytes& block) const;
  std::size_t result_bytes() const { return echoes() ? bytes_ : 8; }

 private:
  /// Whether the result is the block; otherwise it is the sum of the block's values.
  bool echoes() const { return text_->name == "echo"; }

  const KernelText* text_;
  std::shared_ptr<const Kernel> owner_;
  weir_kernel kernel_;
  std::uint32_t bytes_;
};

/// Kernels for blocks of each size up to 520 bytes, of sizes around powers of two, and of the device's limit;
/// of all sizes with --thorough. Code that Weir compiles has blocks of multiples of 16 bytes only. Throws
/// Unsupported if the device loads no such code.
std::vector<BlockKernel> block_kernels();

}  // namespace weir::conformance
