// SPDX-License-Identifier: Apache-2.0
// What the driver's handles point to. Objects come from pools that never give memory back, so that a handle
// used after its destruction is read safely and refused with a message instead of corrupting memory.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "status.hpp"

namespace weir::cpu {

enum class Kind : std::uint32_t {
  dead = 0x44524957,
  device = 0x56444957,
  stream = 0x54534957,
  event = 0x56454957,
  allocation = 0x4c414957,
  module = 0x4f4d4957,
  kernel = 0x454b4957,
};

struct Object {
  std::atomic<Kind> kind{Kind::dead};
};

template <class T>
class Pool {
 public:
  /// The object that has been dead for longest, or a new one.
  T* take() {
    {
      std::lock_guard lock(mutex_);
      if (T* object = oldest_) {
        oldest_ = object->next_in_pool;
        if (!oldest_) newest_ = nullptr;
        return object;
      }
    }
    return new T;
  }

  void give(T* object) noexcept {
    std::lock_guard lock(mutex_);
    object->next_in_pool = nullptr;
    (newest_ ? newest_->next_in_pool : oldest_) = object;
    newest_ = object;
  }

  /// The pool of T; it outlives everything, threads at process exit included.
  static Pool& of() {
    static Pool* const pool = new Pool;
    return *pool;
  }

 private:
  std::mutex mutex_;
  T* oldest_ = nullptr;
  T* newest_ = nullptr;
};

/// The live object behind a handle, or a Failure that names `what`.
template <class T, class Handle>
T& live(Handle* handle, const char* what) {
  if (!handle) fail(WEIR_ERROR_INVALID, "%s is null", what);
  if (reinterpret_cast<std::uintptr_t>(handle) % alignof(Object) != 0)
    fail(WEIR_ERROR_INVALID, "%s is %p, which is no handle of the CPU driver", what, static_cast<void*>(handle));
  auto* object = reinterpret_cast<Object*>(handle);
  if (object->kind.load(std::memory_order_acquire) != T::object_kind)
    fail(WEIR_ERROR_INVALID, "%s is %p, which is no live handle of that kind: it was destroyed or is of another kind",
         what, static_cast<void*>(handle));
  return *static_cast<T*>(object);
}

template <class Handle, class T>
Handle handle_of(T& object) noexcept {
  return reinterpret_cast<Handle>(static_cast<Object*>(&object));
}

}  // namespace weir::cpu
