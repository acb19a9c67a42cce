// SPDX-License-Identifier: Apache-2.0
// Checks of every call of the table and of the entry point: the rules for statuses and outputs, and the
// unchanged state of the calling thread.
#pragma once

#include <signal.h>
#include <weir/driver.h>

#include <array>
#include <cfenv>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <tuple>
#include <type_traits>

namespace weir::conformance {

/// The last argument of a call.
inline weir_status* status_of(weir_status* status) {
  return status;
}
template <class... More>
weir_status* status_of(auto, More... more) {
  return status_of(more...);
}

/// A success leaves the status untouched. A failure fills it with its code and terminated UTF-8 texts.
class StatusCheck {
 public:
  explicit StatusCheck(const weir_status* status);
  void after(std::string_view called, weir_result result) const;

 private:
  const weir_status* status_;
  std::uint32_t size_ = 0;
  weir_status before_;
};

/// A call leaves the floating-point environment and the signal mask of its thread as they were.
class ThreadCheck {
 public:
  ThreadCheck() noexcept;
  void after(std::string_view called) const;

 private:
  std::uint64_t mode_;
  std::fenv_t floating_;
  sigset_t signals_;
};

/// An output of a handle or number: set on success, untouched otherwise. Before the call it receives a value
/// that is no result; after a call that does not set it, its earlier value.
template <class Value>
class OutputCheck {
 public:
  explicit OutputCheck(Value* out) noexcept : out_(out) {
    if (!out_) return;
    before_ = *out_;
    std::memset(static_cast<void*>(out_), 0xa5, sizeof *out_);
    std::memcpy(unset_, out_, sizeof unset_);
  }
  /// 0 if the call kept the rule, 1 if it succeeded without the output, 2 if it failed and changed the
  /// output.
  int after(weir_result result) const noexcept {
    if (!out_) return 0;
    const bool unset = std::memcmp(unset_, out_, sizeof unset_) == 0;
    if (unset || result != WEIR_OK) *out_ = before_;
    return result == WEIR_OK ? unset : unset ? 0 : 2;
  }

 private:
  Value* out_;
  Value before_{};
  unsigned char unset_[sizeof(Value)];
};

/// An argument that is no output.
struct NoOutput {
  explicit NoOutput(const void*) noexcept {}
  explicit NoOutput(std::uint64_t) noexcept {}
  int after(weir_result) const noexcept { return 0; }
};

template <class Argument>
struct OutputOf {
  using Check = NoOutput;
};
template <class Value>
requires(!std::is_const_v<Value> &&
         (std::is_pointer_v<Value> || std::is_arithmetic_v<Value>)) struct OutputOf<Value*> {
  using Check = OutputCheck<Value>;
};

void report_output(std::string_view called, weir_result result, int breach);

/// Checks one call with these arguments. Construct it before the call.
template <class... Arguments>
class CallCheck {
 public:
  explicit CallCheck(Arguments... arguments)
      : status_(status_of(arguments...)), outputs_(check(arguments)...) {}
  void after(std::string_view called, weir_result result) const {
    status_.after(called, result);
    thread_.after(called);
    std::apply([&](const auto&... outputs) { (report_output(called, result, outputs.after(result)), ...); },
               outputs_);
  }

 private:
  template <class Argument>
  static auto check(Argument argument) {
    if constexpr (std::is_function_v<std::remove_pointer_t<Argument>>)
      return NoOutput(std::uint64_t{0});
    else
      return typename OutputOf<Argument>::Check(argument);
  }

  StatusCheck status_;
  std::tuple<decltype(check(std::declval<Arguments>()))...> outputs_;
  ThreadCheck thread_;
};

}  // namespace weir::conformance
