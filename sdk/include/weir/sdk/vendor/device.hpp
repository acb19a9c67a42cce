// SPDX-License-Identifier: Apache-2.0
// A device of a vendor's runtime: its context, whether it is lost, and resources to release later.
//
// Requires of the vendor's traits V:
//   using Context;
//       a thread's current context, or the number of its device
//   static constexpr Context no_context;
//   static Code get_current(Context* out) noexcept;
//       of the calling thread; cheap
//   static Code set_current(Context) noexcept;
//   static void open(Device<V>&);
//       sets device.context
#pragma once

#include <memory>

#include "../object.hpp"
#include "deferred.hpp"
#include "failure.hpp"
#include "pool.hpp"
#include "staging.hpp"

namespace weir::sdk::vendor {

template <class V>
struct Stream;
template <class V>
struct Event;
template <class V>
struct Allocation;
template <class V>
struct Module;

/// The vendor finds the device that owns an address.
template <class V>
concept FindsOwners = requires { &V::device_of; };

template <class V>
struct Device : DeviceObject {
  typename V::Context context = V::no_context;
  std::uint32_t multiprocessors = 0;
  MemoryPool<V> pool;
  Deferred<V> deferred;
  Staging<V> staging;

  void open();
  void close();
  void get_memory(std::uint64_t& free, std::uint64_t& total);
  Stream<V>& create_stream(std::int32_t priority);
  Stream<V>& wrap_stream(void* native) requires requires { &V::check_foreign_stream; };
  Event<V>& create_event(bool timed);
  Allocation<V>& allocate(const weir_memory_options& options);
  Allocation<V>& wrap_memory(const weir_external_memory& memory) requires FindsOwners<V>;
  Module<V>& load_module(const weir_code_object& object);

  /// If the device is lost, throws DEVICE_LOST with the message of the original error.
  void check_alive() const {
    if (const Failure* why = loss_.load(std::memory_order_acquire)) [[unlikely]]
      throw Failure(*why);
  }
  bool lost() const noexcept { return loss_.load(std::memory_order_acquire) != nullptr; }

  void check(Code code, const char* doing) {
    if (code != success) [[unlikely]]
      raise(code, doing);
  }

  /// Throws the vendor's error. An error that loses the device is recorded: the first call with it returns
  /// its code, all later calls return DEVICE_LOST with the same message.
  [[noreturn, gnu::cold, gnu::noinline]] void raise(Code code, const char* doing) {
    Failure failure = failure_of<V>(code, doing);
    if (verdict_of<V>(code).lost) {
      failure.message += format_text("; device %u is lost to this process", index);
      auto loss = std::make_unique<Failure>(failure);
      loss->code = WEIR_ERROR_DEVICE_LOST;
      const Failure* none = nullptr;
      if (loss_.compare_exchange_strong(none, loss.get()))
        loss.release();
      else
        throw Failure(*none);
    }
    throw failure;
  }

 private:
  std::atomic<const Failure*> loss_{nullptr};  // set once, never freed
};

/// Makes a device's context current on this thread during the object's lifetime. Afterwards it restores the
/// previous context of another library. On a thread without a context, the device's context stays current for
/// the next call. Querying the runtime costs a few nanoseconds. Unlike a cached value, it is correct after
/// another library has set its context.
template <class V>
class Current {
 public:
  explicit Current(Device<V>& device) {
    device.check_alive();
    enter(device);
  }
  /// For releasing resources, which must be possible on a lost device.
  Current(Device<V>& device, std::nothrow_t) noexcept {
    V::get_current(&before_);
    if (before_ == device.context) return;
    restore_ = V::set_current(device.context) == success && before_ != V::no_context;
  }
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;
  ~Current() {
    if (restore_) [[unlikely]]
      V::set_current(before_);
  }

 private:
  void enter(Device<V>& device) {
    device.check(V::get_current(&before_), "ask for the thread's context");
    if (before_ == device.context) [[likely]]
      return;
    device.check(V::set_current(device.context), "set the thread's context");
    restore_ = before_ != V::no_context;
  }

  typename V::Context before_ = V::no_context;
  bool restore_ = false;
};

template <class V>
void Device<V>::open() {
  check_alive();
  V::open(*this);
  multiprocessors = attribute<V>(static_cast<int>(index), V::attributes.multiprocessors);
  if (!(capabilities & WEIR_CAP_STREAM_ORDERED_ALLOCATION)) return;
  try {
    pool.open(*this);
  } catch (...) {
    pool.close();
    throw;
  }
}

template <class V>
void Device<V>::close() {
  {
    Current<V> current(*this, std::nothrow);
    if (!lost()) V::calls().synchronize();
    deferred.finish(*this);
    staging.finish();
  }
  pool.close();
  context = V::no_context;
}

template <class V>
void Device<V>::get_memory(std::uint64_t& out_free, std::uint64_t& out_total) {
  Current<V> current(*this);
  std::size_t free = 0, total = 0;
  check(V::calls().memory_get_info(&free, &total), "ask for the free memory");
  out_free = free + pool.unused_bytes();
  out_total = total;
}

}  // namespace weir::sdk::vendor
