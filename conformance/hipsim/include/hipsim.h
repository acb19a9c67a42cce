// SPDX-License-Identifier: Apache-2.0
// Functions of the simulator in addition to HIP, for tests. Look these names up in the library that replaces
// HIP.
#pragma once
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/// The number of faults and races reported so far. All functions of this header are thread-safe.
size_t hipsimReportCount(void);
/// Copies report `index` (from 0) with its terminating zero into `text`, truncated to `size` bytes. Returns
/// its full length, or 0 if there is no such report.
size_t hipsimReport(size_t index, char* text, size_t size);
/// Deletes all reports and all scheduled failures.
void hipsimClear(void);
/// Makes the `nth` call (from 1) of a HIP function from now on, and `times` - 1 calls after it, return
/// `error`. 0 for `times` means all later calls.
void hipsimFail(const char* function, unsigned long long nth, unsigned long long times, int error);
/// The `nth` call (from 1) of a HIP function from now on succeeds, but its work on the stream breaks the
/// device with `error`, as a kernel's fault does. A call that enqueues no work returns the error.
void hipsimFailLate(const char* function, unsigned long long nth, int error);
/// Instructions executed so far, each counted once per wave.
unsigned long long hipsimInstructionCount(void);

#ifdef __cplusplus
}
#endif
