// SPDX-License-Identifier: Apache-2.0
// A first-in, first-out queue that reuses its memory. std::deque allocates and frees a node for every two or
// three of the scheduler's large elements.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace weir::vulkan {

template <class T>
class Fifo {
 public:
  bool empty() const noexcept { return first_ == items_.size(); }
  T& front() noexcept { return items_[first_]; }
  /// The elements, the oldest first.
  std::span<const T> items() const noexcept { return std::span<const T>(items_).subspan(first_); }

  void push(T item) {
    // Elements move to the front only when at least half of a full vector is free, which amortises the moves.
    if (items_.size() == items_.capacity() && first_ >= items_.size() - first_) {
      items_.erase(items_.begin(), items_.begin() + static_cast<std::ptrdiff_t>(first_));
      first_ = 0;
    }
    items_.push_back(std::move(item));
  }

  /// Removes the oldest element.
  T pop() noexcept {
    T out = std::move(items_[first_]);
    if (++first_ == items_.size()) {
      items_.clear();
      first_ = 0;
    }
    return out;
  }

 private:
  std::vector<T> items_;
  std::size_t first_ = 0;  ///< index of the oldest element
};

}  // namespace weir::vulkan
