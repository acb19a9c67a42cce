/* SPDX-License-Identifier: Apache-2.0
 *
 * The suite's kernels whose grids and blocks have three dimensions, for code objects of the format "elf-x86_64".
 * device.ptx has the same kernels for "ptx"; sdk/docs/conformance.md describes them. */
#include <weir/sdk/cpu_kernel.h>

#define KERNEL __attribute__((visibility("default"))) void

static uint32_t product(const uint32_t sizes[3]) {
  return sizes[0] * sizes[1] * sizes[2];
}

/* All six sizes in one number, 5 bits each. */
static uint32_t sizes_of(const weir_cpu_run* run) {
  uint32_t packed = 0;
  for (int i = 0; i < 3; ++i) packed |= (run->grid[i] & 31) << 5 * i | (run->block[i] & 31) << (15 + 5 * i);
  return packed;
}

static void split(uint32_t number, const uint32_t sizes[3], uint32_t out[3]) {
  out[0] = number % sizes[0];
  out[1] = number / sizes[0] % sizes[1];
  out[2] = number / sizes[0] / sizes[1];
}

/* out[8 i]: how often thread i of the launch ran; then its block, its place in the block, and all sizes. */
KERNEL shape(const void* arguments, const weir_cpu_run* run) {
  uint32_t* const out = *(uint32_t* const*)arguments;
  const uint32_t threads = product(run->block);
  for (uint64_t n = run->first_block; n < run->end_block; ++n)
    for (uint32_t t = 0; t < threads; ++t) {
      uint32_t* const mine = out + 8 * (n * threads + t);
      __atomic_fetch_add(mine, 1, __ATOMIC_RELAXED);
      split((uint32_t)n, run->grid, mine + 1);
      split(t, run->block, mine + 4);
      mine[7] = sizes_of(run);
    }
}

/* out[0] += blocks, out[1] += the sum of their numbers; out[2] has a bit for each fault of the call itself. */
KERNEL tally(const void* arguments, const weir_cpu_run* run) {
  uint64_t* const out = *(uint64_t* const*)arguments;
  const uint64_t count = run->end_block - run->first_block;
  const uint64_t ends = run->first_block + run->end_block - 1;
  __atomic_fetch_add(out, count, __ATOMIC_RELAXED);
  __atomic_fetch_add(out + 1, count % 2 ? ends / 2 * count : count / 2 * ends, __ATOMIC_RELAXED);
  const uint64_t wrong = ((uintptr_t)arguments % 16 ? 1 : 0) | (run->struct_size < sizeof *run ? 2 : 0);
  if (wrong) __atomic_fetch_or(out + 2, wrong, __ATOMIC_RELAXED);
}

/* Writes `bytes` bytes of dynamic shared memory for each block and reads them back. out[n] is the number of
 * correct ones, -1 without memory, -2 if it is not aligned, -3 if `shared_bytes` is another size. */
KERNEL shared(const void* arguments, const weir_cpu_run* run) {
  const struct {
    int64_t* out;
    int64_t bytes;
  }* const given = arguments;
  volatile unsigned char* const memory = run->shared;
  for (uint64_t n = run->first_block; n < run->end_block; ++n) {
    int64_t right = 0;
    if (run->shared_bytes != given->bytes) right = -3;
    if ((uintptr_t)memory % 64) right = -2;
    if (!memory && given->bytes) right = -1;
    if (right == 0) {
      for (int64_t i = 0; i < given->bytes; ++i) memory[i] = (unsigned char)(n + 7 * i);
      for (int64_t i = 0; i < given->bytes; ++i) right += memory[i] == (unsigned char)(n + 7 * i);
    }
    given->out[n] = right;
  }
}

/* Each block writes its number to its dynamic shared memory and adds 1 to out[0]. It waits until out[0] is the
 * number of blocks, for `rounds` looks at most. out[1 + n] is the number that block n then reads, -1 if it waited
 * in vain. */
KERNEL shared_meeting(const void* arguments, const weir_cpu_run* run) {
  const struct {
    int64_t* out;
    int64_t rounds;
  }* const given = arguments;
  volatile int64_t* const memory = run->shared;
  for (uint64_t n = run->first_block; n < run->end_block; ++n) {
    *memory = (int64_t)n;
    __atomic_fetch_add(given->out, 1, __ATOMIC_SEQ_CST);
    int64_t looks = 0;
    while (looks < given->rounds && __atomic_load_n(given->out, __ATOMIC_SEQ_CST) < product(run->grid)) ++looks;
    given->out[1 + n] = looks < given->rounds ? *memory : -1;
  }
}

/* Has no arguments. */
KERNEL nothing(const void* arguments, const weir_cpu_run* run) {
  (void)arguments, (void)run;
}

/* Copies the first `bytes` bytes of the argument block to out. */
KERNEL echo(const void* arguments, const weir_cpu_run* run) {
  const struct {
    unsigned char* out;
    int64_t bytes;
  }* const given = arguments;
  (void)run;
  for (int64_t i = 0; i < given->bytes; ++i) given->out[i] = ((const unsigned char*)arguments)[i];
}

/* Pairs of kernels whose names share 15 to 4,999 letters: each stores its own number. kernels/twins.cpp lists them. */
#define N15 "nnnnnnnnnnnnnnn"
#define N16 N15 "n"
#define N31 N15 N16
#define N32 N16 N16
#define N63 N31 N32
#define N64 N32 N32
#define N127 N63 N64
#define N128 N64 N64
#define N255 N127 N128
#define N256 N128 N128
#define N511 N255 N256
#define N512 N256 N256
#define N1023 N511 N512
#define N4096 N512 N512 N512 N512 N512 N512 N512 N512
#define N4999 N4096 N512 N256 N64 N32 N32 "nnnnnnn"

#define TWIN(name, symbol, number)                                      \
  KERNEL name(const void* arguments, const weir_cpu_run* run) __asm__(symbol); \
  KERNEL name(const void* arguments, const weir_cpu_run* run) {         \
    (void)run;                                                          \
    **(int64_t* const*)arguments = number;                              \
  }
#define TWINS(length)                                       \
  TWIN(twin_a_##length, N##length "a", 2 * length)          \
  TWIN(twin_b_##length, N##length "b", 2 * length + 1)

TWINS(15)
TWINS(16)
TWINS(31)
TWINS(32)
TWINS(63)
TWINS(64)
TWINS(127)
TWINS(128)
TWINS(255)
TWINS(256)
TWINS(511)
TWINS(1023)
TWINS(4096)
TWINS(4999)
