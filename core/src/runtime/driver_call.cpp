// SPDX-License-Identifier: Apache-2.0
#include "runtime/driver_call.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace weir {
namespace {

// Devices report these at whichever call comes next, on any stream.
bool breaks_device(weir_result result) noexcept {
  return result == WEIR_ERROR_ILLEGAL_ADDRESS || result == WEIR_ERROR_DEVICE_LOST;
}

constexpr std::size_t most_named = 8;

std::string words(const std::vector<const KernelOrigin*>& running) {
  if (running.empty()) return {};
  std::string text;
  for (std::size_t i = 0; i < std::min(running.size(), most_named); ++i)
    text += (i ? ", " : "") + describe(*running[i]);
  if (running.size() > most_named) text += fmt::format(" and {} more", running.size() - most_named);
  return fmt::format(" (on other streams it may have been: {})", text);
}

}  // namespace

void DriverCaller::fail(std::string_view doing, weir_result result, const weir_status& status,
                        const KernelOrigin* kernel) {
  if (result == WEIR_ERROR_DEVICE_LOST) remember_loss(status);
  try {
    throw_driver_error(driver_.name(), doing, result, status);
  } catch (const Error& error) {
    std::string text = error.what();
    if (kernel) text += fmt::format(" (last kernel on the stream: {})", describe(*kernel));
    if (breaks_device(result)) {
      std::vector<const KernelOrigin*> others = running_kernels();
      std::erase(others, kernel);
      if (!kernel && others.size() == 1) kernel = others[0];
      text += words(others);
    }
    if (!kernel) throw Error(error.code(), text, error.vendor_code(), error.vendor_name());
    throw Error(error.code(), text, error.vendor_code(), error.vendor_name(), kernel->name, kernel->file,
                kernel->line);
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
