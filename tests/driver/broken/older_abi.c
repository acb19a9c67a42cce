/* SPDX-License-Identifier: Apache-2.0 */
/* Its manifest is valid; its table is of an ABI before the first. */
#include "complete.h"
DRIVER("older-abi", table.abi_version = WEIR_ABI_VERSION(0, 9))
