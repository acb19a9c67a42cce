// SPDX-License-Identifier: Apache-2.0
// Calls of driver functions on behalf of a device: results become Errors, and a lost device is remembered.
#pragma once

#include <atomic>
#include <concepts>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include <weir/error.hpp>

#include "driver/gpu_driver.hpp"
#include "runtime/modules/kernel_origin.hpp"

namespace weir {

/// Calls slots of one device's driver. `doing` is a word like "copy 64 bytes to the device", or a function
/// that makes it, called on failure only.
class DriverCaller {
 public:
  explicit DriverCaller(const GpuDriver& driver) : driver_(driver) {}

  const GpuDriver& driver() const noexcept { return driver_; }
  const weir_driver_table& table() const noexcept { return driver_.table(); }
  bool lost() const noexcept { return lost_.load(std::memory_order_relaxed); }
  /// Whether this process is the child of a fork whose parent had used the device. Locks of the device may
  /// then be held by threads that do not exist here, so that nothing takes one.
  bool forked() const noexcept { return forked_.load(std::memory_order_relaxed); }

  /// Throws unless the call answers WEIR_OK.
  template <class Doing, class Call>
  void call(Doing&& doing, Call&& call) {
    Status status;
    const weir_result result = attempt(status, call);
    if (result != WEIR_OK) [[unlikely]]
      fail(word(doing), result, status, nullptr);
  }
  /// As call, for work on a stream on which `kernel` (may be null) was launched last.
  template <class Doing, class Call>
  void call_for(const KernelOrigin* kernel, Doing&& doing, Call&& call) {
    Status status;
    const weir_result result = attempt(status, call);
    if (result != WEIR_OK) [[unlikely]]
      fail(word(doing), result, status, kernel);
  }
  /// As call_for; false for WEIR_NOT_READY.
  template <class Doing, class Call>
  bool query(const KernelOrigin* kernel, Doing&& doing, Call&& call) {
    Status status;
    const weir_result result = attempt(status, call);
    if (result == WEIR_NOT_READY) return false;
    if (result != WEIR_OK) [[unlikely]]
      fail(word(doing), result, status, kernel);
    return true;
  }
  /// Returns the result; for destructors and for failures that the caller handles. A child of a fork leaves
  /// to its parent what the driver has.
  template <class Call>
  weir_result call_no_throw(Call&& call) noexcept {
    if (forked()) [[unlikely]]
      return WEIR_ERROR_SYSTEM;
    Status status;
    const weir_result result = call(&status);
    if (result == WEIR_ERROR_DEVICE_LOST) [[unlikely]]
      remember_loss(status, nullptr);
    return result;
  }
  /// As call_no_throw, keeping the status.
  template <class Call>
  weir_result attempt(Status& status, Call&& call) {
    if (lost()) [[unlikely]]
      throw_lost();
    return call(&status);
  }

  /// `kernel` may be null. What breaks a device is told with all kernels that may have done it, and told
  /// again when the driver says that it took the device.
  [[noreturn]] void fail(std::string_view doing, weir_result result, const weir_status& status,
                         const KernelOrigin* kernel);
  [[noreturn]] void throw_lost() const;

 protected:
  std::string device_name_;  // set by the device before the first call
  std::atomic<bool> forked_{false};

 private:
  template <class Doing>
  static std::string word(Doing&& doing) {
    if constexpr (std::invocable<Doing>)
      return doing();
    else
      return std::string(doing);
  }
  /// The kernels that were launched last on the streams whose work is not known to be done.
  virtual std::vector<const KernelOrigin*> running_kernels() = 0;
  /// What was thrown when the driver said the same words before.
  std::optional<Error> earlier_failure(const weir_status& status);
  /// `error` is what is known of the loss beyond the driver's words; may be null.
  void remember_loss(const weir_status& status, const Error* error) noexcept;
  Error error_of(std::string_view doing, weir_result result, const weir_status& status,
                 const KernelOrigin* kernel);

  /// A failure that may turn out to have taken the device.
  struct FatalError {
    std::string driver_message;
    Error error;
  };

  const GpuDriver& driver_;
  std::atomic<bool> lost_{false};
  std::atomic<const Error*> loss_{nullptr};  // set once, never freed
  std::mutex fatal_error_mutex_;
  std::optional<FatalError> fatal_error_;  // the last one
};

}  // namespace weir
