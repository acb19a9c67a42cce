/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "outside.h"

static struct weir_device_t the_device;

weir_result fail(weir_status* status, weir_result code, const char* message) {
  if (!status) return code;
  status->code = code;
  status->vendor_code = 0;
  status->vendor_name[0] = '\0';
  strncpy(status->message, message, sizeof status->message - 1);
  status->message[sizeof status->message - 1] = '\0';
  return code;
}

static weir_result device_count(uint32_t* out_count, weir_status* status) {
  (void)status;
  *out_count = 1;
  return WEIR_OK;
}

static weir_result device_open(uint32_t index, weir_device* out_device, weir_status* status) {
  if (index != 0) return fail(status, WEIR_ERROR_INVALID, "there is one device, number 0");
  atomic_fetch_add(&the_device.openings, 1);
  *out_device = &the_device;
  return WEIR_OK;
}

static weir_result device_close(weir_device device, weir_status* status) {
  (void)status;
  atomic_fetch_sub(&device->openings, 1);
  return WEIR_OK;
}

static weir_result device_get_info(uint32_t index, weir_device_info* info, weir_status* status) {
  if (index != 0) return fail(status, WEIR_ERROR_INVALID, "there is one device, number 0");
  weir_device_info mine = {.struct_size = info->struct_size,
                           .kind = WEIR_DEVICE_OTHER,
                           .name = "A device from outside",
                           .vendor = "the install test",
                           .total_memory = 1u << 30,
                           .multiprocessors = 1,
                           .lanes = 1,
                           .max_block_threads = 1,
                           .max_block = {1, 1, 1},
                           .max_grid = {1, 1, 1},
                           .max_argument_bytes = 4096,
                           .memory_alignment = 64};
  memcpy(info, &mine, info->struct_size < sizeof mine ? info->struct_size : sizeof mine);
  return WEIR_OK;
}

static weir_result device_get_memory(weir_device device, uint64_t* out_free, uint64_t* out_total,
                                     weir_status* status) {
  (void)device, (void)status;
  *out_free = *out_total = 1u << 30;
  return WEIR_OK;
}

static weir_result stream_create(weir_device device, const weir_stream_options* options,
                                 weir_stream* out_stream, weir_status* status) {
  (void)options;
  weir_stream stream = malloc(sizeof *stream);
  if (!stream) return fail(status, WEIR_ERROR_OUT_OF_MEMORY, "the host has no memory left");
  stream->device = device;
  *out_stream = stream;
  return WEIR_OK;
}

static weir_result stream_destroy(weir_stream stream, weir_status* status) {
  (void)status;
  free(stream);
  return WEIR_OK;
}

static weir_result stream_done(weir_stream stream, weir_status* status) {
  (void)stream, (void)status;
  return WEIR_OK;
}

static weir_result stream_wait_event(weir_stream stream, weir_event event, weir_status* status) {
  (void)stream, (void)event, (void)status;
  return WEIR_OK;
}

static weir_result event_create(weir_device device, uint32_t flags, weir_event* out_event,
                                weir_status* status) {
  if (flags != WEIR_EVENT_PLAIN) return fail(status, WEIR_ERROR_UNSUPPORTED, "there are no timed events");
  weir_event event = malloc(sizeof *event);
  if (!event) return fail(status, WEIR_ERROR_OUT_OF_MEMORY, "the host has no memory left");
  event->device = device;
  *out_event = event;
  return WEIR_OK;
}

static weir_result event_destroy(weir_event event, weir_status* status) {
  (void)status;
  free(event);
  return WEIR_OK;
}

static weir_result event_record(weir_event event, weir_stream stream, weir_status* status) {
  (void)event, (void)stream, (void)status;
  return WEIR_OK;
}

static weir_result event_done(weir_event event, weir_status* status) {
  (void)event, (void)status;
  return WEIR_OK;
}

static weir_result no_code(weir_status* status) {
  return fail(status, WEIR_ERROR_CODE_OBJECT, "this driver loads no code objects");
}

static weir_result module_load(weir_device device, const weir_code_object* object, weir_module* out_module,
                               weir_status* status) {
  (void)device, (void)object, (void)out_module;
  return no_code(status);
}

static weir_result module_unload(weir_module module, weir_status* status) {
  (void)module;
  return no_code(status);
}

static weir_result module_get_kernel(weir_module module, const char* name, const weir_kernel_layout* layout,
                                     weir_kernel* out_kernel, weir_status* status) {
  (void)module, (void)name, (void)layout, (void)out_kernel;
  return no_code(status);
}

static weir_result kernel_get_info(weir_kernel kernel, weir_kernel_info* info, weir_status* status) {
  (void)kernel, (void)info;
  return no_code(status);
}

static weir_result kernel_launch(weir_stream stream, const weir_launch* launch, weir_status* status) {
  (void)stream, (void)launch;
  return no_code(status);
}

static const weir_driver_table table = {
    .struct_size = sizeof table,
    .abi_version = WEIR_ABI_VERSION(1, 0),
    .name = "outside",
    .version = "1.0",
    .vendor = "the install test",
    .device_count = device_count,
    .device_open = device_open,
    .device_close = device_close,
    .device_get_info = device_get_info,
    .device_get_memory = device_get_memory,
    .stream_create = stream_create,
    .stream_destroy = stream_destroy,
    .stream_flush = stream_done,
    .stream_query = stream_done,
    .stream_synchronize = stream_done,
    .stream_wait_event = stream_wait_event,
    .event_create = event_create,
    .event_destroy = event_destroy,
    .event_record = event_record,
    .event_query = event_done,
    .event_synchronize = event_done,
    .memory_allocate = outside_memory_allocate,
    .memory_free = outside_memory_free,
    .memory_get_info = outside_memory_get_info,
    .copy_to_device = outside_copy_to_device,
    .copy_to_host = outside_copy_to_host,
    .copy_on_device = outside_copy_on_device,
    .fill = outside_fill,
    .module_load = module_load,
    .module_unload = module_unload,
    .module_get_kernel = module_get_kernel,
    .kernel_get_info = kernel_get_info,
    .kernel_launch = kernel_launch,
};

weir_result weir_driver_entry(const weir_host* host, const weir_driver_table** out_table,
                              weir_status* status) {
  if (host->abi_min > table.abi_version || host->abi_max < table.abi_version)
    return fail(status, WEIR_ERROR_ABI, "this driver speaks ABI 1.0");
  *out_table = &table;
  return WEIR_OK;
}
