// SPDX-License-Identifier: Apache-2.0
// Allocation. Memory that a stream frees is reused at once by the same stream, whose order makes that safe,
// and returned to the heap when the stream has passed the deallocation.
#include <algorithm>

#include "driver.hpp"

namespace weir::vulkan {
namespace {

Allocation& finish(Device& device, const weir_memory_options& options, const Line* line) {
  device.check_present();
  sdk::Fresh<Allocation> allocation;
  allocation->device = &device;
  allocation->memory_kind = options.kind;
  allocation->size = options.size;
  allocation->free_after = {};
  allocation->range = device.allocate_range(options, line, allocation->free_after);
  return allocation.publish();
}

}  // namespace

Allocation& Device::allocate(const weir_memory_options& options) {
  return finish(*this, options, nullptr);
}

Allocation& Stream::allocate(const weir_memory_options& options) {
  return finish(*device, options, line.get());
}

void Allocation::free() noexcept {
  const Range freed = std::exchange(range, Range{});
  device->free_range(freed, std::exchange(free_after, Mark{}));
  sdk::Pool<Allocation>::of().give(*this);
}

void Stream::free(Allocation& allocation) {
  Mark after;
  {
    std::lock_guard lock(line->recording);
    device->check_present();
    after = line->here();
  }
  const Range freed = std::exchange(allocation.range, Range{});
  // A mark that the range already carries is of this stream and therefore earlier, or was waited for by it.
  allocation.free_after = {};
  device->free_range(freed, after);
  sdk::Pool<Allocation>::of().give(allocation);
}

void Device::free_range(const Range& range, const Mark& after) noexcept {
  if (after.is_complete()) return heap.free(range);
  try {
    std::lock_guard lock(pending_mutex_);
    pending_.push_back({after, range});
  } catch (const std::bad_alloc&) {  // the range is leaked rather than reused too early
  }
}

/// Returns ranges to the heap that their lines have passed. The mutex is held.
void Device::sweep_pending() {
  std::erase_if(pending_, [&](const Pending& one) {
    if (!one.free_after.is_complete()) return false;
    heap.free(one.range);
    return true;
  });
}

/// Waits for the oldest pending range. False if there is none.
bool Device::wait_for_pending() {
  Mark mark;
  {
    std::lock_guard lock(pending_mutex_);
    if (pending_.empty()) return false;
    mark = pending_.front().free_after;
  }
  flush_quietly(*mark.line);
  scheduler.wait_quietly(mark);
  std::lock_guard lock(pending_mutex_);
  sweep_pending();
  return true;
}

Range Device::allocate_range(const weir_memory_options& options, const Line* line, Mark& out_after) {
  const auto kind = static_cast<Heap::Kind>(options.kind);
  const std::uint64_t size = (options.size + Heap::alignment - 1) & ~(Heap::alignment - 1);
  {
    std::lock_guard lock(pending_mutex_);
    sweep_pending();
    if (line)
      for (auto one = pending_.begin(); one != pending_.end(); ++one) {
        if (one->free_after.line.get() != line || one->range.size != size || !heap.serves(kind, one->range) ||
            (options.alignment && one->range.address() % options.alignment))
          continue;
        const Range range = one->range;
        out_after = std::move(one->free_after);
        pending_.erase(one);
        return range;
      }
  }
  while (true) {
    try {
      return heap.allocate(kind, options.size, options.alignment);
    } catch (const sdk::Failure& failure) {
      if (failure.code != WEIR_ERROR_OUT_OF_MEMORY || !wait_for_pending()) throw;
    }
  }
}

void Device::get_memory(std::uint64_t& free, std::uint64_t& total) {
  {
    std::lock_guard lock(pending_mutex_);
    sweep_pending();
  }
  total = heap.total();
  free = total - std::min(total, heap.used());
}

}  // namespace weir::vulkan
