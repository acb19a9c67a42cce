/* SPDX-License-Identifier: Apache-2.0
 *
 * The checks that every driver must make before it submits anything, for drivers in C, Rust and other languages with C
 * calls. They are in the static library Weir::checks (libweir-checks.a), which contains C++: link the C++ standard
 * library too, as Weir::checks does in CMake. weir/abi/checks.rs declares the same functions in Rust. Drivers in C++
 * use <weir/sdk/checks.hpp>, which does these checks.
 *
 *   weir_result result = weir_check_range(allocation->size, offset, size, "destination", status);
 *   if (result != WEIR_OK) return result;
 *
 * Each function returns WEIR_OK and leaves `status` as it is, or fills `status` and returns the error. `status` may be
 * null. The message names the argument, the expectation and the finding. `what` is the argument's name in messages.
 * Every other pointer must be valid unless a function says that it checks for null. All functions are thread-safe, and no
 * exception leaves them. */
#ifndef WEIR_SDK_CHECKS_H
#define WEIR_SDK_CHECKS_H

#include <weir/driver.h>

#ifdef __cplusplus
extern "C" {
#endif

/* -- results and structs -- */

/* Fills `status` up to its struct_size and returns `code`. The message is UTF-8; it is cut before a character that does
 * not fit. Other bytes become '?'. */
weir_result weir_fail(weir_status *status, weir_result code, const char *message);

/* Copies a struct that the host filled to `out`, which has `size` bytes. Fields beyond its struct_size become zero.
 * Refuses a null pointer and a struct_size below 8. */
weir_result weir_read_struct(void *out, const void *in, uint32_t size, const char *what, weir_status *status);

/* Fills a struct of the host up to its struct_size, which stays as it is, from `mine` of `size` bytes. Refuses a null
 * pointer and a struct_size below 4. */
weir_result weir_write_struct(void *out, const void *mine, uint32_t size, const char *what, weir_status *status);

/* -- memory -- */

/* Refuses a range that is not inside an allocation of `allocation_size` bytes. */
weir_result weir_check_range(uint64_t allocation_size, uint64_t offset, uint64_t size, const char *what,
                             weir_status *status);

/* Refuses two ranges of `size` bytes of the same allocation that overlap. Call it only if source and destination are the
 * same allocation, after weir_check_range for both. */
weir_result weir_check_apart(uint64_t to_offset, uint64_t from_offset, uint64_t size, weir_status *status);

/* Refuses a fill whose pattern is null, whose pattern_size is not 1, 2, 4, 8 or 16, or does not divide offset and
 * size. */
weir_result weir_check_pattern(uint64_t offset, uint64_t size, const void *pattern, uint32_t pattern_size,
                               weir_status *status);

/* Reads the options of an allocation into `out`. Refuses a null pointer, a size of 0 or above 2^48, an
 * unknown kind, and pinned memory without WEIR_CAP_PINNED_MEMORY in `capabilities`. Refuses an alignment that
 * is neither 0 nor a power of two up to 2^30. */
weir_result weir_check_memory_options(const weir_memory_options *asked, uint64_t capabilities, weir_memory_options *out,
                                      weir_status *status);

/* Reads a description of memory that the driver does not own into `out`. Refuses a null pointer, an unknown
 * kind, no address, no bytes, and an end at or above 2^64. */
weir_result weir_check_external_memory(const weir_external_memory *asked, weir_external_memory *out,
                                       weir_status *status);

/* -- code and launches -- */

/* Reads a code object into `out`. Refuses a null pointer and an object without bytes. Absent strings become "". */
weir_result weir_check_code_object(const weir_code_object *asked, weir_code_object *out, weir_status *status);

/* Returns WEIR_ERROR_CODE_OBJECT unless the code object is a 64-bit little-endian ELF file that holds its
 * headers, segments and sections. Reads nothing outside of the object. For drivers that give it to a loader
 * which takes only an address, or a file without its size; such a loader reads past the end of a file that
 * was cut short. */
weir_result weir_check_whole_elf(const weir_code_object* object, weir_status* status);

/* Reads the layout of a kernel's arguments into `out`. Refuses a null pointer, more bytes than the device's
 * max_argument_bytes, a parameter outside of the argument block, and an unknown kind. Refuses a buffer that
 * is not aligned to 8, or not of 8 bytes (16 with WEIR_ARGUMENT_BUFFER). `kernel` is its name. */
weir_result weir_check_layout(const weir_kernel_layout *asked, const weir_device_info *device, const char *kernel,
                              weir_kernel_layout *out, weir_status *status);

/* Reads a launch into `out`. Refuses a null pointer, and a grid or block that is empty or beyond the device's
 * limits. Refuses more threads or shared memory than the device or the kernel takes. Refuses absent
 * arguments, and an argument block of another size than `argument_bytes`, with which the kernel was looked
 * up. Refuses unknown flags, and flags whose capability the device lacks. The driver checks the kernel's
 * handle and device, and the blocks of a cooperative launch. `name` is the kernel's. */
weir_result weir_check_launch(const weir_launch *asked, const weir_device_info *device, const weir_kernel_info *kernel,
                              const char *name, uint32_t argument_bytes, weir_launch *out, weir_status *status);

/* Reads a node of a graph into `out`. Refuses a null pointer, an unknown kind, a dependency on a node from
 * number `index` on or twice on one node, a null host pointer, and a pattern as weir_check_pattern does.
 * `index` is null for graph_update, which ignores dependencies. The driver checks handles, ranges and the
 * launch as in the call of the node's kind. */
weir_result weir_check_graph_node(const weir_graph_node *asked, const uint32_t *index, weir_graph_node *out,
                                  weir_status *status);

#ifdef __cplusplus
}
#endif

#endif /* WEIR_SDK_CHECKS_H */
