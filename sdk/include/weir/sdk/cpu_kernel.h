/* SPDX-License-Identifier: Apache-2.0
 *
 * The calling convention of kernels in "elf-x86_64" code objects, for code generators that pass their objects
 * to the CPU driver. A code object is an ELF shared object; a kernel is an exported function of type
 * weir_cpu_kernel. sdk/docs/debugging.md lists the permitted segments, relocations and symbols, and describes
 * line tables for debuggers.
 *
 * The driver splits the launch's grid into runs of consecutive blocks and calls the kernel once for each run,
 * from any thread, several at once. Blocks are numbered x fastest: n = x + grid_x * (y + grid_y * z). The
 * kernel executes a block's threads itself: on a CPU most kernels use a block of 1 x 1 x 1 and loop inside.
 * Blocks of one launch run in no particular order and must not wait for one another, unless the launch is
 * cooperative: a driver that offers COOPERATIVE_LAUNCH runs all blocks of such a launch at once.
 *
 * A kernel is a C function of the System V ABI for x86-64. The driver calls it with an aligned stack, the
 * direction flag clear and the default floating-point environment. The kernel must preserve the callee-saved
 * registers and that environment. It may use 64 KiB of stack. It must return: no exception, panic or longjmp
 * may leave it. Thread-local variables are not available to it.
 */
#ifndef WEIR_CPU_KERNEL_H
#define WEIR_CPU_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weir_cpu_run {
  uint32_t struct_size;
  uint32_t grid[3];     /* of the whole launch */
  uint32_t block[3];
  uint32_t shared_bytes;
  uint64_t first_block; /* this run: blocks first_block to end_block - 1 */
  uint64_t end_block;
  void *shared;         /* shared_bytes of memory for one block, 64-byte aligned, reused by the next; null if 0 */
} weir_cpu_run;

/* `arguments` is the launch's argument block, 16-byte aligned, read-only, the same for all runs of a launch. */
typedef void (*weir_cpu_kernel)(const void *arguments, const weir_cpu_run *run);

#ifdef __cplusplus
}
static_assert(sizeof(weir_cpu_run) == 56, "weir_cpu_run is part of the code object format");
static_assert(offsetof(weir_cpu_run, first_block) == 32, "weir_cpu_run is part of the code object format");
#endif

#endif /* WEIR_CPU_KERNEL_H */
