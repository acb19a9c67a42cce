// SPDX-License-Identifier: Apache-2.0
// Stream-ordered memory from a pool that the driver creates for each device. Its settings are therefore
// private, and independent of the runtime's default pool, which other libraries use.
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "calls.hpp"

namespace weir::sdk::vendor {

template <class V>
struct Device;

struct MemoryLocation {
  int type;  // 1: a device
  int id;
};

struct PoolProperties {
  int allocation_type;  // 1: pinned in place
  int handle_types;     // 0: none
  MemoryLocation location;
  void* security_attributes;
  std::uint8_t reserved[64];
};
static_assert(sizeof(PoolProperties) == 88);

struct PoolAccess {
  MemoryLocation location;
  int flags;  // 3: read and write
};

enum PoolAttribute : int {
  pool_reuse_internal_dependencies = 3,
  pool_release_threshold = 4,
  pool_reserved_bytes = 5,  // held by the pool, in use or not
  pool_used_bytes = 7
};

template <class V>
class MemoryPool {
 public:
  void open(Device<V>& device);

  void close() noexcept {
    for (void** stream : {&release_stream_, &allocation_stream_})
      if (*stream) V::calls().stream_destroy(std::exchange(*stream, nullptr));
    freeing_.clear();
    if (native_) V::calls().pool_destroy(std::exchange(native_, nullptr));
  }

  Code allocate(Address* out, std::size_t size, void* stream) noexcept {
    return V::calls().pool_allocate(out, size, native_, stream);
  }

  /// Memory that all streams may use at once. The device's context must be current.
  Code allocate(Address* out, std::size_t size) {
    {
      std::lock_guard lock(mutex_);
      if (!allocation_stream_)
        if (const Code code = V::calls().stream_create(&allocation_stream_, stream_non_blocking, 0);
            code != success)
          return code;
    }
    if (const Code code = allocate(out, size, allocation_stream_); code != success) return code;
    const Code code = V::calls().stream_synchronize(allocation_stream_);
    if (code != success) V::calls().memory_free(*out);
    return code;
  }

  /// Submits the deallocation. Throws, without effect, if it fails.
  void free(Device<V>& device, Address address, void* stream) {
    std::lock_guard lock(mutex_);
    if (std::ranges::find(freeing_, stream) == freeing_.end()) freeing_.push_back(stream);
    device.check(V::calls().memory_free_async(address, stream), "free memory in a stream's order");
  }

  /// Frees memory that no work submitted since its allocation uses. The pool may have taken it from a pending
  /// deallocation, and work before that may still use it. Then it is freed in the order of that work. The
  /// device's context must be current.
  void free(Device<V>& device, Address address) noexcept {
    try {
      std::lock_guard lock(mutex_);
      std::erase_if(freeing_, [](void* stream) { return V::calls().stream_query(stream) != not_ready; });
      if (freeing_.empty() && !device.deferred.frees_memory()) return void(V::calls().memory_free(address));
      if (!release_stream_)
        device.check(V::calls().stream_create(&release_stream_, stream_non_blocking, 0), "create a stream");
      for (; !freeing_.empty(); freeing_.pop_back()) note(device, freeing_.back());
      device.deferred.order_after_memory(device, release_stream_);
      freeing_.push_back(release_stream_);
      device.check(V::calls().memory_free_async(address, release_stream_), "free memory in a stream's order");
    } catch (...) {  // no host memory, or a lost device
      V::calls().synchronize();
      V::calls().memory_free(address);
    }
  }

  /// To be called before `stream` is destroyed; wait() still waits for its deallocations. If they cannot be
  /// noted, an allocation may fail although they are pending.
  void forget(Device<V>& device, void* stream) noexcept try {
    std::lock_guard lock(mutex_);
    if (std::erase(freeing_, stream)) note(device, stream);
  } catch (...) {
  }

  /// Waits for the deallocations submitted so far, and returns the pool's unused memory to the device.
  /// Returns false if none was pending. Neither vendor promises that an allocation waits for them.
  bool wait(Device<V>& device) {
    {
      std::lock_guard lock(mutex_);
      for (; !freeing_.empty(); freeing_.pop_back()) note(device, freeing_.back());
    }
    if (!device.deferred.wait_for_memory(device)) return false;
    trim();
    return true;
  }

  /// Returns the pool's unused memory to the device.
  void trim() noexcept {
    if (native_) V::calls().pool_trim(native_, 0);
  }

  /// Whether the pool's memory is directly accessible to the device of that index.
  bool reachable_from(std::uint32_t index) const noexcept {
    return index < reachable_from_.size() && reachable_from_[index];
  }

  /// Bytes of the pool that no allocation uses. The vendor's runtime counts them as used.
  std::uint64_t unused_bytes() const noexcept {
    std::uint64_t reserved = 0, used = 0;
    if (!native_ || V::calls().pool_get_attribute(native_, pool_reserved_bytes, &reserved) != success ||
        V::calls().pool_get_attribute(native_, pool_used_bytes, &used) != success)
      return 0;
    return reserved - std::min(reserved, used);
  }

 private:
  /// Lets the device wait for the deallocations of `stream`.
  static void note(Device<V>& device, void* stream) {
    device.deferred.add(
        device, stream, true, [](Device<V>&, void*) noexcept {}, nullptr);
  }

  void* native_ = nullptr;  // null if the device has no pools
  std::vector<bool> reachable_from_;
  std::mutex mutex_;
  std::vector<void*> freeing_;      // streams with deallocations that wait() has not waited for
  void* release_stream_ = nullptr;  // for deallocations after the work of other streams
  void* allocation_stream_ = nullptr;  // has no other work, so that waiting for it takes no time
};

template <class V>
void MemoryPool<V>::open(Device<V>& device) {
  const Calls& calls = V::calls();
  const int number = static_cast<int>(device.index);
  PoolProperties properties{};
  properties.allocation_type = 1;
  properties.location = {1, number};
  device.check(calls.pool_create(&native_, &properties), "make a memory pool");
  std::uint64_t keep_all = ~std::uint64_t{0};
  device.check(calls.pool_set_attribute(native_, pool_release_threshold, &keep_all), "set up a memory pool");
  // Otherwise an allocation on one stream could make it wait for another stream.
  int no = 0;
  device.check(calls.pool_set_attribute(native_, pool_reuse_internal_dependencies, &no),
               "set up a memory pool");
  int devices = 0, reachable = 0;
  calls.device_count(&devices);
  reachable_from_.assign(static_cast<std::size_t>(std::max(devices, 0)), false);
  for (int other = 0; other < devices; ++other)
    if (other != number && calls.device_can_access_peer(&reachable, other, number) == success && reachable) {
      const PoolAccess access{{1, other}, 3};
      device.check(calls.pool_set_access(native_, &access, 1), "let another device read a memory pool");
      reachable_from_[static_cast<std::size_t>(other)] = true;
    }
}

}  // namespace weir::sdk::vendor
