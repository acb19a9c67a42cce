/* SPDX-License-Identifier: Apache-2.0
 *
 * A complete driver without function: one device, every required slot filled, no capability. The drivers of
 * this folder take its table and break one part of it. */
#ifndef WEIR_TESTS_COMPLETE_H
#define WEIR_TESTS_COMPLETE_H

#include <string.h>
#include <weir/driver.h>

#define UNUSED __attribute__((unused))

static inline weir_result answer(weir_status* status, weir_result result, const char* message) {
  if (status) {
    status->code = result;
    strncpy(status->message, message, sizeof status->message - 1);
  }
  return result;
}

static weir_result one_device(uint32_t* out_count, weir_status* status UNUSED) {
  *out_count = 1;
  return WEIR_OK;
}

static inline void describe(weir_device_info* info) {
  strcpy(info->name, "A device for tests");
  strcpy(info->vendor, "Weir tests");
  info->kind = WEIR_DEVICE_OTHER;
  info->memory_alignment = 64;
  info->max_block_threads = 1;
  info->multiprocessors = 1;
  info->lanes = 1;
  info->total_memory = 1u << 20;
}

static weir_result get_info(uint32_t index UNUSED, weir_device_info* info, weir_status* status UNUSED) {
  describe(info);
  return WEIR_OK;
}

/* For every slot that these tests never reach; it is never called through the slot's type. */
static inline weir_result unreachable(void) {
  return WEIR_ERROR_UNKNOWN;
}

#ifdef __cplusplus
#define FILL(slot) table.slot = reinterpret_cast<decltype(table.slot)>(reinterpret_cast<void*>(unreachable))
#else
#define FILL(slot) *(void**)&table.slot = (void*)unreachable
#endif

static inline weir_driver_table make_table(const char* name) {
  weir_driver_table table;
  memset(&table, 0, sizeof table);
  table.struct_size = sizeof table;
  table.abi_version = WEIR_ABI_CURRENT;
  table.name = name;
  table.version = "1.2.3";
  table.vendor = "Weir tests";
  FILL(device_open);
  FILL(device_close);
  FILL(device_get_memory);
  FILL(stream_create);
  FILL(stream_destroy);
  FILL(stream_flush);
  FILL(stream_query);
  FILL(stream_synchronize);
  FILL(stream_wait_event);
  FILL(event_create);
  FILL(event_destroy);
  FILL(event_record);
  FILL(event_query);
  FILL(event_synchronize);
  FILL(memory_allocate);
  FILL(memory_free);
  FILL(memory_get_info);
  FILL(copy_to_device);
  FILL(copy_to_host);
  FILL(copy_on_device);
  FILL(fill);
  FILL(module_load);
  FILL(module_unload);
  FILL(module_get_kernel);
  FILL(kernel_get_info);
  FILL(kernel_launch);
  table.device_count = one_device;
  table.device_get_info = get_info;
  return table;
}

/* The rest of a driver: its entry point, which returns make_table(NAME) after applying CHANGE. */
#define DRIVER(NAME, CHANGE)                                                                       \
  weir_result weir_driver_entry(const weir_host* host UNUSED, const weir_driver_table** out_table, \
                                weir_status* status UNUSED) {                                      \
    static weir_driver_table table;                                                                \
    table = make_table(NAME);                                                                  \
    CHANGE;                                                                                        \
    *out_table = &table;                                                                           \
    return WEIR_OK;                                                                                \
  }

#endif
