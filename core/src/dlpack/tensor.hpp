// SPDX-License-Identifier: Apache-2.0
// The structs of the DLPack format, from its documented binary interface. Debian 12's header lacks the
// versioned tensor, and a public header must not need it. So the few structs are declared here. tests/dlpack
// compares them with dlpack.h where that is installed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

namespace weir::dlpack {

enum TypeCode : std::uint8_t {
  signed_integer = 0,
  unsigned_integer = 1,
  floating = 2,
  opaque = 3,
  bfloat = 4,
  complex = 5,
  boolean = 6,
};

struct DataType {
  std::uint8_t code;  ///< TypeCode
  std::uint8_t bits;  ///< of one lane
  std::uint16_t lanes;
};

struct Tensor {
  void* data;
  std::int32_t device_type, device_id;
  std::int32_t dimensions;
  DataType type;
  std::int64_t* shape;
  std::int64_t* strides;  ///< in elements; null if they are contiguous, the last index fastest
  std::uint64_t byte_offset;
};

struct ManagedTensor {
  Tensor tensor;
  void* context;
  void (*deleter)(ManagedTensor*);  ///< may be null
};

struct VersionedTensor {
  std::uint32_t major, minor;
  void* context;
  void (*deleter)(VersionedTensor*);  ///< may be null
  std::uint64_t flags;
  Tensor tensor;
};

inline constexpr std::uint32_t supported_major = 1, written_minor = 0;
inline constexpr std::uint64_t flag_read_only = 1, flag_copied = 2;

static_assert(sizeof(Tensor) == 48 && offsetof(Tensor, type) == 20 && offsetof(Tensor, shape) == 24);
static_assert(sizeof(ManagedTensor) == 64);
static_assert(sizeof(VersionedTensor) == 80 && offsetof(VersionedTensor, tensor) == 32);

/// Ordinary host memory, kDLCPU.
inline constexpr std::int32_t host_type = 1;

/// "kDLCUDA", or "" for an unknown type.
constexpr std::string_view device_type_name(std::int32_t type) noexcept {
  constexpr std::string_view names[] = {
      "",          "kDLCPU",         "kDLCUDA",   "kDLCUDAHost", "kDLOpenCL", "",
      "",          "kDLVulkan",      "kDLMetal",  "kDLVPI",      "kDLROCM",   "kDLROCMHost",
      "kDLExtDev", "kDLCUDAManaged", "kDLOneAPI", "kDLWebGPU",   "kDLHexagon"};
  return type >= 0 && static_cast<std::size_t>(type) < std::size(names) ? names[type] : std::string_view();
}

}  // namespace weir::dlpack
