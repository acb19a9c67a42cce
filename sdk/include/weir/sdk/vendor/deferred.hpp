// SPDX-License-Identifier: Apache-2.0
// What can only be let go of once a stream has passed a point, where the vendor's call would block or is not
// ordered by the stream: it waits here behind an event, and goes at a later call that may block.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

#include "calls.hpp"

namespace weir::sdk::vendor {

template <class V>
struct Device;

template <class V>
class Deferred {
 public:
  using Release = void (*)(Device<V>&, void* what) noexcept;

  /// Calls release(device, what) some time after `stream` has passed what was submitted to it until now. The
  /// device's context is current. Throws, and does nothing, when the point cannot be marked.
  void add(Device<V>& device, void* stream, Release release, void* what) {
    auto item = std::make_unique<Item>(Item{nullptr, release, what, nullptr});
    device.check(V::calls().event_create(&item->event, event_disable_timing), "make an event");
    if (const Code code = V::calls().event_record(item->event, stream); code != success) {
      V::calls().event_destroy(item->event);
      device.raise(code, "record an event");
    }
    keep(std::move(item));
  }

  /// The same behind an event that was recorded, which is then this object's.
  void add_behind(void* event, Release release, void* what) {
    keep(std::make_unique<Item>(Item{event, release, what, nullptr}));
  }

  /// Lets go of what is due. With the device's context current, in a call that may block.
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

  /// Lets go of everything, when the device is idle or lost.
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
    void* event;
    Release release;
    void* what;
    Item* next;
  };

  void keep(std::unique_ptr<Item> item) noexcept {
    std::lock_guard lock(mutex_);
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
};

}  // namespace weir::sdk::vendor
