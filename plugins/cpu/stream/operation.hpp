// SPDX-License-Identifier: Apache-2.0
// The operations of a stream's queue.
#pragma once

#include <weir/driver.h>
#include <weir/sdk/cpu_kernel.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace weir::cpu {

struct Stream;
struct Event;
struct Allocation;
struct Graph;

/// Records the cost of a block of a kernel, to distinguish tiny work from work that is worth a wake-up or
/// more cores. A high cost is kept for some launches: the estimate errs towards more cores.
struct Cost {
  /// Ticks of the processor's time stamp counter, times 16, per block; 0 when not known.
  std::atomic<std::uint64_t> sixteenths_per_block{0};
  /// The number of further launches of tiny work that are not measured.
  std::atomic<std::uint32_t> unmeasured{0};

  /// Whether `blocks` blocks are known to take at most `ticks`.
  bool within(std::uint64_t blocks, std::uint64_t ticks) const noexcept {
    const std::uint64_t cost = sixteenths_per_block.load(std::memory_order_relaxed);
    return cost != 0 && blocks <= ticks * 16 && cost * blocks <= ticks * 16;
  }
};

/// A run over a grid of blocks: a kernel, or a copy or fill, which are built-in kernels.
struct BlockWork {
  weir_cpu_kernel function;
  const void* arguments;
  Cost* cost;  ///< null when not recorded
  std::uint64_t blocks;
  std::uint32_t grid[3];
  std::uint32_t block[3];
  std::uint32_t shared_bytes;
};

constexpr std::uint32_t inline_argument_bytes = 256;

struct Operation {
  enum class Kind : std::uint8_t { blocks, wait, stamp, callback, release, graph, help };

  Operation* next = nullptr;
  Kind kind = Kind::blocks;
  bool owns_arguments = false;  ///< work.arguments was allocated with aligned operator new
  union {
    BlockWork work;
    struct {
      Stream* stream;  ///< one reference
      std::uint64_t mark;
    } wait;
    struct {
      Event* event;  ///< one reference
      std::uint64_t generation;
    } stamp;
    struct {
      weir_host_callback function;
      void* user;
    } callback;
    Allocation* allocation;
    struct {
      Graph* graph;  ///< one reference
      std::uint64_t run;
    } graph;
    struct {
      Graph* graph;  ///< one reference
      std::uint32_t helper;
    } help;
  };
  alignas(16) std::byte arguments[inline_argument_bytes];

  Operation() : work{} {}
};

/// Releases the contents of an operation after it ran.
void release_contents(Operation& operation) noexcept;

/// Runs the blocks on this thread and on free cores; false when a thread had no memory for the blocks' shared
/// bytes.
bool run_blocks(const BlockWork& work) noexcept;

}  // namespace weir::cpu
