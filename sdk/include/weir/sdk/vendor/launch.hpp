// SPDX-License-Identifier: Apache-2.0
// Kernels and their launches. The argument block is passed to the vendor without a copy.
//
// Requires of the vendor's traits V:
//   static void* const launch_end;                          // end of the list of extra launch options
//   static constexpr char argument_offsets_need[];
// the remedy if `Kernel::argument_offsets` is unknown, for messages
//   static Code launch_cooperative(const Kernel<V>&, const weir_launch&, void* stream);
#pragma once

#include <optional>
#include <vector>

#include "device.hpp"

namespace weir::sdk::vendor {

template <class V>
struct Kernel;

/// Launch options that point to one argument block. Points into itself, so it is not movable.
template <class V>
struct ArgumentBlock {
  ArgumentBlock(const Kernel<V>& kernel, const weir_launch& launch) noexcept
      : size(kernel.block_bytes),
        options{launch_buffer_pointer, const_cast<void*>(launch.arguments), launch_buffer_size, &size,
                V::launch_end} {}
  ArgumentBlock(const ArgumentBlock&) = delete;
  ArgumentBlock& operator=(const ArgumentBlock&) = delete;

  /// Null if there are no arguments.
  void** extra() noexcept { return size ? options : nullptr; }

  std::size_t size;
  void* options[5];
};

template <class V>
struct Kernel : KernelObject<Device<V>> {
  using KernelObject<Device<V>>::device;
  using KernelObject<Device<V>>::info;
  using KernelObject<Device<V>>::name;
  void* function = nullptr;
  std::size_t block_bytes = 0;  ///< size of the argument block, as the vendor counts it
  /// Of each argument in the block, in the order of the parameters, if known.
  std::optional<std::vector<std::uint32_t>> argument_offsets;
  std::atomic<std::uint32_t> dynamic_shared_limit{0};
  /// The last result of max_cooperative_blocks, with its arguments: threads, shared bytes, and blocks in the
  /// lower half.
  std::atomic<std::uint64_t> known_resident{0};

  /// Shared bytes per block that the vendor allows before `allow_shared` raises the limit.
  static constexpr std::uint32_t default_shared_bytes = 48 * 1024;

  void describe() {
    const auto attribute = [this](int which) {
      int value = 0;
      device->check(V::calls().function_get_attribute(&value, which, function),
                    "ask for an attribute of a kernel");
      return static_cast<std::uint32_t>(value);
    };
    info.max_block_threads = attribute(function_max_block_threads);
    info.registers = attribute(function_registers);
    info.shared_bytes = attribute(function_shared_bytes);
    info.local_bytes = attribute(function_local_bytes);
    info.lanes = device->limits.lanes;
    // Without function_set_attribute, the runtime applies the device's limit to every launch.
    const std::uint32_t limit =
        V::calls().function_set_attribute ? default_shared_bytes : device->limits.max_shared_bytes;
    dynamic_shared_limit.store(limit - std::min(limit, info.shared_bytes), std::memory_order_relaxed);
    known_resident.store(0, std::memory_order_relaxed);
  }

  /// Raises a launch's shared memory limit to the device's limit per block; more than the default must be
  /// requested.
  void allow_shared(std::uint32_t bytes) {
    if (bytes <= dynamic_shared_limit.load(std::memory_order_relaxed)) [[likely]]
      return;
    const std::uint32_t most = device->limits.max_shared_bytes - info.shared_bytes;
    const Code code = V::calls().function_set_attribute(function, function_max_dynamic_shared_bytes,
                                                        static_cast<int>(most));
    if (code != success)
      device->raise(
          code,
          format_text("let kernel '%.128s' have %u bytes of shared memory", name.c_str(), bytes).c_str());
    dynamic_shared_limit.store(most, std::memory_order_relaxed);
  }

  /// Of the whole device.
  std::uint32_t max_cooperative_blocks(std::uint32_t block_threads, std::uint32_t shared_bytes) {
    // Blocks have at most 4095 threads, and less than 1 MiB of shared memory, on all devices so far.
    const std::uint64_t key = std::uint64_t{block_threads} << 52 | std::uint64_t{shared_bytes} << 32;
    const bool fits = block_threads < 1u << 12 && shared_bytes < 1u << 20;
    const std::uint64_t known = known_resident.load(std::memory_order_relaxed);
    if (fits && known >> 32 == key >> 32) [[likely]]
      return static_cast<std::uint32_t>(known);
    Current<V> current(*device);
    allow_shared(shared_bytes);
    int blocks = 0;
    device->check(
        V::calls().resident_blocks(&blocks, function, static_cast<int>(block_threads), shared_bytes),
        "ask how many blocks of a kernel a multiprocessor holds");
    const std::uint64_t most = std::uint64_t(std::max(blocks, 0)) * device->multiprocessors;
    const auto out = static_cast<std::uint32_t>(std::min<std::uint64_t>(most, ~0u));
    if (fits) known_resident.store(key | out, std::memory_order_relaxed);
    return out;
  }

  /// With the device's context current.
  void launch(const weir_launch& l, void* stream) {
    allow_shared(l.dynamic_shared_bytes);
    ArgumentBlock<V> arguments(*this, l);
    const Code code =
        l.flags & WEIR_LAUNCH_COOPERATIVE
            ? V::launch_cooperative(*this, l, stream)
            : V::calls().launch(function, l.grid[0], l.grid[1], l.grid[2], l.block[0], l.block[1], l.block[2],
                                l.dynamic_shared_bytes, stream, nullptr, arguments.extra());
    if (code != success) [[unlikely]]
      device->raise(code, format_text("launch kernel '%.128s'", name.c_str()).c_str());
  }
};

/// The addresses of a launch's arguments. Vendors' functions for some cooperative launches take no block.
/// Throws UNSUPPORTED if the offsets of the kernel's arguments are not known.
template <class V>
class ArgumentAddresses {
 public:
  ArgumentAddresses(const Kernel<V>& kernel, const weir_launch& launch) {
    if (!kernel.argument_offsets && kernel.argument_bytes)
      fail(WEIR_ERROR_UNSUPPORTED,
           "the offsets of the arguments of kernel '%.128s' are unknown, but cooperative launches of %s need "
           "them; %s",
           kernel.name.c_str(), V::names.runtime, V::argument_offsets_need);
    if (!kernel.argument_offsets) return;
    const std::vector<std::uint32_t>& offsets = *kernel.argument_offsets;
    if (offsets.size() > usual) many_.resize(offsets.size());
    auto* const block = static_cast<std::byte*>(const_cast<void*>(launch.arguments));
    for (std::size_t i = 0; i < offsets.size(); ++i) data()[i] = block + offsets[i];
  }
  ArgumentAddresses(const ArgumentAddresses&) = delete;
  ArgumentAddresses& operator=(const ArgumentAddresses&) = delete;

  void** data() noexcept { return many_.empty() ? few_ : many_.data(); }

 private:
  static constexpr std::size_t usual = 64;  // no allocation up to this number
  void* few_[usual];
  std::vector<void*> many_;
};

}  // namespace weir::sdk::vendor
