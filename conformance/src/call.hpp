// SPDX-License-Identifier: Apache-2.0
// Calls of the table: those that must succeed, and those that must be refused.
#pragma once

#include <weir/driver.h>

#include <cstring>
#include <stdexcept>
#include <string>

#include "driver_under_test.hpp"
#include "recorded_table.hpp"
#include "requirement.hpp"

namespace weir::conformance {

struct CallFailed : std::runtime_error {
  CallFailed(weir_result result_, const std::string& message)
      : std::runtime_error(message), result(result_) {}
  weir_result result;
};

/// Opens all gates and waits for all streams of this test, whatever they answer.
void let_work_end() noexcept;

/// Throws CallFailed with the driver's own words, once no work is left that uses what goes with the
/// exception.
[[noreturn]] void fail_call(weir_result result, const weir_status& status);

/// Calls a slot; a failure fails the test with the driver's own words.
template <class Function, class... Arguments>
void call(Function slot, Arguments... arguments) {
  weir_status status = new_status();
  if (const weir_result result = slot(arguments..., &status); result != WEIR_OK) fail_call(result, status);
}

/// Calls a slot whose failure the test decides on.
template <class Function, class... Arguments>
weir_result result_of(Function slot, Arguments... arguments) {
  weir_status status = new_status();
  return slot(arguments..., &status);
}

/// Calls a slot that must answer `expected`, with a status that says so in words. Gives back the message.
template <class Function, class... Arguments>
std::string refusal(weir_result expected, Function slot, Arguments... arguments) {
  weir_status status = new_status();
  const weir_result result = slot(arguments..., &status);
  const std::string where(last_slot());
  EXPECT_EQ(result, expected) << where << " answers " << result_name(result) << "; expected "
                              << result_name(expected) << ". Its message: " << status.message;
  EXPECT_EQ(status.code, result) << where << " filled status.code with something else than it returned";
  const bool terminated = std::memchr(status.message, 0, sizeof status.message) != nullptr;
  EXPECT_TRUE(terminated) << where << " left status.message without an end";
  if (!terminated) return {};
  EXPECT_STRNE(status.message, "") << where << " failed without a message";
  return status.message;
}

/// For slots that a device may do without.
template <class Function, class... Arguments>
void call_if_supported(Function slot, Arguments... arguments) {
  weir_status status = new_status();
  const weir_result result = slot(arguments..., &status);
  if (result == WEIR_ERROR_UNSUPPORTED) throw Unsupported(std::string(last_slot()) + ": " + status.message);
  if (result != WEIR_OK) fail_call(result, status);
}

}  // namespace weir::conformance
