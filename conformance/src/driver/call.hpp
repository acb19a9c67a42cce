// SPDX-License-Identifier: Apache-2.0
// Calls of the driver's table: those that must succeed, and those that must be refused.
#pragma once

#include <weir/driver.h>

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>

#include "driver/driver_under_test.hpp"
#include "driver/recorded_table.hpp"
#include "requirement.hpp"

namespace weir::conformance {

struct CallFailed : std::runtime_error {
  CallFailed(weir_result result_, const std::string& message)
      : std::runtime_error(message), result(result_) {}
  weir_result result;
};

/// Opens all gates and waits for all streams of this test. Ignores the results.
void let_work_end() noexcept;

/// Throws CallFailed with the driver's message. Waits first for all submitted work, which may use objects
/// that the exception destroys.
[[noreturn]] void fail_call(weir_result result, const weir_status& status);

/// Calls a slot; a failure fails the test with the driver's message.
template <class Function, class... Arguments>
void call(Function slot, Arguments... arguments) {
  weir_status status = new_status();
  if (const weir_result result = slot(arguments..., &status); result != WEIR_OK) fail_call(result, status);
}

/// Expects `result` of the function `where`. A failure names both results and quotes the driver's message.
inline void expect_result(std::string_view where, weir_result result, weir_result expected,
                          const char* message = "") {
  if (result == expected) return;
  ADD_FAILURE() << where << " returned " << result_name(result) << "; expected " << result_name(expected)
                << (*message ? ". Its message: " : "") << message;
}

/// Calls a slot and returns its result, which the test checks.
template <class Function, class... Arguments>
weir_result result_of(Function slot, Arguments... arguments) {
  weir_status status = new_status();
  return slot(arguments..., &status);
}

/// An argument of a call that fails. Outputs that are handles must keep their values: null would look like
/// one that the driver stored, so they have another one meanwhile.
template <class Argument>
struct RefusedArgument {
  explicit RefusedArgument(Argument) {}
  void expect_untouched(const std::string&) const {}
};
template <class Object>
class RefusedArgument<Object**> {
 public:
  explicit RefusedArgument(Object** output) : output_(output) {
    if (output && !*output) before_ = *output = reinterpret_cast<Object*>(std::uintptr_t{0x5a5a5a50});
  }
  void expect_untouched(const std::string& where) const {
    if (!before_) return;
    if (*output_ != before_)
      ADD_FAILURE() << where << " failed and stored " << (*output_ ? "a handle" : "null")
                    << " in its output. driver.h: a function that fails leaves its outputs untouched";
    *output_ = nullptr;
  }

 private:
  Object** output_;
  Object* before_ = nullptr;
};

/// Calls a slot that must return `expected`, fill the status with that code and a message, and leave its
/// output alone. Returns the message.
template <class Function, class... Arguments>
std::string refusal(weir_result expected, Function slot, Arguments... arguments) {
  weir_status status = new_status();
  const std::tuple<RefusedArgument<Arguments>...> outputs{RefusedArgument<Arguments>(arguments)...};
  const weir_result result = slot(arguments..., &status);
  const std::string where(last_slot());
  std::apply([&](const auto&... output) { (output.expect_untouched(where), ...); }, outputs);
  expect_result(where, result, expected, status.message);
  if (result == WEIR_OK || result == WEIR_NOT_READY) return {};  // they fill no status
  if (status.code == new_status().code)
    ADD_FAILURE() << where << " returned " << result_name(result) << " and left status.code unfilled";
  else
    expect_result(where + "'s status.code", status.code, result);
  const bool terminated = std::memchr(status.message, 0, sizeof status.message) != nullptr;
  EXPECT_TRUE(terminated) << where << " left status.message unterminated";
  if (!terminated) return {};
  EXPECT_STRNE(status.message, "") << where << " failed and left status.message empty";
  return status.message;
}

/// For slots that a device may leave unsupported.
template <class Function, class... Arguments>
void call_if_supported(Function slot, Arguments... arguments) {
  weir_status status = new_status();
  const weir_result result = slot(arguments..., &status);
  if (result == WEIR_ERROR_UNSUPPORTED) throw Unsupported(std::string(last_slot()) + ": " + status.message);
  if (result != WEIR_OK) fail_call(result, status);
}

}  // namespace weir::conformance
