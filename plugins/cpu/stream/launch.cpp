// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>
#include <x86intrin.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <optional>

#include "code/module.hpp"
#include "functions.hpp"
#include "stream/stream.hpp"
#include "stream/work.hpp"

namespace weir::cpu {
namespace {

// Only one in this many tiny launches is measured: reading the clock twice would take a large part of their
// time.
constexpr std::uint32_t measured_in = 16;
// Each core's share of the blocks is taken in this many runs, so that other threads can help a slow core.
constexpr std::uint64_t runs_per_share = 16;
constexpr unsigned max_shares = 256;
constexpr std::uint64_t max_cost = std::uint64_t{1} << 40;

/// Precedes the shared bytes of a thread.
struct alignas(64) SharedMemory {
  std::size_t capacity;
};

/// This thread's memory for the shared bytes of the block that it runs; null when none is available. A key
/// finds it, not a thread-local variable: glibc ends the process when it has no memory for the variables of a
/// library that was opened later, or for their destructors. The key's destructor is never unloaded.
void* shared_memory(std::uint32_t bytes) noexcept {
  static const std::optional<pthread_key_t> key = [] {
    pthread_key_t made;
    return pthread_key_create(&made, std::free) == 0 ? std::optional(made) : std::nullopt;
  }();
  if (!key) return nullptr;
  auto* memory = static_cast<SharedMemory*>(pthread_getspecific(*key));
  if (memory && memory->capacity >= bytes) return memory + 1;
  const std::size_t capacity = (std::size_t{bytes} + 4095) / 4096 * 4096;
  void* const larger = std::aligned_alloc(alignof(SharedMemory), sizeof(SharedMemory) + capacity);
  if (!larger) return nullptr;
  if (pthread_setspecific(*key, larger) != 0) {
    std::free(larger);
    return nullptr;
  }
  std::free(memory);
  return ::new (larger) SharedMemory{capacity} + 1;
}

bool call_kernel(const BlockWork& work, std::uint64_t first, std::uint64_t end) noexcept {
  void* shared = nullptr;
  if (work.shared_bytes && !(shared = shared_memory(work.shared_bytes))) return false;
  const weir_cpu_run run{sizeof run,
                         {work.grid[0], work.grid[1], work.grid[2]},
                         {work.block[0], work.block[1], work.block[2]},
                         work.shared_bytes,
                         first,
                         end,
                         shared};
  work.function(work.arguments, &run);
  return true;
}

/// The blocks of one launch from `first` on, divided into one share of neighbouring blocks per core. A thread
/// runs the blocks of its own share, then helps with the others.
class WorkSharing {
 public:
  WorkSharing(const BlockWork& work, std::uint64_t first) noexcept
      : work_(work),
        scheduler_(Scheduler::get()),
        shares_(static_cast<unsigned>(
            std::min<std::uint64_t>({scheduler_.threads(), work.blocks - first, max_shares}))),
        run_(std::max<std::uint64_t>(1, (work.blocks - first) / shares_ / runs_per_share)) {
    const std::uint64_t each = (work.blocks - first) / shares_, larger = (work.blocks - first) % shares_;
    std::uint64_t begin = first;
    for (unsigned i = 0; i < shares_; ++i) {
      const std::uint64_t end = begin + each + (i < larger ? 1 : 0);
      Share* share = new (&storage_[i * sizeof(Share)]) Share;
      share->next.store(begin, std::memory_order_relaxed);
      share->end = end;
      begin = end;
    }
  }

  bool run() noexcept {
    // oneTBB orders the threads, but without the instrumentation that race detectors need. These two atomics
    // repeat the ordering.
    self_.store(this, std::memory_order_release);
    while (!exhausted_.load(std::memory_order_relaxed)) {
      helpers_left_.store(false, std::memory_order_relaxed);
      const unsigned helpers = std::min(scheduler_.free_cores(), shares_ - 1);
      const bool forked = helpers > 0 && scheduler_.fork(
                                             helpers + 1,
                                             [](void* context, unsigned i) {
                                               auto* self =
                                                   static_cast<std::atomic<WorkSharing*>*>(context)->load(
                                                       std::memory_order_acquire);
                                               self->take_part(i, i == 0);
                                               self->left_.fetch_add(1, std::memory_order_release);
                                             },
                                             &self_);
      if (!forked) {
        helpers_left_.store(true, std::memory_order_relaxed);
        take_part(0, true);
      }
      left_.load(std::memory_order_acquire);
    }
    return !failed_.load(std::memory_order_relaxed);
  }

 private:
  struct alignas(64) Share {
    std::atomic<std::uint64_t> next;
    std::uint64_t end;
  };

  Share& share(unsigned i) noexcept {
    return *std::launder(reinterpret_cast<Share*>(&storage_[i * sizeof(Share)]));
  }

  void take_part(unsigned self, bool owner) noexcept {
    for (unsigned i = 0; i < shares_; ++i) {
      Share& from = share((self + i) % shares_);
      while (from.next.load(std::memory_order_relaxed) < from.end) {
        const std::uint64_t first = from.next.fetch_add(run_, std::memory_order_relaxed);
        if (first >= from.end) break;
        if (!call_kernel(work_, first, std::min(first + run_, from.end)))
          failed_.store(true, std::memory_order_relaxed);
        if (should_leave(owner)) return;
      }
    }
    exhausted_.store(true, std::memory_order_relaxed);
  }

  // Helpers leave their core to other streams; the owner, once alone, returns to request helpers for free
  // cores.
  bool should_leave(bool owner) noexcept {
    if (owner)
      return helpers_left_.load(std::memory_order_relaxed) && scheduler_.free_cores() > 0 &&
             !scheduler_.exiting();
    if (scheduler_.free_cores() > 0 && !scheduler_.exiting()) return false;
    helpers_left_.store(true, std::memory_order_relaxed);
    return true;
  }

  const BlockWork& work_;
  Scheduler& scheduler_;
  const unsigned shares_;
  const std::uint64_t run_;
  std::atomic<WorkSharing*> self_{nullptr};
  std::atomic<unsigned> left_{0};
  std::atomic<bool> exhausted_{false}, helpers_left_{false}, failed_{false};
  alignas(Share) std::byte storage_[max_shares * sizeof(Share)];
};

std::uint64_t block_count(const weir_launch& launch) noexcept {
  return std::uint64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2];
}

BlockWork work_of(Kernel& kernel, const weir_launch& launch, std::uint64_t blocks,
                  const void* arguments) noexcept {
  return {kernel.function,
          arguments,
          &kernel.cost,
          blocks,
          {launch.grid[0], launch.grid[1], launch.grid[2]},
          {launch.block[0], launch.block[1], launch.block[2]},
          launch.dynamic_shared_bytes};
}

Weight weight_of(const Kernel& kernel, std::uint64_t blocks) noexcept {
  const bool known = kernel.cost.sixteenths_per_block.load(std::memory_order_relaxed) != 0;
  if (known ? kernel.cost.within(blocks, light_ticks) : blocks == 1) return Weight::light;
  return kernel.cost.within(blocks, medium_ticks) ? Weight::medium : Weight::heavy;
}

/// Blocks that are expected to be tiny: runs them on this thread, in growing runs, until a measurement shows
/// otherwise. If that is at once, the first run takes a quarter of the time that all cores together need for
/// the rest. The last block is not worth a measurement, because one block cannot be shared.
bool run_tiny(const BlockWork& work) noexcept {
  if (work.blocks <= 2) return call_kernel(work, 0, work.blocks);
  const Scheduler& scheduler = Scheduler::get();
  const std::uint64_t began = __rdtsc();
  bool done = true;
  std::uint64_t first = 0, count = std::max<std::uint64_t>(1, work.blocks / (4 * scheduler.threads()));
  while (first < work.blocks) {
    const std::uint64_t end = std::min(first + count, work.blocks);
    done = call_kernel(work, first, end) && done;
    count = end;
    first = end;
    if (first + 1 < work.blocks && __rdtsc() - began > scheduler.least_shared_ticks())
      return WorkSharing(work, first).run() && done;
  }
  return done;
}

}  // namespace

bool run_blocks(const BlockWork& work) noexcept {
  Cost* const cost = work.cost;
  const bool tiny = cost && cost->within(work.blocks, Scheduler::get().least_shared_ticks());
  if (tiny) {
    const std::uint32_t unmeasured = cost->unmeasured.load(std::memory_order_relaxed);
    cost->unmeasured.store(unmeasured ? unmeasured - 1 : measured_in - 1, std::memory_order_relaxed);
    if (unmeasured) return run_tiny(work);
  }
  const std::uint64_t began = __rdtsc();
  const bool done = tiny || work.blocks == 1 ? run_tiny(work) : WorkSharing(work, 0).run();
  if (cost) {
    const std::uint64_t now = (__rdtsc() - began) * 16 / work.blocks;
    const std::uint64_t before = cost->sixteenths_per_block.load(std::memory_order_relaxed);
    cost->sixteenths_per_block.store(
        std::clamp<std::uint64_t>(std::max(now, before - before / 4), 1, max_cost),
        std::memory_order_relaxed);
  }
  return done;
}

BlockWork LaunchWork::work(const void* at) const noexcept {
  return work_of(*kernel, launch, blocks, at);
}

LaunchWork launch_of(Kernel& kernel, const weir_launch& launch) noexcept {
  return {&kernel, block_count(launch), launch};
}

weir_result kernel_max_cooperative_blocks(weir_kernel, uint32_t, uint32_t, uint32_t*, weir_status* status) {
  return guarded(status, [] {
    fail(WEIR_ERROR_UNSUPPORTED,
         "the CPU driver has no cooperative launches: the blocks of a launch share its threads");
  });
}

weir_result kernel_launch(weir_stream stream_handle, const weir_launch* asked, weir_status* status) {
  return guarded(status, [&] {
    Stream& stream = live<Stream>(stream_handle, "stream");
    weir_launch copy;
    const weir_launch& launch = read_struct(asked, "launch", copy);
    Kernel& kernel = live<Kernel>(launch.kernel, "launch.kernel");
    sdk::check_launch(*stream.device, kernel, launch);
    const std::uint64_t blocks = block_count(launch);
    struct Delete {
      void operator()(void* memory) const noexcept { ::operator delete (memory, std::align_val_t{16}); }
    };
    std::unique_ptr<void, Delete> large;
    if (launch.argument_bytes > inline_argument_bytes)
      large.reset(::operator new (launch.argument_bytes, std::align_val_t{16}));
    submit(stream, weight_of(kernel, blocks), [&](Operation& operation) {
      operation.kind = Operation::Kind::blocks;
      operation.owns_arguments = large != nullptr;
      void* arguments = large ? large.release() : operation.arguments;
      if (launch.argument_bytes) std::memcpy(arguments, launch.arguments, launch.argument_bytes);
      operation.work = work_of(kernel, launch, blocks, arguments);
    });
  });
}

}  // namespace weir::cpu
