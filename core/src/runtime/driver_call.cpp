// SPDX-License-Identifier: Apache-2.0
#include "runtime/driver_call.hpp"

#include <fmt/format.h>

#include <cstring>

namespace weir {

void DriverCaller::fail(std::string_view doing, weir_result result, const weir_status& status,
                        const std::string* kernel) {
  if (result == WEIR_ERROR_DEVICE_LOST) remember_loss(status);
  try {
    throw_driver_error(driver_.name(), doing, result, status);
  } catch (const Error& error) {
    if (!kernel) throw;
    throw Error(error.code(), fmt::format("{} (last kernel on the stream: '{}')", error.what(), *kernel),
                error.vendor_code(), error.vendor_name(), *kernel);
  }
}

void DriverCaller::throw_lost() const {
  const std::string* loss = loss_.load(std::memory_order_acquire);
  throw Error(
      ErrorCode::device_lost,
      fmt::format("device {} was lost and answers nothing else in this process{}{}; other devices go on",
                  device_name_, loss && !loss->empty() ? ": " : "", loss ? *loss : ""));
}

void DriverCaller::remember_loss(const weir_status& status) noexcept {
  if (lost_.exchange(true)) return;
  try {
    loss_.store(new std::string(status.message, strnlen(status.message, sizeof status.message)),
                std::memory_order_release);
  } catch (...) {  // out of host memory: the loss itself is remembered, the words are not
  }
}

}  // namespace weir
