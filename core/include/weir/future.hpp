// SPDX-License-Identifier: Apache-2.0
// Futures: values that a launch of a kernel returns, read on the host when the launch has run.
//
// Threads: const functions may be called from any thread, also concurrently. A future may be moved or
// destroyed by one thread while no other uses it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <weir/element.hpp>
#include <weir/export.hpp>

namespace weir {

namespace detail {
struct ReturnedValues;  // the values of one launch

/// A share of the values of one launch; the last share gives their memory back.
class WEIR_API ReturnedShare {
 public:
  ReturnedShare() = default;
  /// Takes over one share.
  explicit ReturnedShare(ReturnedValues* values) noexcept : values_(values) {}
  ReturnedShare(ReturnedShare&& other) noexcept : values_(std::exchange(other.values_, nullptr)) {}
  ReturnedShare& operator=(ReturnedShare&& other) noexcept {
    ReturnedShare taken(std::move(other));
    std::swap(values_, taken.values_);
    return *this;
  }
  ~ReturnedShare();

  ReturnedShare another() const noexcept;
  bool valid() const noexcept { return values_ != nullptr; }
  bool ready() const;
  void wait() const;
  /// Waits and copies `bytes` of the values from `offset` on.
  void read(std::size_t offset, void* to, std::size_t bytes) const;

 private:
  ReturnedValues* values_ = nullptr;
};
}  // namespace detail

/// A value that a launch of a Kernel returns. Only reading it waits, not creating or destroying it.
/// Move-only. It stays readable after its stream, kernel and arrays were destroyed. A default-made or
/// moved-from future is not valid, and reading it throws Error{invalid}.
template <KernelElement T>
class Future {
 public:
  using value_type = T;

  Future() = default;
  explicit Future(detail::ReturnedShare share, std::size_t offset) noexcept
      : share_(std::move(share)), offset_(static_cast<std::uint32_t>(offset)) {}

  /// Waits on the host until the launch has run, not for later work of its stream, and returns the value.
  /// May be called several times. Throws the failure of the launch each time, even if another call has thrown
  /// it. Calls on the stream do not throw it again after that. Also throws a failure of earlier work on the
  /// stream that was not yet reported when the launch was submitted.
  T get() const {
    T value{};
    share_.read(offset_, &value, sizeof value);
    return value;
  }
  /// Returns immediately; true if get() would not wait. Throws if the device failed.
  bool ready() const { return share_.ready(); }
  /// Waits until get() would not wait. Does not throw the failure of the launch, only one of the device.
  void wait() const { share_.wait(); }
  bool valid() const noexcept { return share_.valid(); }

 private:
  detail::ReturnedShare share_;
  std::uint32_t offset_ = 0;  // in the values of the launch
};

namespace detail {
template <class T>
inline constexpr bool is_future = false;
template <class T>
inline constexpr bool is_future<Future<T>> = true;
}  // namespace detail

}  // namespace weir
