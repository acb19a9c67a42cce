# SPDX-License-Identifier: Apache-2.0
string(ASCII 9 tab)
set(description [==[Boards of 19" racks; all: C:\ $<1:x>]==])
string(APPEND description "${tab}(new)")
weir_add_driver(any-text SOURCES "driver.c;driver.c" VENDOR_LIBRARIES "liba.so.1;libb.so.1" DESCRIPTION "${description}")
