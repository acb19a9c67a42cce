// SPDX-License-Identifier: Apache-2.0
// The objects that a test has created and not destroyed yet, on any of its threads.
#pragma once

#include <mutex>
#include <set>

namespace weir::conformance {

template <class T>
class LiveObjects {
 public:
  void add(T one) {
    const std::lock_guard lock(mutex_);
    all_.insert(one);
  }
  void remove(T one) noexcept {
    const std::lock_guard lock(mutex_);
    all_.erase(one);
  }
  /// Calls `visit` for each object. No object is destroyed during the iteration.
  template <class Visit>
  void each(const Visit& visit) {
    const std::lock_guard lock(mutex_);
    for (const T& one : all_) visit(one);
  }

 private:
  std::mutex mutex_;
  std::set<T> all_;
};

}  // namespace weir::conformance
