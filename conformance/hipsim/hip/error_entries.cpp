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
    {9, "hipErrorInvalidConfiguration", "invalid configuration argument"},
    {13, "hipErrorInvalidSymbol", "invalid device symbol"},
    {17, "hipErrorInvalidDevicePointer", "invalid device pointer"},
    {21, "hipErrorInvalidMemcpyDirection", "invalid copy direction for memcpy"},
    {35, "hipErrorInsufficientDriver", "driver version is insufficient for runtime version"},
    {98, "hipErrorInvalidDeviceFunction", "invalid device function"},
    {100, "hipErrorNoDevice", "no ROCm-capable device is detected"},
    {101, "hipErrorInvalidDevice", "invalid device ordinal"},
    {200, "hipErrorInvalidImage", "device kernel image is invalid"},
    {201, "hipErrorInvalidContext", "invalid device context"},
    {209, "hipErrorNoBinaryForGpu", "no kernel image is available for execution on the device"},
    {218, "hipErrorInvalidKernelFile", "invalid kernel file"},
    {301, "hipErrorFileNotFound", "file not found"},
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
    {709, "hipErrorContextIsDestroyed", "context is destroyed"},
    {710, "hipErrorAssert", "device-side assert triggered"},
    {719, "hipErrorLaunchFailure", "unspecified launch failure"},
    {801, "hipErrorNotSupported", "operation not supported"},
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
