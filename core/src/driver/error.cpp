// SPDX-License-Identifier: Apache-2.0
#include <new>
#include <weir/error.hpp>

namespace weir {
namespace {

// Created when the library is loaded. A copy shares the message, so throwing it allocates only the exception
// object, for which the C++ runtime keeps a reserve.
class OutOfHostMemory {
 public:
  OutOfHostMemory() noexcept {
    try {
      new (&storage_)
          Error(ErrorCode::out_of_memory,
                "host memory ran out while Weir needed some; free host memory, or raise the limit of "
                "the process or its container");
    } catch (const std::bad_alloc&) {
      new (&storage_) Error(ErrorCode::out_of_memory, "");
    }
  }
  const Error& error() const noexcept { return *std::launder(reinterpret_cast<const Error*>(&storage_)); }

 private:
  alignas(Error) std::byte storage_[sizeof(Error)];  // never destroyed: may be thrown until the end
};
const OutOfHostMemory out_of_host_memory;

}  // namespace

void detail::rethrow_as_error() {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    throw Error(out_of_host_memory.error());
  }
}

// Defined here so that the class's type information exists once and catching it works across libraries.
Error::~Error() = default;

std::string_view to_string(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::unknown:
      return "unknown error";
    case ErrorCode::invalid:
      return "invalid argument";
    case ErrorCode::unsupported:
      return "not supported";
    case ErrorCode::abi:
      return "no common ABI version";
    case ErrorCode::no_device:
      return "no device";
    case ErrorCode::no_library:
      return "vendor library missing";
    case ErrorCode::out_of_memory:
      return "out of memory";
    case ErrorCode::code_object:
      return "code object refused";
    case ErrorCode::not_found:
      return "not found";
    case ErrorCode::launch:
      return "launch failed";
    case ErrorCode::illegal_address:
      return "illegal address";
    case ErrorCode::device_lost:
      return "device lost";
    case ErrorCode::system:
      return "operating system error";
    case ErrorCode::rank:
      return "another rank failed";
    case ErrorCode::kernel:
      return "invalid kernel";
    case ErrorCode::assertion:
      return "assertion failed";
    case ErrorCode::compile:
      return "compilation failed";
    case ErrorCode::parse:
      return "malformed input";
  }
  return "unknown error";
}

}  // namespace weir
