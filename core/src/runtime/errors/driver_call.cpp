// SPDX-License-Identifier: Apache-2.0
#include "runtime/errors/driver_call.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "foreign_text.hpp"

namespace weir {
namespace {

// Devices report these errors from any later call, on any stream.
bool is_fatal(weir_result result) noexcept {
  return result == WEIR_ERROR_ILLEGAL_ADDRESS || result == WEIR_ERROR_DEVICE_LOST;
}

/// True if later calls may fail for the same reason. The next call's result confirms that.
bool may_be_fatal(weir_result result) noexcept {
  return is_fatal(result) || result == WEIR_ERROR_LAUNCH;
}

constexpr std::size_t max_names = 8;

std::string list_of(const std::vector<const KernelOrigin*>& running) {
  if (running.empty()) return {};
  std::string text;
  for (std::size_t i = 0; i < std::min(running.size(), max_names); ++i)
    text += (i ? ", " : "") + describe(*running[i]);
  if (running.size() > max_names) text += fmt::format(" and {} more", running.size() - max_names);
  return fmt::format(" (on other streams it may have been: {})", text);
}

}  // namespace

Error DriverCaller::error_of(std::string_view doing, weir_result result, const weir_status& status,
                             const KernelOrigin* kernel) {
  try {
    throw_driver_error(driver_.name(), doing, result, status);
  } catch (const Error& error) {
    std::string text = error.what();
    if (kernel) text += fmt::format(" (last kernel on the stream: {})", describe(*kernel));
    if (is_fatal(result)) {
      std::vector<const KernelOrigin*> others = running_kernels();
      std::erase(others, kernel);
      if (!kernel && others.size() == 1) kernel = others[0];
      text += list_of(others);
    }
    if (!kernel) return Error(error.code(), text, error.vendor_code(), error.vendor_name());
    return Error(error.code(), text, error.vendor_code(), error.vendor_name(), kernel->name, kernel->file,
                 kernel->line);
  }
}

void DriverCaller::fail(std::string_view doing, weir_result result, const weir_status& status,
                        const KernelOrigin* kernel) {
  if (result == WEIR_ERROR_DEVICE_LOST && earlier_failure(status)) {
    remember_loss(status, nullptr);
    throw_lost();
  }
  const Error error = error_of(doing, result, status, kernel);
  if (result == WEIR_ERROR_DEVICE_LOST) {
    remember_loss(status, &error);
  } else if (may_be_fatal(result)) {
    std::lock_guard lock(fatal_error_mutex_);
    fatal_error_.emplace(FatalError{std::string(bounded(status.message)), error});
  }
  throw error;
}

void DriverCaller::throw_lost() const {
  const std::string text =
      fmt::format("device {} was lost and answers nothing else in this process", device_name_);
  const Error* loss = loss_.load(std::memory_order_acquire);
  if (!loss) throw Error(ErrorCode::device_lost, text);
  throw Error(ErrorCode::device_lost, fmt::format("{}: {}", text, loss->what()), loss->vendor_code(),
              loss->vendor_name(), loss->kernel(), loss->file(), loss->line());
}

// A driver repeats the message of the failure that broke the device; an earlier call may have reported it
// already.
std::optional<Error> DriverCaller::earlier_failure(const weir_status& status) {
  std::lock_guard lock(fatal_error_mutex_);
  if (!fatal_error_ || fatal_error_->driver_message != bounded(status.message)) return {};
  return fatal_error_->error;
}

void DriverCaller::remember_loss(const weir_status& status, const Error* error) noexcept {
  if (lost()) return;
  try {
    std::optional<Error> earlier = earlier_failure(status);
    if (!earlier && error) earlier = *error;
    if (!earlier)
      earlier.emplace(ErrorCode::device_lost, std::string(bounded(status.message)), status.vendor_code,
                      std::string(bounded(status.vendor_name)));
    auto loss = std::make_unique<const Error>(*std::move(earlier));
    const Error* none = nullptr;
    if (loss_.compare_exchange_strong(none, loss.get(), std::memory_order_release)) loss.release();
  } catch (...) {  // out of host memory: the loss is recorded without its message
  }
  lost_ = true;
}

}  // namespace weir
