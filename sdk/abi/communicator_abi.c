/* SPDX-License-Identifier: Apache-2.0
 *
 * Uses every type of the communicator interface in an exported symbol; see driver_abi.c. */
#include <weir/communicator.h>

#define SHOWN(type, name) WEIR_DRIVER_EXPORT type *weir_abi_##name

SHOWN(enum weir_communicator_result_code, communicator_result_code);
SHOWN(enum weir_communicator_capability, communicator_capability);
SHOWN(enum weir_scalar_type, scalar_type);
SHOWN(enum weir_reduction, reduction);
SHOWN(weir_memory, memory);
SHOWN(weir_transfer, transfer);
SHOWN(weir_group_options, group_options);
SHOWN(weir_communicator_table, communicator_table);
