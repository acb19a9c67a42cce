// SPDX-License-Identifier: Apache-2.0
// Failures inside the driver are exceptions; `guarded` turns them into results and fills the caller's status.
#pragma once

#include <weir/driver.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <type_traits>

namespace weir::cpu {

/// A call that fails. The message names the thing, what was expected and what was found.
struct Failure {
  weir_result code;
  std::string message;
  int system_error = 0;  ///< errno when the operating system refused, else 0
};

/// Throws a Failure with a printf-style message.
[[noreturn, gnu::format(printf, 2, 3)]] void fail(weir_result code, const char* format, ...);
/// The same for a refusal of the operating system, whose errno becomes the vendor's code.
[[noreturn, gnu::format(printf, 2, 3)]] void fail_system(int error, const char* format, ...);

/// Fills `status` (which may be null) up to the size its owner states.
void report(weir_status* status, weir_result code, const char* message, int system_error) noexcept;
/// Reports the exception in flight and returns its code.
weir_result report_exception(weir_status* status) noexcept;

/// Runs the body of a table function: no exception leaves it.
template <class Body>
weir_result guarded(weir_status* status, Body&& body) noexcept {
  try {
    if constexpr (std::is_void_v<std::invoke_result_t<Body>>) {
      body();
      return WEIR_OK;
    } else {
      return body();
    }
  } catch (...) {
    return report_exception(status);
  }
}

/// A copy of a struct that the host filled, with zero for what its struct_size leaves out.
template <class Struct>
Struct read_struct(const Struct* in, const char* what) {
  if (!in) fail(WEIR_ERROR_INVALID, "%s is null", what);
  if (in->struct_size < sizeof(std::uint32_t) * 2)
    fail(WEIR_ERROR_INVALID, "%s has struct_size %u; expected sizeof the struct, %zu", what, in->struct_size,
         sizeof(Struct));
  Struct copy{};
  std::memcpy(&copy, in, std::min<std::size_t>(in->struct_size, sizeof copy));
  return copy;
}

/// Fills a struct of the host as far as its struct_size reaches.
template <class Struct>
void write_struct(Struct* out, Struct value, const char* what) {
  if (!out) fail(WEIR_ERROR_INVALID, "%s is null", what);
  if (out->struct_size < sizeof(std::uint32_t))
    fail(WEIR_ERROR_INVALID, "%s has struct_size %u; expected sizeof the struct, %zu", what, out->struct_size,
         sizeof(Struct));
  value.struct_size = out->struct_size;
  std::memcpy(out, &value, std::min<std::size_t>(out->struct_size, sizeof value));
}

template <class Value>
Value& output(Value* out, const char* what) {
  if (!out) fail(WEIR_ERROR_INVALID, "%s is null; expected where to store the result", what);
  return *out;
}

}  // namespace weir::cpu
