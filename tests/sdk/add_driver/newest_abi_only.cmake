# SPDX-License-Identifier: Apache-2.0
weir_add_driver(any-text SOURCES driver.c ABI_MIN 1.1)
