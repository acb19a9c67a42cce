/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "outside.h"

static int inside(weir_allocation allocation, uint64_t offset, uint64_t size) {
  return offset <= allocation->size && size <= allocation->size - offset;
}

static weir_result out_of_range(weir_status* status) {
  return fail(status, WEIR_ERROR_INVALID, "the range lies outside of the allocation");
}

weir_result outside_memory_allocate(weir_device device, const weir_memory_options* options,
                                    weir_allocation* out_allocation, weir_status* status) {
  (void)device;
  if (options->kind != WEIR_MEMORY_DEVICE)
    return fail(status, WEIR_ERROR_UNSUPPORTED, "there is no pinned memory");
  if (options->size == 0 || options->size > SIZE_MAX - 64)
    return fail(status, WEIR_ERROR_INVALID, "the size is invalid");
  if (options->alignment > 64)
    return fail(status, WEIR_ERROR_UNSUPPORTED, "the alignment is at most 64 bytes");
  weir_allocation allocation = malloc(sizeof *allocation);
  unsigned char* bytes = aligned_alloc(64, (options->size + 63) / 64 * 64);
  if (!allocation || !bytes) {
    free(allocation);
    free(bytes);
    return fail(status, WEIR_ERROR_OUT_OF_MEMORY, "the host has no memory left");
  }
  allocation->size = options->size;
  allocation->bytes = bytes;
  *out_allocation = allocation;
  return WEIR_OK;
}

weir_result outside_memory_free(weir_allocation allocation, weir_status* status) {
  (void)status;
  free(allocation->bytes);
  free(allocation);
  return WEIR_OK;
}

weir_result outside_memory_get_info(weir_allocation allocation, weir_memory_info* info, weir_status* status) {
  (void)status;
  weir_memory_info mine = {.struct_size = info->struct_size,
                           .kind = WEIR_MEMORY_DEVICE,
                           .size = allocation->size,
                           .host_pointer = allocation->bytes};
  memcpy(info, &mine, info->struct_size < sizeof mine ? info->struct_size : sizeof mine);
  return WEIR_OK;
}

weir_result outside_copy_to_device(weir_stream stream, weir_allocation destination, uint64_t offset,
                                   const void* source, uint64_t size, weir_status* status) {
  (void)stream;
  if (!inside(destination, offset, size)) return out_of_range(status);
  if (size) memcpy(destination->bytes + offset, source, size);
  return WEIR_OK;
}

weir_result outside_copy_to_host(weir_stream stream, void* destination, weir_allocation source,
                                 uint64_t offset, uint64_t size, weir_status* status) {
  (void)stream;
  if (!inside(source, offset, size)) return out_of_range(status);
  if (size) memcpy(destination, source->bytes + offset, size);
  return WEIR_OK;
}

weir_result outside_copy_on_device(weir_stream stream, weir_allocation destination,
                                   uint64_t destination_offset, weir_allocation source,
                                   uint64_t source_offset, uint64_t size, weir_status* status) {
  (void)stream;
  if (!inside(source, source_offset, size) || !inside(destination, destination_offset, size))
    return out_of_range(status);
  if (source == destination && source_offset < destination_offset + size &&
      destination_offset < source_offset + size)
    return fail(status, WEIR_ERROR_INVALID, "the ranges overlap");
  memcpy(destination->bytes + destination_offset, source->bytes + source_offset, size);
  return WEIR_OK;
}

weir_result outside_fill(weir_stream stream, weir_allocation destination, uint64_t offset, uint64_t size,
                         const void* pattern, uint32_t pattern_size, weir_status* status) {
  (void)stream;
  if (!inside(destination, offset, size)) return out_of_range(status);
  if (pattern_size == 0 || pattern_size > 16 || offset % pattern_size || size % pattern_size)
    return fail(status, WEIR_ERROR_INVALID, "the pattern does not divide the range");
  for (uint64_t at = 0; at < size; at += pattern_size)
    memcpy(destination->bytes + offset + at, pattern, pattern_size);
  return WEIR_OK;
}
