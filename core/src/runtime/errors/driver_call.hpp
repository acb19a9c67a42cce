// SPDX-License-Identifier: Apache-2.0
// Driver calls on behalf of a device. Results become Errors, and the loss of a device is recorded.
#pragma once

#include <atomic>
#include <compare>
#include <concepts>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include <weir/error.hpp>

#include "driver/gpu_driver.hpp"

namespace weir {

/// Name and source location of a kernel, for errors of a device. Interned: equal origins are one object,
/// which lives as long as the process.
struct KernelOrigin {
  std::string name;
  std::string file;        ///< source file of the launched loop; empty when unknown
  std::uint32_t line = 0;  ///< 0 when unknown

  friend auto operator<=>(const KernelOrigin&, const KernelOrigin&) = default;
};

const KernelOrigin* intern_origin(std::string_view kernel, std::string_view file = {},
                                  std::uint32_t line = 0);

/// "'name'", or "'name' (file:line)".
std::string describe(const KernelOrigin& origin);

/// Calls slots of one device's driver. `doing` is a phrase such as "copy 64 bytes to the device", or a
/// function that returns one, called on failure only.
class DriverCaller {
 public:
  explicit DriverCaller(const GpuDriver& driver) : driver_(driver) {}

  const GpuDriver& driver() const noexcept { return driver_; }
  const weir_driver_table& table() const noexcept { return driver_.table(); }
  bool lost() const noexcept { return lost_.load(std::memory_order_relaxed); }
  /// True if this process is the child of a fork whose parent had used the device. Threads that do not exist
  /// here may hold the device's locks, so no lock is taken.
  bool forked() const noexcept { return forked_.load(std::memory_order_relaxed); }

  /// Throws unless the call returns WEIR_OK.
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
  /// Returns the result. For destructors and for failures that the caller handles. In a child of a fork, the
  /// driver is not called, since its objects belong to the parent.
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

  /// `kernel` may be null. An error that breaks the device names all kernels that may have caused it. The
  /// same text is thrown again when the driver reports that the error took the device.
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
  /// The error thrown earlier for the same driver message, if any.
  std::optional<Error> earlier_failure(const weir_status& status);
  /// `error` adds details of the loss to the driver's message; may be null.
  void remember_loss(const weir_status& status, const Error* error) noexcept;
  Error error_of(std::string_view doing, weir_result result, const weir_status& status,
                 const KernelOrigin* kernel);

  /// A failure that may have broken the device.
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
