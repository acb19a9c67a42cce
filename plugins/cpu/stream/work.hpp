// SPDX-License-Identifier: Apache-2.0
// Work that is not queued yet: the common part of calls on a stream and of graph nodes. Its parameters must
// have passed the checks of the SDK.
#pragma once

#include "memory.hpp"
#include "stream/operation.hpp"

namespace weir::cpu {

struct Kernel;

/// The size of the argument block of the built-in kernels for copies and fills, in bytes.
constexpr std::uint32_t copy_argument_bytes = 48;

/// A copy or a fill; without blocks it has size 0 and does nothing.
struct CopyWork {
  weir_cpu_kernel function = nullptr;
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;
  alignas(16) std::byte arguments[copy_argument_bytes];

  /// The queued form, with its arguments at `at`.
  BlockWork work(const void* at) const noexcept {
    // The one-dimensional grid may be too small for the number of blocks; these kernels do not read it.
    return {function, at, nullptr, blocks, {1, 1, 1}, {1, 1, 1}, 0};
  }
};

/// A launch of a kernel.
struct LaunchWork {
  Kernel* kernel = nullptr;
  std::uint64_t blocks = 0;
  weir_launch launch{};

  BlockWork work(const void* at) const noexcept;
};

LaunchWork launch_of(Kernel& kernel, const weir_launch& launch) noexcept;
CopyWork copy_of(void* destination, const void* source, std::uint64_t size) noexcept;
CopyWork fill_of(void* destination, std::uint64_t size, const sdk::Pattern& pattern) noexcept;

}  // namespace weir::cpu
