// SPDX-License-Identifier: Apache-2.0
kernel void churn(global long *memory, ulong begin, long x, long rounds) {
  global long *out = (global long *)((global char *)memory + begin);
  if (get_global_id(0) != 0) return;
  ulong state = (ulong)x;
  for (long k = 0; k < rounds; ++k) state = state * 6364136223846793005UL + 1442695040888963407UL;
  out[0] = (long)state;
}
