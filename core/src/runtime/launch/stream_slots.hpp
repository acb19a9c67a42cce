// SPDX-License-Identifier: Apache-2.0
// State that launches keep per stream between calls, so that launches on two streams neither wait for each
// other nor share it. Lock-free: a launch that finds its stream's slot taken by another thread runs without
// one.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "runtime/streams/stream_state.hpp"

namespace weir::detail {

template <class T>
class StreamSlots {
  struct Slot {
    std::atomic<bool> taken{true};  ///< a new slot is taken by its creator
    std::atomic<const StreamState*> stream{nullptr};
    T value;
  };

 public:
  static constexpr std::uint32_t max_slots = 16;  ///< slots in total; slots of idle streams are reused

  StreamSlots() = default;
  StreamSlots(const StreamSlots&) = delete;
  StreamSlots& operator=(const StreamSlots&) = delete;
  ~StreamSlots() {
    for (auto& place : slots_) delete place.load(std::memory_order_relaxed);
  }

  /// Holds a slot for its lifetime; null when none was available.
  class Lease {
   public:
    explicit Lease(Slot* slot) noexcept : slot_(slot) {}
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    ~Lease() { give_back(); }
    explicit operator bool() const noexcept { return slot_ != nullptr; }
    T* operator->() const noexcept { return &slot_->value; }
    T& operator*() const noexcept { return slot_->value; }
    void give_back() noexcept {
      if (slot_) slot_->taken.store(false, std::memory_order_release);
      slot_ = nullptr;
    }

   private:
    Slot* slot_;
  };

  Lease take(const StreamState& stream) {
    std::uint32_t empty = max_slots;
    for (std::uint32_t i = 0; i < max_slots; ++i) {
      Slot* slot = slots_[i].load(std::memory_order_acquire);
      if (!slot) {
        empty = i;
        break;
      }
      if (slot->stream.load(std::memory_order_relaxed) != &stream) continue;
      if (slot->taken.exchange(true, std::memory_order_acquire)) return Lease(nullptr);
      if (slot->stream.load(std::memory_order_relaxed) == &stream) return Lease(slot);
      slot->taken.store(false, std::memory_order_release);  // reassigned to another stream in between
    }
    return Lease(empty < max_slots ? add(empty, stream) : pass_on(stream));
  }

  /// Number of slots in use. For tests.
  std::uint32_t count() const noexcept {
    std::uint32_t count = 0;
    while (count < max_slots && slots_[count].load(std::memory_order_relaxed)) ++count;
    return count;
  }

 private:
  Slot* add(std::uint32_t place, const StreamState& stream) {
    auto* slot = new Slot;
    slot->stream.store(&stream, std::memory_order_relaxed);
    for (; place < max_slots; ++place) {
      Slot* expected = nullptr;
      if (slots_[place].compare_exchange_strong(expected, slot, std::memory_order_acq_rel)) return slot;
    }
    delete slot;
    return nullptr;
  }

  Slot* pass_on(const StreamState& stream) noexcept {
    for (auto& place : slots_) {
      Slot* slot = place.load(std::memory_order_acquire);
      const StreamState* owner = slot->stream.load(std::memory_order_relaxed);
      if ((!owner->retired() && !owner->known_idle()) ||
          slot->taken.exchange(true, std::memory_order_acquire))
        continue;
      slot->stream.store(&stream, std::memory_order_relaxed);
      return slot;
    }
    return nullptr;
  }

  std::array<std::atomic<Slot*>, max_slots> slots_{};
};

}  // namespace weir::detail
