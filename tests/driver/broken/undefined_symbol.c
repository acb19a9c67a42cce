/* SPDX-License-Identifier: Apache-2.0 */
/* Linked without the library that defines this function. */
#include "complete.h"
int function_that_nobody_provides(void);
DRIVER("undefined-symbol", table.version = function_that_nobody_provides() ? "1" : "2")
