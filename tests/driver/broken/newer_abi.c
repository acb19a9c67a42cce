/* SPDX-License-Identifier: Apache-2.0 */
#include "complete.h"
DRIVER("newer-abi", table.abi_version = WEIR_ABI_VERSION(2, 0))
