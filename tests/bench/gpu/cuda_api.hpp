// SPDX-License-Identifier: Apache-2.0
// The peers' part of the CUDA driver API, declared here and opened at run time, so that weir-bench builds and
// starts on machines without CUDA.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace weir::bench::gpu {

using CUresult = int;
using CUdevice = int;
using CUdeviceptr = unsigned long long;
struct CUctx_st;
struct CUmod_st;
struct CUfunc_st;
struct CUstream_st;
struct CUevent_st;
struct CUgraph_st;
struct CUgraphNode_st;
struct CUgraphExec_st;
struct CUmemPool_st;
using CUcontext = CUctx_st*;
using CUmodule = CUmod_st*;
using CUfunction = CUfunc_st*;
using CUstream = CUstream_st*;
using CUevent = CUevent_st*;
using CUgraph = CUgraph_st*;
using CUgraphNode = CUgraphNode_st*;
using CUgraphExec = CUgraphExec_st*;
using CUmemoryPool = CUmemPool_st*;

inline constexpr unsigned stream_non_blocking = 1, event_disable_timing = 2;
inline constexpr int capture_thread_local = 1;    // CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
inline constexpr int pool_release_threshold = 4;  // CU_MEMPOOL_ATTR_RELEASE_THRESHOLD

/// CUDA_KERNEL_NODE_PARAMS_v2.
struct KernelNode {
  CUfunction function;
  unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes;
  void** parameters;
  void** extra;
  void* kernel;
  CUcontext context;
};

/// The functions, under their names without "cu". All return 0 on success.
struct Cuda {
  CUresult (*Init)(unsigned);
  CUresult (*DeviceGet)(CUdevice*, int);
  CUresult (*DevicePrimaryCtxRetain)(CUcontext*, CUdevice);
  CUresult (*CtxSetCurrent)(CUcontext);
  CUresult (*CtxSynchronize)();
  CUresult (*GetErrorName)(CUresult, const char**);
  CUresult (*ModuleLoadData)(CUmodule*, const void*);
  CUresult (*ModuleGetFunction)(CUfunction*, CUmodule, const char*);
  CUresult (*LaunchKernel)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                           CUstream, void**, void**);
  CUresult (*StreamCreate)(CUstream*, unsigned);
  CUresult (*StreamSynchronize)(CUstream);
  CUresult (*StreamBeginCapture)(CUstream, int);
  CUresult (*StreamEndCapture)(CUstream, CUgraph*);
  CUresult (*StreamWaitEvent)(CUstream, CUevent, unsigned);
  CUresult (*EventCreate)(CUevent*, unsigned);
  CUresult (*EventRecord)(CUevent, CUstream);
  CUresult (*MemAlloc)(CUdeviceptr*, std::size_t);
  CUresult (*MemFree)(CUdeviceptr);
  CUresult (*MemAllocAsync)(CUdeviceptr*, std::size_t, CUstream);
  CUresult (*MemFreeAsync)(CUdeviceptr, CUstream);
  CUresult (*MemcpyHtoD)(CUdeviceptr, const void*, std::size_t);
  CUresult (*MemcpyDtoH)(void*, CUdeviceptr, std::size_t);
  CUresult (*DeviceGetDefaultMemPool)(CUmemoryPool*, CUdevice);
  CUresult (*MemPoolSetAttribute)(CUmemoryPool, int, void*);
  CUresult (*GraphCreate)(CUgraph*, unsigned);
  CUresult (*GraphAddKernelNode)(CUgraphNode*, CUgraph, const CUgraphNode*, std::size_t, const KernelNode*);
  CUresult (*GraphInstantiateWithFlags)(CUgraphExec*, CUgraph, unsigned long long);
  CUresult (*GraphLaunch)(CUgraphExec, CUstream);
  CUresult (*ProfilerStart)();
  CUresult (*ProfilerStop)();

  CUdevice device;
  CUcontext context;  ///< the primary context, which Weir uses too
};

/// The functions, with device 0's primary context current on the calling thread. Throws std::runtime_error if
/// the driver is missing.
const Cuda& cuda();

/// Throws std::runtime_error with the error's name and `what` unless `result` means success.
void check(CUresult result, const char* what);

/// A function of a module that the driver compiles from `ptx`.
CUfunction load(const std::string& ptx, const char* name);

CUstream make_stream();
CUevent make_event();

}  // namespace weir::bench::gpu
