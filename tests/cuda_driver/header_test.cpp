// SPDX-License-Identifier: Apache-2.0
// The driver declares NVIDIA's interface itself. Where a toolkit is installed, these static assertions
// compare the declarations with its header.
#include <gtest/gtest.h>

#include <api.hpp>
#include <weir/sdk/vendor/pool.hpp>

#if __has_include(<cuda.h>)
#include <cuda.h>

#include <cstddef>

namespace {

namespace ours = weir::cuda;
namespace shared = weir::sdk::vendor;

#define SAME(own, theirs) static_assert(static_cast<long long>(own) == static_cast<long long>(theirs))
#define SAME_FIELD(Own, own, Theirs, theirs)          \
  SAME(offsetof(Own, own), offsetof(Theirs, theirs)); \
  SAME(sizeof(Own{}.own), sizeof(Theirs{}.theirs))

SAME(shared::out_of_memory, CUDA_ERROR_OUT_OF_MEMORY);
SAME(shared::not_found, CUDA_ERROR_NOT_FOUND);
SAME(shared::not_ready, CUDA_ERROR_NOT_READY);

SAME(ours::stub_library, CUDA_ERROR_STUB_LIBRARY);
SAME(shared::no_device, CUDA_ERROR_NO_DEVICE);
SAME(ours::nvlink_uncorrectable, CUDA_ERROR_NVLINK_UNCORRECTABLE);
SAME(ours::unsupported_ptx_version, CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
SAME(ours::contained, CUDA_ERROR_CONTAINED);
SAME(ours::hardware_stack_error, CUDA_ERROR_HARDWARE_STACK_ERROR);
SAME(ours::illegal_instruction, CUDA_ERROR_ILLEGAL_INSTRUCTION);
SAME(ours::misaligned_address, CUDA_ERROR_MISALIGNED_ADDRESS);
SAME(ours::invalid_address_space, CUDA_ERROR_INVALID_ADDRESS_SPACE);
SAME(ours::invalid_pc, CUDA_ERROR_INVALID_PC);
SAME(ours::system_driver_mismatch, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH);

SAME(ours::max_threads_per_block, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
SAME(ours::max_block_x + 2, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z);
SAME(ours::max_grid_x + 2, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z);
SAME(ours::max_shared_per_block, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
SAME(ours::warp_size, CU_DEVICE_ATTRIBUTE_WARP_SIZE);
SAME(ours::max_registers_per_block, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK);
SAME(ours::pointer_device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
SAME(ours::multiprocessor_count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
SAME(ours::integrated, CU_DEVICE_ATTRIBUTE_INTEGRATED);
SAME(ours::concurrent_kernels, CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS);
SAME(ours::memory_clock_kilohertz, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
SAME(ours::memory_bus_bits, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
SAME(ours::max_threads_per_multiprocessor, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
SAME(ours::compute_major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
SAME(ours::compute_minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
SAME(ours::stream_priorities, CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED);
SAME(ours::max_shared_per_multiprocessor, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
SAME(ours::max_registers_per_multiprocessor, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
SAME(ours::max_shared_per_block_optin, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
SAME(ours::cooperative_launch, CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH);
SAME(ours::max_blocks_per_multiprocessor, CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
SAME(ours::memory_pools, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);

SAME(ours::jit_info_log, CU_JIT_INFO_LOG_BUFFER);
SAME(ours::jit_info_log_bytes, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES);
SAME(ours::jit_error_log, CU_JIT_ERROR_LOG_BUFFER);
SAME(ours::jit_error_log_bytes, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
SAME(ours::pointer_memory_type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
SAME(shared::pool_reuse_internal_dependencies, CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES);
SAME(shared::pool_release_threshold, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD);
SAME(ours::host_memory, CU_MEMORYTYPE_HOST);
SAME(ours::device_memory, CU_MEMORYTYPE_DEVICE);
SAME(ours::unified_memory, CU_MEMORYTYPE_UNIFIED);
SAME(shared::stream_non_blocking, CU_STREAM_NON_BLOCKING);
SAME(shared::event_disable_timing, CU_EVENT_DISABLE_TIMING);
SAME(shared::host_portable, CU_MEMHOSTALLOC_PORTABLE);
SAME(shared::host_mapped, CU_MEMHOSTALLOC_DEVICEMAP);
SAME(shared::function_max_block_threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
SAME(shared::function_shared_bytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
SAME(shared::function_local_bytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
SAME(shared::function_registers, CU_FUNC_ATTRIBUTE_NUM_REGS);
SAME(shared::function_max_dynamic_shared_bytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);

SAME(sizeof(shared::PoolProperties), sizeof(CUmemPoolProps));
SAME_FIELD(shared::PoolProperties, allocation_type, CUmemPoolProps, allocType);
SAME_FIELD(shared::PoolProperties, location, CUmemPoolProps, location);
SAME(1, CU_MEM_ALLOCATION_TYPE_PINNED);
SAME(1, CU_MEM_LOCATION_TYPE_DEVICE);
SAME(sizeof(shared::PoolAccess), sizeof(CUmemAccessDesc));
SAME_FIELD(shared::PoolAccess, flags, CUmemAccessDesc, flags);
SAME(3, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);

SAME(sizeof(ours::KernelNode), sizeof(CUDA_KERNEL_NODE_PARAMS));
SAME_FIELD(ours::KernelNode, function, CUDA_KERNEL_NODE_PARAMS, func);
SAME(offsetof(ours::KernelNode, grid), offsetof(CUDA_KERNEL_NODE_PARAMS, gridDimX));
SAME(offsetof(ours::KernelNode, block), offsetof(CUDA_KERNEL_NODE_PARAMS, blockDimX));
SAME_FIELD(ours::KernelNode, shared_bytes, CUDA_KERNEL_NODE_PARAMS, sharedMemBytes);
SAME_FIELD(ours::KernelNode, parameters, CUDA_KERNEL_NODE_PARAMS, kernelParams);
SAME_FIELD(ours::KernelNode, extra, CUDA_KERNEL_NODE_PARAMS, extra);

SAME(ours::launch_is_cooperative, CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
SAME(sizeof(ours::LaunchAttribute), sizeof(CUlaunchAttribute));
SAME_FIELD(ours::LaunchAttribute, number, CUlaunchAttribute, id);
SAME_FIELD(ours::LaunchAttribute, value, CUlaunchAttribute, value);
SAME(sizeof(ours::LaunchAttribute::Value), sizeof(CUkernelNodeAttrValue));
SAME(sizeof(ours::LaunchConfiguration), sizeof(CUlaunchConfig));
SAME(offsetof(ours::LaunchConfiguration, grid), offsetof(CUlaunchConfig, gridDimX));
SAME(offsetof(ours::LaunchConfiguration, block), offsetof(CUlaunchConfig, blockDimX));
SAME_FIELD(ours::LaunchConfiguration, shared_bytes, CUlaunchConfig, sharedMemBytes);
SAME_FIELD(ours::LaunchConfiguration, stream, CUlaunchConfig, hStream);
SAME_FIELD(ours::LaunchConfiguration, attributes, CUlaunchConfig, attrs);
SAME_FIELD(ours::LaunchConfiguration, attribute_count, CUlaunchConfig, numAttrs);

SAME(sizeof(ours::CopyNode), sizeof(CUDA_MEMCPY3D));
SAME_FIELD(ours::CopyNode, from.type, CUDA_MEMCPY3D, srcMemoryType);
SAME_FIELD(ours::CopyNode, from.host, CUDA_MEMCPY3D, srcHost);
SAME_FIELD(ours::CopyNode, from.device, CUDA_MEMCPY3D, srcDevice);
SAME_FIELD(ours::CopyNode, to.type, CUDA_MEMCPY3D, dstMemoryType);
SAME_FIELD(ours::CopyNode, to.host, CUDA_MEMCPY3D, dstHost);
SAME_FIELD(ours::CopyNode, to.device, CUDA_MEMCPY3D, dstDevice);
SAME_FIELD(ours::CopyNode, to.height, CUDA_MEMCPY3D, dstHeight);
SAME_FIELD(ours::CopyNode, width_bytes, CUDA_MEMCPY3D, WidthInBytes);

SAME(sizeof(ours::FillNode), sizeof(CUDA_MEMSET_NODE_PARAMS));
SAME_FIELD(ours::FillNode, to, CUDA_MEMSET_NODE_PARAMS, dst);
SAME_FIELD(ours::FillNode, pitch, CUDA_MEMSET_NODE_PARAMS, pitch);
SAME_FIELD(ours::FillNode, value, CUDA_MEMSET_NODE_PARAMS, value);
SAME_FIELD(ours::FillNode, element_bytes, CUDA_MEMSET_NODE_PARAMS, elementSize);
SAME_FIELD(ours::FillNode, width, CUDA_MEMSET_NODE_PARAMS, width);
SAME_FIELD(ours::FillNode, height, CUDA_MEMSET_NODE_PARAMS, height);

TEST(CudaHeader, AgreesWithWhatTheDriverDeclares) {
  // The comparison takes place at compile time.
  SUCCEED() << "with the header of CUDA " << CUDA_VERSION;
}

}  // namespace
#else
TEST(CudaHeader, AgreesWithWhatTheDriverDeclares) {
  GTEST_SKIP() << "cuda.h was not found at build time; the declarations were not compared";
}
#endif
