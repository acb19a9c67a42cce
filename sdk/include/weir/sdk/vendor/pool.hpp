// SPDX-License-Identifier: Apache-2.0
// Stream-ordered memory from a pool that the driver creates for each device. Its settings are therefore
// private, and independent of the runtime's default pool, which other libraries use.
#pragma once

#include <cstdint>
#include <utility>

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

enum PoolAttribute : int { pool_reuse_internal_dependencies = 3, pool_release_threshold = 4 };

template <class V>
class MemoryPool {
 public:
  void open(Device<V>& device);

  void close() noexcept {
    if (native_) V::calls().pool_destroy(std::exchange(native_, nullptr));
  }

  Code allocate(Address* out, std::size_t size, void* stream) noexcept {
    return V::calls().pool_allocate(out, size, native_, stream);
  }

  /// Returns the pool's unused memory to the device.
  void trim() noexcept {
    if (native_) V::calls().pool_trim(native_, 0);
  }

 private:
  void* native_ = nullptr;  // null if the device has no pools
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
  for (int other = 0; other < devices; ++other)
    if (other != number && calls.device_can_access_peer(&reachable, other, number) == success && reachable) {
      const PoolAccess access{{1, other}, 3};
      device.check(calls.pool_set_access(native_, &access, 1), "let another device read a memory pool");
    }
}

}  // namespace weir::sdk::vendor
