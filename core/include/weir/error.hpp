// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <source_location>
#include <stdexcept>
#include <string>
#include <string_view>
#include <weir/export.hpp>

namespace weir {

/// The kind of failure that an Error reports. The values up to `system` are those of weir_result_code in
/// <weir/driver.h>. Weir detects the others itself.
enum class ErrorCode : std::int32_t {
  unknown = 2,
  invalid = 3,
  unsupported = 4,
  abi = 5,
  no_device = 6,
  no_library = 7,
  out_of_memory = 8,
  code_object = 9,
  not_found = 10,
  launch = 11,
  illegal_address = 12,
  device_lost = 13,
  system = 14,
  rank = 15,        ///< another rank of the group failed, ended, or did not answer; what() names it
  kernel = 100,     ///< a kernel is invalid; what() lists every diagnostic
  assertion = 101,  ///< an assert_ in a kernel failed
  compile = 102,    ///< code generation failed
  parse = 103,      ///< text (IR, NumPy, terrain, manifest) is malformed; what() has the place
};

/// The word for a code, e.g. "out of memory".
WEIR_API std::string_view to_string(ErrorCode code) noexcept;

/// The only exception type that Weir throws. what() is a complete message: subject, expectation, finding,
/// remedy. Copyable, immutable, safe to pass between threads. When host memory runs out, the Error
/// (out_of_memory) is thrown without allocating. Exceptions of a kernel's lambda pass through.
class WEIR_API Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  Error(ErrorCode code, const std::string& message, std::int64_t vendor_code, std::string vendor_name)
      : std::runtime_error(message),
        code_(code),
        vendor_code_(vendor_code),
        vendor_name_(std::move(vendor_name)) {}
  Error(ErrorCode code, const std::string& message, std::string kernel, std::source_location where)
      : std::runtime_error(message),
        code_(code),
        kernel_(std::move(kernel)),
        where_(where),
        file_(where.file_name()),
        line_(where.line()) {}
  /// A driver's failure while `kernel`, written at that line, ran or was launched.
  Error(ErrorCode code, const std::string& message, std::int64_t vendor_code, std::string vendor_name,
        std::string kernel, std::string file = {}, std::uint32_t line = 0)
      : std::runtime_error(message),
        code_(code),
        vendor_code_(vendor_code),
        vendor_name_(std::move(vendor_name)),
        kernel_(std::move(kernel)),
        file_(std::move(file)),
        line_(line) {}
  /// A failure at a line that is known at run time only, such as that of an assert_ that failed on a device.
  Error(ErrorCode code, const std::string& message, std::string kernel, std::string file, std::uint32_t line)
      : std::runtime_error(message),
        code_(code),
        kernel_(std::move(kernel)),
        file_(std::move(file)),
        line_(line) {}
  ~Error() override;

  ErrorCode code() const noexcept { return code_; }
  /// The vendor's own number and name for the failure, e.g. 2 and "CUDA_ERROR_OUT_OF_MEMORY"; 0 and "" if
  /// none.
  std::int64_t vendor_code() const noexcept { return vendor_code_; }
  const std::string& vendor_name() const noexcept { return vendor_name_; }
  /// The kernel that failed, or "".
  const std::string& kernel() const noexcept { return kernel_; }
  /// Source location of the failing statement; line() is 0 if unknown.
  std::source_location where() const noexcept { return where_; }
  /// The same as text and number, also for lines that only the kernel's IR records; "" and 0 if unknown.
  const std::string& file() const noexcept { return file_; }
  std::uint32_t line() const noexcept { return line_; }

 private:
  ErrorCode code_;
  std::int64_t vendor_code_ = 0;
  std::string vendor_name_;
  std::string kernel_;
  std::source_location where_{};
  std::string file_;
  std::uint32_t line_ = 0;
};

namespace detail {

/// Call it in a handler: rethrows std::bad_alloc as Error{out_of_memory}, without allocating memory, and any
/// other exception unchanged. Every function of the public API that may throw ends its handler with it.
[[noreturn]] WEIR_API void rethrow_as_error();

}  // namespace detail
}  // namespace weir
