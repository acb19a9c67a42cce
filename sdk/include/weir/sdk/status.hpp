// SPDX-License-Identifier: Apache-2.0
// Failures inside a driver are exceptions; `guarded` converts them to results and fills the caller's status.
//
//   weir_result my_slot(weir_stream stream, weir_status* status) {
//     return weir::sdk::guarded(status, [&] {
//       if (!stream) weir::sdk::fail(WEIR_ERROR_INVALID, "stream is null");
//       ...
//     });
//   }
//
// A message names the thing, the expectation and the finding; hosts print it unchanged. All functions of this
// header are thread-safe.
#pragma once

#include <weir/driver.h>

#include <algorithm>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <weir/sdk/utf8.hpp>

namespace weir::sdk {

/// The failure of a call.
struct Failure {
  weir_result code;
  std::string message;
  std::int64_t vendor_code = 0;  ///< the vendor's number, or errno of the operating system; 0 if none
  std::string vendor_name{};     ///< the vendor's name of the number, or ""
};

namespace detail {

// The three further bytes hold the rest of a character that does not fit into a status, for copy_text.
inline std::string format_text(const char* format, va_list arguments) {
  char text[WEIR_STATUS_MESSAGE_BYTES + 3];
  std::vsnprintf(text, sizeof text, format, arguments);
  return text;
}

// Copies as much as fits, without splitting a UTF-8 character. Bytes that are not UTF-8 become '?'.
inline void copy_text(char* out, std::size_t capacity, const char* text) noexcept {
  std::size_t length = std::strlen(text);
  if (length >= capacity) {
    length = capacity - 1;
    while (length > 0 && (static_cast<unsigned char>(text[length]) & 0xc0u) == 0x80u) --length;
  }
  std::memcpy(out, text, length);
  out[length] = '\0';
  for (std::size_t i = 0, step; i < length; i += step ? step : 1)
    if ((step = character_length({out + i, length - i})) == 0) out[i] = '?';
}

}  // namespace detail

/// A printf-style message as a string, cut soon after the capacity of a status.
[[gnu::format(printf, 1, 2)]] inline std::string format_text(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::string text = detail::format_text(format, arguments);
  va_end(arguments);
  return text;
}

/// The name of format_text in version 0.1; removed in 0.3.
[[deprecated("use format_text"), gnu::format(printf, 1, 2)]] inline std::string words(const char* format,
                                                                                      ...) {
  va_list arguments;
  va_start(arguments, format);
  std::string text = detail::format_text(format, arguments);
  va_end(arguments);
  return text;
}

/// Throws a Failure with a printf-style message.
[[noreturn, gnu::format(printf, 2, 3), gnu::cold, gnu::noinline]] inline void fail(weir_result code,
                                                                                   const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  Failure failure{code, detail::format_text(format, arguments)};
  va_end(arguments);
  throw failure;
}

/// Throws a Failure for a refusal of the operating system; its errno becomes the vendor's code and name.
[[noreturn, gnu::format(printf, 2, 3), gnu::cold, gnu::noinline]] inline void fail_system(int error,
                                                                                          const char* format,
                                                                                          ...) {
  va_list arguments;
  va_start(arguments, format);
  Failure failure{WEIR_ERROR_SYSTEM, detail::format_text(format, arguments), error};
  va_end(arguments);
  failure.message += ": " + std::generic_category().message(error);
  if (const char* name = strerrorname_np(error)) failure.vendor_name = name;
  throw failure;
}

/// Fills `status` (which may be null) up to its struct_size.
inline void report(weir_status* status, weir_result code, const char* message, std::int64_t vendor_code = 0,
                   const char* vendor_name = "") noexcept {
  if (!status) return;
  weir_status filled{};
  filled.struct_size = status->struct_size;
  filled.code = code;
  filled.vendor_code = vendor_code;
  detail::copy_text(filled.vendor_name, sizeof filled.vendor_name, vendor_name);
  detail::copy_text(filled.message, sizeof filled.message, message);
  if (status->struct_size > offsetof(weir_status, message) && status->struct_size < sizeof filled)
    detail::copy_text(filled.message, status->struct_size - offsetof(weir_status, message), message);
  std::memcpy(status, &filled, std::min<std::size_t>(status->struct_size, sizeof filled));
}

/// Reports the exception in flight and returns its code. Call it in a catch block.
[[gnu::cold, gnu::noinline]] inline weir_result report_exception(weir_status* status) noexcept {
  try {
    throw;
  } catch (const Failure& failure) {
    report(status, failure.code, failure.message.c_str(), failure.vendor_code, failure.vendor_name.c_str());
    return failure.code;
  } catch (const std::bad_alloc&) {
    report(status, WEIR_ERROR_OUT_OF_MEMORY,
           "there is not enough host memory for this call; free host memory");
    return WEIR_ERROR_OUT_OF_MEMORY;
  } catch (const std::system_error& error) {
    const char* name = strerrorname_np(error.code().value());
    report(status, WEIR_ERROR_SYSTEM, error.what(), error.code().value(), name ? name : "");
    return WEIR_ERROR_SYSTEM;
  } catch (const std::exception& error) {
    report(status, WEIR_ERROR_UNKNOWN, error.what());
  } catch (...) {
    report(status, WEIR_ERROR_UNKNOWN, "the driver met an exception of unknown type");
  }
  return WEIR_ERROR_UNKNOWN;
}

/// Runs the body of a table function and catches every exception. A body without a result returns WEIR_OK.
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

/// A struct that the host filled, or `copy` with the fields of a shorter one. Fields beyond its struct_size
/// are zero.
template <class Struct>
const Struct& read_struct(const Struct* in, const char* what, Struct& copy) {
  if (!in) [[unlikely]]
    fail(WEIR_ERROR_INVALID, "%s is null", what);
  if (in->struct_size >= sizeof(Struct)) [[likely]]
    return *in;
  if (in->struct_size < sizeof(std::uint32_t) * 2)
    fail(WEIR_ERROR_INVALID, "%s has struct_size %u; expected sizeof the struct, %zu", what, in->struct_size,
         sizeof(Struct));
  copy = Struct{};
  std::memcpy(static_cast<void*>(&copy), in, in->struct_size);
  return copy;
}

/// A copy of a struct that the host filled; fields beyond its struct_size are zero.
template <class Struct>
Struct read_struct(const Struct* in, const char* what) {
  Struct copy;
  return read_struct(in, what, copy);
}

/// Fills a struct of the host up to its struct_size.
template <class Struct>
void write_struct(Struct* out, Struct value, const char* what) {
  if (!out) fail(WEIR_ERROR_INVALID, "%s is null", what);
  if (out->struct_size < sizeof(std::uint32_t))
    fail(WEIR_ERROR_INVALID, "%s has struct_size %u; expected sizeof the struct, %zu", what, out->struct_size,
         sizeof(Struct));
  value.struct_size = out->struct_size;
  std::memcpy(out, &value, std::min<std::size_t>(out->struct_size, sizeof value));
}

/// The object that `out` points to; throws a Failure that names `out` if it is null.
template <class Value>
Value& output(Value* out, const char* what) {
  if (!out) [[unlikely]]
    fail(WEIR_ERROR_INVALID, "%s is null; expected where to store the result", what);
  return *out;
}

/// Stores text in a fixed field of a struct, cut at a character boundary if it is too long.
template <std::size_t Size>
void put(char (&out)[Size], const std::string& text) noexcept {
  detail::copy_text(out, Size, text.c_str());
}

}  // namespace weir::sdk
