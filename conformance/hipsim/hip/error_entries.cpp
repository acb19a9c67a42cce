// SPDX-License-Identifier: Apache-2.0
// Errors and versions.
#include "hip/entry.hpp"

namespace weir::hipsim {
namespace {

struct ErrorName {
  int value;
  const char *name, *words;
};
constexpr ErrorName errors[] = {
    {0, "hipSuccess", "no error"},
    {1, "hipErrorInvalidValue", "invalid argument"},
    {2, "hipErrorOutOfMemory", "out of memory"},
    {3, "hipErrorNotInitialized", "initialization error"},
    {4, "hipErrorDeinitialized", "driver shutting down"},
    {5, "hipErrorProfilerDisabled", "profiler disabled while using external profiling tool"},
    {6, "hipErrorProfilerNotInitialized", "profiler is not initialized"},
    {7, "hipErrorProfilerAlreadyStarted", "profiler already started"},
    {8, "hipErrorProfilerAlreadyStopped", "profiler already stopped"},
    {9, "hipErrorInvalidConfiguration", "invalid configuration argument"},
    {12, "hipErrorInvalidPitchValue", "invalid pitch argument"},
    {13, "hipErrorInvalidSymbol", "invalid device symbol"},
    {17, "hipErrorInvalidDevicePointer", "invalid device pointer"},
    {21, "hipErrorInvalidMemcpyDirection", "invalid copy direction for memcpy"},
    {35, "hipErrorInsufficientDriver", "driver version is insufficient for runtime version"},
    {52, "hipErrorMissingConfiguration", "__global__ function call is not configured"},
    {53, "hipErrorPriorLaunchFailure", "unspecified launch failure in prior launch"},
    {98, "hipErrorInvalidDeviceFunction", "invalid device function"},
    {100, "hipErrorNoDevice", "no ROCm-capable device is detected"},
    {101, "hipErrorInvalidDevice", "invalid device ordinal"},
    {200, "hipErrorInvalidImage", "device kernel image is invalid"},
    {201, "hipErrorInvalidContext", "invalid device context"},
    {202, "hipErrorContextAlreadyCurrent", "context is already current context"},
    {205, "hipErrorMapFailed", "mapping of buffer object failed"},
    {206, "hipErrorUnmapFailed", "unmapping of buffer object failed"},
    {207, "hipErrorArrayIsMapped", "array is mapped"},
    {208, "hipErrorAlreadyMapped", "resource already mapped"},
    {209, "hipErrorNoBinaryForGpu", "no kernel image is available for execution on the device"},
    {210, "hipErrorAlreadyAcquired", "resource already acquired"},
    {211, "hipErrorNotMapped", "resource not mapped"},
    {212, "hipErrorNotMappedAsArray", "resource not mapped as array"},
    {213, "hipErrorNotMappedAsPointer", "resource not mapped as pointer"},
    {214, "hipErrorECCNotCorrectable", "uncorrectable ECC error encountered"},
    {215, "hipErrorUnsupportedLimit", "limit is not supported on this architecture"},
    {216, "hipErrorContextAlreadyInUse", "exclusive-thread device already in use by a different thread"},
    {217, "hipErrorPeerAccessUnsupported", "peer access is not supported between these two devices"},
    {218, "hipErrorInvalidKernelFile", "invalid kernel file"},
    {219, "hipErrorInvalidGraphicsContext", "invalid OpenGL or DirectX context"},
    {300, "hipErrorInvalidSource", "device kernel image is invalid"},
    {301, "hipErrorFileNotFound", "file not found"},
    {302, "hipErrorSharedObjectSymbolNotFound", "shared object symbol not found"},
    {303, "hipErrorSharedObjectInitFailed", "shared object initialization failed"},
    {304, "hipErrorOperatingSystem", "OS call failed or operation not supported on this OS"},
    {400, "hipErrorInvalidHandle", "invalid resource handle"},
    {401, "hipErrorIllegalState", "the operation cannot be performed in the present state"},
    {500, "hipErrorNotFound", "named symbol not found"},
    {600, "hipErrorNotReady", "device not ready"},
    {700, "hipErrorIllegalAddress", "an illegal memory access was encountered"},
    {701, "hipErrorLaunchOutOfResources", "too many resources requested for launch"},
    {702, "hipErrorLaunchTimeOut", "the launch timed out and was terminated"},
    {704, "hipErrorPeerAccessAlreadyEnabled", "peer access is already enabled"},
    {705, "hipErrorPeerAccessNotEnabled", "peer access has not been enabled"},
    {708, "hipErrorSetOnActiveProcess", "cannot set while device is active in this process"},
    {709, "hipErrorContextIsDestroyed", "context is destroyed"},
    {710, "hipErrorAssert", "device-side assert triggered"},
    {712, "hipErrorHostMemoryAlreadyRegistered",
     "part or all of the requested memory range is already mapped"},
    {713, "hipErrorHostMemoryNotRegistered", "pointer does not correspond to a registered memory region"},
    {719, "hipErrorLaunchFailure", "unspecified launch failure"},
    {720, "hipErrorCooperativeLaunchTooLarge", "too many blocks in cooperative launch"},
    {801, "hipErrorNotSupported", "operation not supported"},
    {900, "hipErrorStreamCaptureUnsupported", "operation not permitted when stream is capturing"},
    {901, "hipErrorStreamCaptureInvalidated", "operation failed due to a previous error during capture"},
    {902, "hipErrorStreamCaptureMerge", "operation would result in a merge of separate capture sequences"},
    {903, "hipErrorStreamCaptureUnmatched", "capture was not ended in the same stream as it began"},
    {904, "hipErrorStreamCaptureUnjoined", "capturing stream has unjoined work"},
    {905, "hipErrorStreamCaptureIsolation", "dependency created on uncaptured work in another stream"},
    {906, "hipErrorStreamCaptureImplicit",
     "operation would make the legacy stream depend on a capturing blocking stream"},
    {907, "hipErrorCapturedEvent", "operation not permitted on an event last recorded in a capturing stream"},
    {908, "hipErrorStreamCaptureWrongThread",
     "attempt to terminate a thread-local capture sequence from another thread"},
    {910, "hipErrorGraphExecUpdateFailure", "the graph was not updated due to unsupported changes"},
    {999, "hipErrorUnknown", "unknown error"},
    {1052, "hipErrorRuntimeMemory", "runtime memory call returned error"},
    {1053, "hipErrorRuntimeOther", "runtime call other than memory returned error"}};

const ErrorName* find(int value) {
  for (const ErrorName& e : errors)
    if (e.value == value) return &e;
  return nullptr;
}

hipError_t version(const char* name, int* value) {
  return entry(name, [&](Runtime& r) {
    if (!value) return hipErrorInvalidValue;
    *value = r.config.version_major * 10000000 + r.config.version_minor * 100000 + r.config.version_patch;
    return hipSuccess;
  });
}

}  // namespace

hipError_t& last_error() {
  thread_local hipError_t error = hipSuccess;
  return error;
}

HIPSIM_EXPORT const char* hipGetErrorName(hipError_t error) {
  const ErrorName* e = find(error);
  return e ? e->name : "hipErrorUnknown";
}
HIPSIM_EXPORT const char* hipGetErrorString(hipError_t error) {
  const ErrorName* e = find(error);
  return e ? e->words : "unknown error";
}
HIPSIM_EXPORT hipError_t hipDrvGetErrorName(hipError_t error, const char** text) {
  const ErrorName* e = find(error);
  if (!text) return hipErrorInvalidValue;
  *text = e ? e->name : nullptr;
  return e ? hipSuccess : hipErrorInvalidValue;
}
HIPSIM_EXPORT hipError_t hipDrvGetErrorString(hipError_t error, const char** text) {
  const ErrorName* e = find(error);
  if (!text) return hipErrorInvalidValue;
  *text = e ? e->words : nullptr;
  return e ? hipSuccess : hipErrorInvalidValue;
}
HIPSIM_EXPORT hipError_t hipGetLastError() {
  const hipError_t error = last_error();
  last_error() = hipSuccess;
  return error;
}
HIPSIM_EXPORT hipError_t hipPeekAtLastError() {
  return last_error();
}
HIPSIM_EXPORT hipError_t hipDriverGetVersion(int* value) {
  return version("hipDriverGetVersion", value);
}
HIPSIM_EXPORT hipError_t hipRuntimeGetVersion(int* value) {
  return version("hipRuntimeGetVersion", value);
}
HIPSIM_EXPORT hipError_t hipInit(unsigned flags) {
  return entry("hipInit", [&](Runtime& r) {
    if (flags != 0) return hipErrorInvalidValue;
    return r.devices.empty() ? hipErrorNoDevice : hipSuccess;
  });
}

}  // namespace weir::hipsim
