// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>

namespace weir::cpu {

/// What the driver finds out at first use and keeps for ever. Threads may look at the same time, and the
/// first that is done counts: a lock, which `static` variables have too, would be held for ever in a child
/// that is forked meanwhile.
template <class T>
class FirstLook {
 public:
  template <class Look>
  const T& get(Look look) {
    if (const T* known = known_.load(std::memory_order_acquire)) return *known;
    auto mine = std::make_unique<const T>(look());
    const T* first = nullptr;
    if (known_.compare_exchange_strong(first, mine.get(), std::memory_order_acq_rel)) return *mine.release();
    return *first;
  }

 private:
  std::atomic<const T*> known_{nullptr};
};

}  // namespace weir::cpu
