/* SPDX-License-Identifier: Apache-2.0
 *
 * A precompiled kernel. The build links this file into a shared object, which the CPU driver loads as a code
 * object of the format "elf-x86_64". Any code generator that follows <weir/sdk/cpu_kernel.h> can make one. */
#include <weir/sdk/cpu_kernel.h>

/* The argument block: the parameters in order, each at a multiple of its alignment, like a C struct. */
struct polynomial_arguments {
  const float* x;
  float* y;
  int64_t n;
  float a, b, c;
};

enum { elements_per_block = 1024 }; /* must agree with the launch */

__attribute__((visibility("default"))) void polynomial(const void* arguments, const weir_cpu_run* run) {
  const struct polynomial_arguments* p = arguments;
  int64_t first = (int64_t)run->first_block * elements_per_block;
  int64_t end = (int64_t)run->end_block * elements_per_block;
  if (end > p->n) end = p->n; /* the last block may be shorter */
  for (int64_t i = first; i < end; ++i) p->y[i] = (p->a * p->x[i] + p->b) * p->x[i] + p->c;
}
