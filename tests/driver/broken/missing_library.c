/* SPDX-License-Identifier: Apache-2.0 */
/* Linked with a library that the loader does not find. */
#include "complete.h"
int function_of_the_absent_library(void);
DRIVER("missing-library", table.version = function_of_the_absent_library() ? "1" : "2")
