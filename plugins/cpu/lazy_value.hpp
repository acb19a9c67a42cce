// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>

namespace weir::cpu {

/// A value that the driver determines at first use and keeps until the process ends. Threads may compute it
/// concurrently, and the first result counts. A lock, as of `static` variables, would stay locked in a child
/// that is forked during the computation.
template <class T>
class LazyValue {
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
