// SPDX-License-Identifier: Apache-2.0
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
kernel void atomic_sum(global long *memory, ulong begin, long extent, long n) {
  global long *sum = (global long *)((global char *)memory + begin);
  for (long i = get_global_id(0); i < n; i += get_global_size(0)) atom_add(&sum[extent - 1], i);
}
