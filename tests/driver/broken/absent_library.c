/* SPDX-License-Identifier: Apache-2.0 */
__attribute__((visibility("default"))) int function_of_the_absent_library(void);
int function_of_the_absent_library(void) {
  return 1;
}
