// SPDX-License-Identifier: Apache-2.0
kernel void sizes(global long *memory, ulong begin, long a, double e, int b, float f, short c, char d) {
  global long *out = (global long *)((global char *)memory + begin);
  if (get_global_id(0) != 0) return;
  out[0] = a;
  out[1] = b;
  out[2] = c;
  out[3] = d;
  out[4] = as_long(e);
  out[5] = as_int(f);
}
