# SPDX-License-Identifier: Apache-2.0
weir_add_driver(misspelt SOURCES driver.c DESCRIPTION text VENDER_LIBRARIES libx.so.1)
