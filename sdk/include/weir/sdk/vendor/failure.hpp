// SPDX-License-Identifier: Apache-2.0
// Converts a vendor's error numbers to Failures, with the vendor's name and message.
//
// Requires of the vendor's traits V:
//   static constexpr Names names;
//   static const std::span<const VerdictRow> verdicts;      // of vendor-specific numbers
//   static std::string error_name(Code code);              // "CUDA_ERROR_OUT_OF_MEMORY"
//   static std::string error_text(Code code);              // "out of memory"
#pragma once

#include <span>

#include "../status.hpp"
#include "calls.hpp"

namespace weir::sdk::vendor {

struct Names {
  const char *driver, *version, *author;  // for the driver's table
  const char* runtime;                    // name in messages: "CUDA"
};

/// The meaning of a vendor's number: the ABI's code, and whether the device is lost.
struct Verdict {
  weir_result result = WEIR_ERROR_UNKNOWN;
  bool lost = false;
};

struct VerdictRow {
  Code code;
  Verdict verdict;
};

/// The numbers shared by CUDA and HIP.
constexpr Verdict common_verdict(Code code) noexcept {
  switch (code) {
    case 1:    // invalid value
    case 101:  // invalid device
    case 201:  // invalid context
    case 400:  // invalid handle
      return {WEIR_ERROR_INVALID};
    case out_of_memory:
      return {WEIR_ERROR_OUT_OF_MEMORY};
    case no_device:
      return {WEIR_ERROR_NO_DEVICE};
    case 4:    // shutting down
    case 304:  // the operating system refused
      return {WEIR_ERROR_SYSTEM};
    case 200:  // invalid image
    case 209:  // no binary for this device
    case 218:  // invalid assembly
      return {WEIR_ERROR_CODE_OBJECT};
    case not_found:
      return {WEIR_ERROR_NOT_FOUND};
    case not_ready:
      return {WEIR_NOT_READY};
    case 700:  // illegal address
      return {WEIR_ERROR_ILLEGAL_ADDRESS, true};
    case 701:  // out of resources
      return {WEIR_ERROR_LAUNCH};
    case 702:  // launch timeout
    case 710:  // assertion in a kernel
    case 719:  // launch failure
      return {WEIR_ERROR_LAUNCH, true};
    case 214:  // uncorrectable memory error
    case 709:  // context is destroyed
      return {WEIR_ERROR_DEVICE_LOST, true};
    case 801:  // not supported
      return {WEIR_ERROR_UNSUPPORTED};
    default:
      return {};
  }
}

template <class V>
Verdict verdict_of(Code code) noexcept {
  for (const VerdictRow& row : V::verdicts)
    if (row.code == code) return row.verdict;
  return common_verdict(code);
}

/// V::error_text, or error_words, its name in version 0.1; that name is accepted until 0.3.
template <class V>
std::string error_text_of(Code code) {
  if constexpr (requires { V::error_text(code); })
    return V::error_text(code);
  else
    return V::error_words(code);
}

/// `doing` continues the sentence "CUDA could not": "create a stream".
template <class V>
Failure failure_of(Code code, const char* doing) {
  const std::string name = V::error_name(code);
  return {verdict_of<V>(code).result,
          format_text("%s could not %.300s: %s (%d): %.300s", V::names.runtime, doing, name.c_str(), code,
                      error_text_of<V>(code).c_str()),
          code, name};
}

/// Throws unless the call succeeded; for calls without an open device.
template <class V>
void check(Code code, const char* doing) {
  if (code != success) [[unlikely]]
    throw failure_of<V>(code, doing);
}

}  // namespace weir::sdk::vendor
