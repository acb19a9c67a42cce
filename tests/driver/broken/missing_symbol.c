/* SPDX-License-Identifier: Apache-2.0 */
int weir_driver_entry_misspelt(void);
int weir_driver_entry_misspelt(void) {
  return 0;
}
