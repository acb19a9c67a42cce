// SPDX-License-Identifier: Apache-2.0
// Work that was checked for a device and is not queued yet: the common part of calls on a stream and of graph
// nodes.
#pragma once

#include "device.hpp"
#include "operation.hpp"

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

/// A launch whose kernel, shape and arguments match each other and the device.
struct LaunchWork {
  Kernel* kernel = nullptr;
  std::uint64_t blocks = 0;
  weir_launch launch{};

  BlockWork work(const void* at) const noexcept;
};

// Each function throws a Failure that names the fault. `owner` names the owner of `device` in words:
// "stream".
LaunchWork check_launch(const Device& device, const char* owner, const weir_launch* asked);
CopyWork check_copy_to_device(const Device& device, const char* owner, weir_allocation destination,
                              std::uint64_t destination_offset, const void* source, std::uint64_t size);
CopyWork check_copy_to_host(const Device& device, const char* owner, void* destination,
                            weir_allocation source, std::uint64_t source_offset, std::uint64_t size);
CopyWork check_copy_on_device(const Device& device, const char* owner, weir_allocation destination,
                              std::uint64_t destination_offset, weir_allocation source,
                              std::uint64_t source_offset, std::uint64_t size);
CopyWork check_fill(const Device& device, const char* owner, weir_allocation destination,
                    std::uint64_t offset, std::uint64_t size, const void* pattern,
                    std::uint32_t pattern_size);

}  // namespace weir::cpu
