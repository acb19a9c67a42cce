// SPDX-License-Identifier: Apache-2.0
// What the simulator offers besides HIP, for tests: look these names up in the library that stands for HIP.
#pragma once
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/// How many faults and races were reported so far. Thread-safe, as are all of these.
size_t hipsimReportCount(void);
/// Copies report `index` (from 0) with its terminating zero into `text`, cut to `size` bytes. Returns its
/// length, or 0 if there is none.
size_t hipsimReport(size_t index, char* text, size_t size);
/// Forgets all reports and all failures that were asked for.
void hipsimClear(void);
/// Makes the `nth` call (from 1) of a HIP function from now on return `error`, `times` times (0: from then
/// on).
void hipsimFail(const char* function, unsigned long long nth, unsigned long long times, int error);
/// Makes the `nth` call (from 1) of a HIP function from now on go well, and what it puts on its stream break the device
/// with `error`, as a kernel's fault does. A call that puts nothing on a stream returns the error.
void hipsimFailLate(const char* function, unsigned long long nth, int error);
/// Instructions executed so far, each counted once for a wave.
unsigned long long hipsimInstructionCount(void);

#ifdef __cplusplus
}
#endif
