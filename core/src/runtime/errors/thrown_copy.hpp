// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <weir/error.hpp>

namespace weir::detail {

/// Throws the exception as an Error that shares no memory with it. For failures that several threads report.
[[noreturn]] inline void throw_copy(const std::exception_ptr& failure) try {
  std::rethrow_exception(failure);
} catch (const Error& error) {
  throw Error(error.code(), std::string(error.what()), error.vendor_code(), error.vendor_name(),
              error.kernel(), error.file(), error.line());
} catch (const std::bad_alloc&) {
  rethrow_as_error();
} catch (const std::exception& error) {
  throw Error(ErrorCode::system, error.what());
}

}  // namespace weir::detail
