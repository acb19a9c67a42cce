// SPDX-License-Identifier: Apache-2.0
// Resources to release once a stream has passed a point, for vendors whose release call would block or is not
// ordered by the stream. Each resource waits for an event and is released by a later call that may block.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "calls.hpp"

namespace weir::sdk::vendor {

template <class V>
struct Device;

template <class V>
class Deferred {
 public:
  using Release = void (*)(Device<V>&, void* what) noexcept;

  /// Calls release(device, what) after `stream` has passed the work submitted so far. `frees` tells whether
  /// wait_for_memory() waits for it. The device's context must be current. Throws, without effect, if the
  /// event cannot be recorded.
  void add(Device<V>& device, void* stream, bool frees, Release release, void* what) {
    auto item = std::make_unique<Item>(Item{.release = release, .what = what, .frees = frees});
    device.check(V::calls().event_create(&item->event, event_disable_timing), "make an event");
    if (const Code code = V::calls().event_record(item->event, stream); code != success) {
      V::calls().event_destroy(item->event);
      device.raise(code, "record an event");
    }
    keep(std::move(item));
  }

  /// Like add(), but waits for an event that was already recorded; takes ownership of the event.
  void add_behind(void* event, Release release, void* what) {
    keep(std::make_unique<Item>(Item{.event = event, .release = release, .what = what}));
  }

  /// Releases the resources that are due. The device's context must be current, in a call that may block.
  void sweep(Device<V>& device) noexcept {
    Item* due = nullptr;
    {
      std::lock_guard lock(mutex_);
      for (Item** at = &first_; *at;) {
        Item* const item = *at;
        if (V::calls().event_query(item->event) == not_ready) {
          at = &item->next;
        } else {
          *at = item->next;
          item->next = std::exchange(due, item);
        }
      }
    }
    release_all(device, due);
  }

  /// Lets later work of `stream` wait until the items that free memory are due. The device's context must be
  /// current. Throws if a wait cannot be submitted.
  void order_after_memory(Device<V>& device, void* stream) {
    std::lock_guard lock(mutex_);
    for (const Item* item = first_; item; item = item->next)
      if (item->frees)
        device.check(V::calls().stream_wait_event(stream, item->event, 0), "let a stream wait for an event");
  }
  /// Whether one of the first `last` items that were added is still to free memory.
  bool frees_memory(std::uint64_t last = ~std::uint64_t{0}) noexcept {
    std::lock_guard lock(mutex_);
    const Item* item = first_;
    while (item && (!item->frees || item->number > last)) item = item->next;
    return item;
  }

  /// Waits until the items added so far that free memory are due, and releases them. Returns false if there
  /// are none. The device's context must be current.
  bool wait_for_memory(Device<V>& device) noexcept {
    std::uint64_t last = 0;
    {
      std::lock_guard lock(mutex_);
      last = added_;
    }
    if (!frees_memory(last)) return false;
    while (true) {
      sweep(device);
      if (!frees_memory(last)) return true;
      // Another thread may release an item and destroy its event, so no call may wait for the event.
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }

  /// Releases everything; the device must be idle or lost.
  void finish(Device<V>& device) noexcept {
    Item* all = nullptr;
    {
      std::lock_guard lock(mutex_);
      all = std::exchange(first_, nullptr);
    }
    release_all(device, all);
  }

 private:
  struct Item {
    void* event = nullptr;
    Release release;
    void* what;
    bool frees = false;
    std::uint64_t number = 0;
    Item* next = nullptr;
  };

  void keep(std::unique_ptr<Item> item) noexcept {
    std::lock_guard lock(mutex_);
    item->number = ++added_;
    item->next = first_;
    first_ = item.release();
  }

  static void release_all(Device<V>& device, Item* items) noexcept {
    while (items) {
      const std::unique_ptr<Item> item(std::exchange(items, items->next));
      V::calls().event_destroy(item->event);
      item->release(device, item->what);
    }
  }

  std::mutex mutex_;
  Item* first_ = nullptr;
  std::uint64_t added_ = 0;
};

}  // namespace weir::sdk::vendor
