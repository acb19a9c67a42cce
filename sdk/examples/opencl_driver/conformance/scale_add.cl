// SPDX-License-Identifier: Apache-2.0
kernel void scale_add(global long *memory, ulong begin, global const long *in_memory, ulong in_begin, long n,
                      long factor) {
  global long *out = (global long *)((global char *)memory + begin);
  global const long *in = (global const long *)((global const char *)in_memory + in_begin);
  for (long i = get_global_id(0); i < n; i += get_global_size(0)) out[i] = factor * in[i] + out[i];
}
