// SPDX-License-Identifier: Apache-2.0
// A library of its own, which an object needs and no program loads.
#include <stdint.h>

__attribute__((visibility("default"))) uint32_t only_in_this_library(void) { return 7; }
