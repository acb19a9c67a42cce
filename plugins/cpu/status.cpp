// SPDX-License-Identifier: Apache-2.0
#include "status.hpp"

#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <new>
#include <system_error>

namespace weir::cpu {
namespace {

std::string format_message(const char* format, va_list arguments) {
  char text[WEIR_STATUS_MESSAGE_BYTES];
  std::vsnprintf(text, sizeof text, format, arguments);
  return text;
}

// Copies as much as fits, never half a UTF-8 character.
void copy_text(char* out, std::size_t capacity, const char* text) noexcept {
  std::size_t length = std::strlen(text);
  if (length >= capacity) {
    length = capacity - 1;
    while (length > 0 && (static_cast<unsigned char>(text[length]) & 0xc0u) == 0x80u) --length;
  }
  std::memcpy(out, text, length);
  out[length] = '\0';
}

}  // namespace

void fail(weir_result code, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  Failure failure{code, format_message(format, arguments)};
  va_end(arguments);
  throw failure;
}

void fail_system(int error, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  Failure failure{WEIR_ERROR_SYSTEM, format_message(format, arguments), error};
  va_end(arguments);
  failure.message += ": ";
  failure.message += std::generic_category().message(error);
  throw failure;
}

void report(weir_status* status, weir_result code, const char* message, int system_error) noexcept {
  if (!status) return;
  weir_status filled{};
  filled.struct_size = status->struct_size;
  filled.code = code;
  filled.vendor_code = system_error;
  if (const char* name = system_error ? strerrorname_np(system_error) : nullptr)
    copy_text(filled.vendor_name, sizeof filled.vendor_name, name);
  copy_text(filled.message, sizeof filled.message, message);
  if (status->struct_size > offsetof(weir_status, message) && status->struct_size < sizeof filled)
    copy_text(filled.message, status->struct_size - offsetof(weir_status, message), message);
  std::memcpy(status, &filled, std::min<std::size_t>(status->struct_size, sizeof filled));
}

weir_result report_exception(weir_status* status) noexcept {
  try {
    throw;
  } catch (const Failure& failure) {
    report(status, failure.code, failure.message.c_str(), failure.system_error);
    return failure.code;
  } catch (const std::bad_alloc&) {
    report(status, WEIR_ERROR_OUT_OF_MEMORY, "the CPU driver could not allocate host memory for its own records", 0);
    return WEIR_ERROR_OUT_OF_MEMORY;
  } catch (const std::system_error& error) {
    report(status, WEIR_ERROR_SYSTEM, error.what(), error.code().value());
    return WEIR_ERROR_SYSTEM;
  } catch (const std::exception& error) {
    report(status, WEIR_ERROR_UNKNOWN, error.what(), 0);
  } catch (...) {
    report(status, WEIR_ERROR_UNKNOWN, "the CPU driver met an exception of unknown type", 0);
  }
  return WEIR_ERROR_UNKNOWN;
}

}  // namespace weir::cpu
