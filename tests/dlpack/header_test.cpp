// SPDX-License-Identifier: Apache-2.0
// The structs of this tree are those of dlpack.h, where that is installed (libdlpack-dev).
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>

#include "dlpack/tensor.hpp"

#if __has_include(<dlpack/dlpack.h>)
#include <dlpack/dlpack.h>

namespace weir::dlpack {
namespace {

static_assert(sizeof(::DLTensor) == sizeof(Tensor) && alignof(::DLTensor) == alignof(Tensor));
static_assert(offsetof(::DLTensor, data) == offsetof(Tensor, data));
static_assert(offsetof(::DLTensor, device) == offsetof(Tensor, device_type));
static_assert(offsetof(::DLDevice, device_id) == sizeof(Tensor::device_type));
static_assert(offsetof(::DLTensor, ndim) == offsetof(Tensor, dimensions));
static_assert(offsetof(::DLTensor, dtype) == offsetof(Tensor, type));
static_assert(offsetof(::DLDataType, code) == offsetof(DataType, code));
static_assert(offsetof(::DLDataType, bits) == offsetof(DataType, bits));
static_assert(offsetof(::DLDataType, lanes) == offsetof(DataType, lanes));
static_assert(offsetof(::DLTensor, shape) == offsetof(Tensor, shape));
static_assert(offsetof(::DLTensor, strides) == offsetof(Tensor, strides));
static_assert(offsetof(::DLTensor, byte_offset) == offsetof(Tensor, byte_offset));
static_assert(sizeof(::DLManagedTensor) == sizeof(ManagedTensor));
static_assert(offsetof(::DLManagedTensor, manager_ctx) == offsetof(ManagedTensor, context));
static_assert(offsetof(::DLManagedTensor, deleter) == offsetof(ManagedTensor, deleter));
static_assert(kDLCPU == host_type);
constexpr int ours[] = {signed_integer, unsigned_integer, floating, opaque, bfloat, complex};
constexpr int theirs[] = {kDLInt, kDLUInt, kDLFloat, kDLOpaqueHandle, kDLBfloat, kDLComplex};
static_assert(std::equal(std::begin(ours), std::end(ours), std::begin(theirs)));

TEST(DlpackHeader, NamesOfDeviceTypesAreItsOwn) {
  EXPECT_EQ(device_type_name(kDLCPU), "kDLCPU");
  EXPECT_EQ(device_type_name(kDLCUDA), "kDLCUDA");
  EXPECT_EQ(device_type_name(kDLCUDAHost), "kDLCUDAHost");
  EXPECT_EQ(device_type_name(kDLOpenCL), "kDLOpenCL");
  EXPECT_EQ(device_type_name(kDLVulkan), "kDLVulkan");
  EXPECT_EQ(device_type_name(kDLMetal), "kDLMetal");
  EXPECT_EQ(device_type_name(kDLVPI), "kDLVPI");
  EXPECT_EQ(device_type_name(kDLROCM), "kDLROCM");
  EXPECT_EQ(device_type_name(kDLExtDev), "kDLExtDev");
  EXPECT_EQ(device_type_name(5), "");
  EXPECT_EQ(device_type_name(-1), "");
  EXPECT_EQ(device_type_name(1000), "");
}

}  // namespace
}  // namespace weir::dlpack
#else
TEST(DlpackHeader, IsNotInstalled) {
  GTEST_SKIP() << "dlpack/dlpack.h is not here: install libdlpack-dev";
}
#endif
