/* SPDX-License-Identifier: Apache-2.0
 *
 * The smallest driver that does what the ABI requires: memory is the host's, and a stream does at once what
 * is submitted to it. It loads no code. */
#ifndef OUTSIDE_H
#define OUTSIDE_H

#include <stdatomic.h>
#include <weir/driver.h>

/* Events hold nothing: all work is done by the time they are recorded. */
struct weir_device_t {
  atomic_int openings;
};
struct weir_stream_t {
  weir_device device;
};
struct weir_event_t {
  weir_device device;
};
struct weir_allocation_t {
  uint64_t size;
  unsigned char* bytes;
};

weir_result fail(weir_status* status, weir_result code, const char* message);

weir_result outside_memory_allocate(weir_device device, const weir_memory_options* options,
                                    weir_allocation* out_allocation, weir_status* status);
weir_result outside_memory_free(weir_allocation allocation, weir_status* status);
weir_result outside_memory_get_info(weir_allocation allocation, weir_memory_info* info, weir_status* status);
weir_result outside_copy_to_device(weir_stream stream, weir_allocation destination, uint64_t offset,
                                   const void* source, uint64_t size, weir_status* status);
weir_result outside_copy_to_host(weir_stream stream, void* destination, weir_allocation source,
                                 uint64_t offset, uint64_t size, weir_status* status);
weir_result outside_copy_on_device(weir_stream stream, weir_allocation destination,
                                   uint64_t destination_offset, weir_allocation source,
                                   uint64_t source_offset, uint64_t size, weir_status* status);
weir_result outside_fill(weir_stream stream, weir_allocation destination, uint64_t offset, uint64_t size,
                         const void* pattern, uint32_t pattern_size, weir_status* status);

#endif
