// SPDX-License-Identifier: Apache-2.0
kernel void meet(global int *memory, ulong begin, global int *result_memory, ulong result_begin, long extent,
                 long mine, long other, long rounds) {
  global int *flags = (global int *)((global char *)memory + begin);
  global int *result = (global int *)((global char *)result_memory + result_begin);
  if (get_global_id(0) != 0) return;
  atomic_xchg(&flags[mine], 1);
  for (long k = 0; k < rounds; ++k) {
    if (atomic_add(&flags[min(other, extent - 1)], 0) != 0) {
      result[mine] = 1;
      break;
    }
  }
}
