/* SPDX-License-Identifier: Apache-2.0
 *
 * Uses every type of the driver ABI in an exported symbol, so that this file's debugging information describes them all:
 * types that are reachable from the entry point, enumerations whose fields are integers, and structs that the ABI
 * passes as bytes. */
#include <weir/driver.h>
#include <weir/sdk/cpu_kernel.h>

/* The minor version of an older header, which lacks later additions. */
#ifndef OLD_MINOR
#define OLD_MINOR 65535
#endif

#define SHOWN(type, name) WEIR_DRIVER_EXPORT type *weir_abi_##name

SHOWN(enum weir_result_code, result_code);
SHOWN(enum weir_capability, capability);
SHOWN(enum weir_argument_style, argument_style);
SHOWN(enum weir_device_kind, device_kind);
SHOWN(enum weir_event_flags, event_flags);
SHOWN(enum weir_memory_kind, memory_kind);
SHOWN(enum weir_parameter_kind, parameter_kind);
#if OLD_MINOR >= 1
SHOWN(enum weir_graph_node_kind, graph_node_kind);
#endif
#if OLD_MINOR >= 2
SHOWN(enum weir_external_kind, external_kind);
#endif
SHOWN(weir_buffer_argument, buffer_argument);
SHOWN(weir_driver_table, driver_table);
SHOWN(weir_cpu_run, cpu_run);
SHOWN(weir_cpu_kernel, cpu_kernel);

weir_result weir_driver_entry(const weir_host *host, const weir_driver_table **out_table, weir_status *status) {
  (void)host, (void)out_table, (void)status;
  return WEIR_ERROR_ABI;
}
