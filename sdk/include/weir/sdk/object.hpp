// SPDX-License-Identifier: Apache-2.0
// The objects of a driver's handles. They come from pools that never free memory. A handle used after its
// destruction thus reads valid memory and is refused with a message instead of corrupting memory.
//
//   struct Event : weir::sdk::EventObject<Device> { ... };
//
//   weir::sdk::Fresh<Event> event;             // from the pool; returned to it by an exception
//   event->native = ...;
//   return event.publish();                    // the handle is valid from now on
//
//   Event& event = live<Event>(handle, "event");   // or a Failure that describes the invalid handle
//   retire(event);                                  // invalidates the handle; succeeds on one thread only
//   Pool<Event>::of().give(event);                  // once the driver holds no reference to it
//
// table.hpp does the last two steps for drivers that use it. A driver's Device, Stream and so on derive from
// the structs at the end of this file, which hold the data for the checks of checks.hpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "status.hpp"

namespace weir::sdk {

enum class Kind : std::uint32_t {
  dead = 0x44524957,
  device = 0x56444957,
  stream = 0x54534957,
  event = 0x56454957,
  allocation = 0x4c414957,
  module = 0x4f4d4957,
  kernel = 0x454b4957,
  graph = 0x52474957,
  group = 0x50474957,
};

struct Object {
  std::atomic<Kind> kind{Kind::dead};
  std::atomic<std::uint64_t> life{0};  ///< number of times the object returned to its pool
  Object* next_in_pool = nullptr;
};

/// Dead objects of type T, for reuse. Thread-safe.
template <class T>
class Pool {
 public:
  /// The object that has been unused for longest, or a new one. A reused object still holds its old values.
  T& take() {
    {
      std::lock_guard lock(mutex_);
      if (Object* object = oldest_) {
        oldest_ = object->next_in_pool;
        if (!oldest_) newest_ = nullptr;
        object->life.fetch_add(1, std::memory_order_relaxed);
        return static_cast<T&>(*object);
      }
    }
    return *new T;
  }

  void give(T& object) noexcept {
    std::lock_guard lock(mutex_);
    object.next_in_pool = nullptr;
    (newest_ ? newest_->next_in_pool : oldest_) = &object;
    newest_ = &object;
  }

  /// The pool of T; it outlives everything, threads at process exit included.
  static Pool& of() {
    static Pool* const pool = new Pool;
    return *pool;
  }

 private:
  std::mutex mutex_;
  Object* oldest_ = nullptr;
  Object* newest_ = nullptr;
};

/// An object from the pool. `publish` makes its handle valid; without it the object returns to the pool.
template <class T>
class Fresh {
 public:
  Fresh() : object_(&Pool<T>::of().take()) {}
  Fresh(const Fresh&) = delete;
  Fresh& operator=(const Fresh&) = delete;
  ~Fresh() {
    if (object_) Pool<T>::of().give(*object_);
  }
  T* operator->() const noexcept { return object_; }
  T& operator*() const noexcept { return *object_; }
  T& publish() noexcept {
    object_->kind.store(T::object_kind, std::memory_order_release);
    return *std::exchange(object_, nullptr);
  }

 private:
  T* object_;
};

namespace detail {
[[noreturn, gnu::cold, gnu::noinline]] inline void refuse_handle(const void* handle, const char* what) {
  if (!handle) fail(WEIR_ERROR_INVALID, "%s is null", what);
  if (reinterpret_cast<std::uintptr_t>(handle) % alignof(Object) != 0)
    fail(WEIR_ERROR_INVALID, "%s is %p, which is no handle of this driver", what, handle);
  fail(WEIR_ERROR_INVALID,
       "%s is %p, which is no live handle of that kind: it was destroyed or is of another kind", what,
       handle);
}
}  // namespace detail

/// The live object of a handle, or a Failure that names `what`.
template <class T, class Handle>
T& live(Handle* handle, const char* what) {
  auto* object = reinterpret_cast<Object*>(handle);
  if (!handle || reinterpret_cast<std::uintptr_t>(handle) % alignof(Object) != 0 ||
      object->kind.load(std::memory_order_acquire) != T::object_kind) [[unlikely]]
    detail::refuse_handle(handle, what);
  return *static_cast<T*>(object);
}

/// A reference to an object and one of its lives, for holders that may outlive the object: a reused object
/// differs.
template <class T>
struct InLife {
  T* object = nullptr;
  std::uint64_t life = 0;

  InLife() = default;
  explicit InLife(T* now) noexcept : object(now), life(now ? now->life.load(std::memory_order_relaxed) : 0) {}
  bool operator==(const InLife&) const = default;
  bool ended() const noexcept {
    return object->kind.load(std::memory_order_acquire) != T::object_kind ||
           object->life.load(std::memory_order_relaxed) != life;
  }
};

template <class Handle, class T>
Handle handle_of(T& object) noexcept {
  return reinterpret_cast<Handle>(static_cast<Object*>(&object));
}

/// Invalidates an object's handle. If several threads try, one succeeds and the others fail.
template <class T>
void retire(T& object, const char* what) {
  Kind expected = T::object_kind;
  if (!object.kind.compare_exchange_strong(expected, Kind::dead))
    fail(WEIR_ERROR_INVALID, "%s is being destroyed by another thread at the same time", what);
}

/// Limits of a launch.
struct Limits {
  std::uint32_t max_grid[3] = {};
  std::uint32_t max_block[3] = {};
  std::uint32_t max_block_threads = 0;
  std::uint32_t max_shared_bytes = 0;
  std::uint32_t max_argument_bytes = 0;
  std::uint32_t memory_alignment = 0;
  std::uint32_t lanes = 0;
};

inline Limits limits_of(const weir_device_info& info) {
  Limits limits;
  std::copy_n(info.max_grid, 3, limits.max_grid);
  std::copy_n(info.max_block, 3, limits.max_block);
  limits.max_block_threads = info.max_block_threads;
  limits.max_shared_bytes = info.max_shared_bytes;
  limits.max_argument_bytes = info.max_argument_bytes;
  limits.memory_alignment = info.memory_alignment;
  limits.lanes = info.lanes;
  return limits;
}

struct DeviceObject : Object {
  static constexpr Kind object_kind = Kind::device;
  std::uint32_t index = 0;
  std::uint64_t capabilities = 0;
  std::uint32_t argument_style = WEIR_ARGUMENT_ADDRESS;
  Limits limits;
  std::mutex opening;  ///< guards the count and its consistency with `kind`
  std::uint32_t openings = 0;
};

template <class Device>
struct StreamObject : Object {
  static constexpr Kind object_kind = Kind::stream;
  Device* device = nullptr;
};

template <class Device>
struct EventObject : Object {
  static constexpr Kind object_kind = Kind::event;
  Device* device = nullptr;
  bool timed = false;
  std::atomic<bool> recorded{false};  ///< at least once
};

template <class Device>
struct AllocationObject : Object {
  static constexpr Kind object_kind = Kind::allocation;
  Device* device = nullptr;
  std::uint32_t memory_kind = WEIR_MEMORY_DEVICE;
  std::uint64_t size = 0;
};

template <class Device>
struct KernelObject : Object {
  static constexpr Kind object_kind = Kind::kernel;
  Device* device = nullptr;
  std::string name;
  std::uint32_t argument_bytes = 0;
  std::vector<weir_parameter> parameters;
  weir_kernel_info info{};
};

template <class Device, class Kernel>
struct ModuleObject : Object {
  static constexpr Kind object_kind = Kind::module;
  Device* device = nullptr;
  std::string name;
  std::mutex mutex;  ///< guards the list of kernels
  std::vector<Kernel*> kernels;
};

template <class Device, class Kernel>
struct GraphObject : Object {
  static constexpr Kind object_kind = Kind::graph;
  Device* device = nullptr;
  struct Node {
    std::uint32_t kind;
    InLife<const Kernel> kernel;
    std::uint32_t launch_flags;
  };
  std::vector<Node> identities;  ///< properties that an update must not change
};

}  // namespace weir::sdk
