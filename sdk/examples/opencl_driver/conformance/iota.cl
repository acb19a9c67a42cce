// SPDX-License-Identifier: Apache-2.0
kernel void iota(global long *memory, ulong begin, long n, long base) {
  global long *out = (global long *)((global char *)memory + begin);
  for (long i = get_global_id(0); i < n; i += get_global_size(0)) out[i] = base + i;
}
