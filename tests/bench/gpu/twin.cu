// SPDX-License-Identifier: Apache-2.0
// Hand-written CUDA code for the cases of streaming_kernels.cpp and whole_kernels.cpp. tests/gpu-proof
// compiles it, with twin_algorithms.cu and twin_chains.cu, by
//   nvcc -O3 -std=c++17 -arch=native -shared -Xcompiler -fPIC
// Each function takes the number of a variant (launch shape or implementation of the kernel) and submits one
// run to `stream`. It returns 0, a CUDA error, or -1 for an unknown variant; weir-bench times all variants
// and keeps the best.
#include <cstdint>

namespace {

int multiprocessors() {
  static const int count = [] {
    int device = 0, value = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, device);
    return value;
  }();
  return count;
}

struct Shape {
  unsigned grid, block;
};

/// Grid-stride shapes: blocks per multiprocessor and threads per block; the last shapes cover `items`
/// exactly.
constexpr int shape_count = 9;
bool shape_of(int variant, long items, Shape& shape) {
  constexpr unsigned blocks_per_sm[] = {2, 4, 8, 16, 32, 8}, threads[] = {1024, 512, 256, 1024, 256, 1024};
  constexpr unsigned exact[] = {256, 512, 1024};
  if (variant < 6) {
    shape = {blocks_per_sm[variant] * static_cast<unsigned>(multiprocessors()), threads[variant]};
  } else if (variant < shape_count) {
    shape.block = exact[variant - 6];
    shape.grid = static_cast<unsigned>((items + shape.block - 1) / shape.block);
  } else {
    return false;
  }
  return true;
}

__global__ void copy_kernel(float4* __restrict__ a, const float4* __restrict__ b, long n) {
  const long step = static_cast<long>(gridDim.x) * blockDim.x;
  for (long i = static_cast<long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step) a[i] = b[i];
}

__global__ void triad_kernel(float4* __restrict__ a, const float4* __restrict__ b,
                             const float4* __restrict__ c, float s, long n) {
  const long step = static_cast<long>(gridDim.x) * blockDim.x;
  for (long i = static_cast<long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step) {
    const float4 x = b[i], y = c[i];
    a[i] = make_float4(x.x + s * y.x, x.y + s * y.y, x.z + s * y.z, x.w + s * y.w);
  }
}

constexpr unsigned max_partials = 1 << 16;
__device__ float partials[max_partials];
__device__ unsigned arrived;

__device__ float sum_of_block(float value) {
  __shared__ float of_warp[32];
  for (int offset = 16; offset; offset /= 2) value += __shfl_down_sync(~0u, value, offset);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
  __syncthreads();
  value = threadIdx.x < blockDim.x / 32 ? of_warp[threadIdx.x] : 0.0f;
  if (threadIdx.x < 32)
    for (int offset = 16; offset; offset /= 2) value += __shfl_down_sync(~0u, value, offset);
  __syncthreads();
  return value;
}

/// The sum of all blocks' values into *result: the last block to finish adds up the others' values.
__device__ void finish_sum(float value, float* result) {
  __shared__ bool last;
  value = sum_of_block(value);
  if (threadIdx.x == 0) {
    partials[blockIdx.x] = value;
    __threadfence();
    last = atomicAdd(&arrived, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;
  float total = 0;
  for (unsigned i = threadIdx.x; i < gridDim.x; i += blockDim.x)
    total += *const_cast<volatile float*>(partials + i);
  total = sum_of_block(total);
  if (threadIdx.x == 0) {
    *result = total;
    arrived = 0;
  }
}

template <int Unroll, bool Two>
__global__ void sum_kernel(float* result, const float4* __restrict__ a, const float4* __restrict__ b,
                           long n) {
  const long step = static_cast<long>(gridDim.x) * blockDim.x;
  float sum[Unroll] = {};
  long i = static_cast<long>(blockIdx.x) * blockDim.x + threadIdx.x;
  const auto add = [&](float& to, long at) {
    const float4 x = a[at];
    if constexpr (Two) {
      const float4 y = b[at];
      to += x.x * y.x + x.y * y.y + x.z * y.z + x.w * y.w;
    } else {
      to += (x.x + x.y) + (x.z + x.w);
    }
  };
  for (; i + (Unroll - 1) * step < n; i += Unroll * step)
#pragma unroll
    for (int u = 0; u < Unroll; ++u) add(sum[u], i + u * step);
  for (; i < n; i += step) add(sum[0], i);
  float all = 0;
#pragma unroll
  for (int u = 0; u < Unroll; ++u) all += sum[u];
  finish_sum(all, result);
}

template <bool Two>
int sum(int variant, float* result, const float* a, const float* b, long n, cudaStream_t stream) {
  Shape shape;
  const int unroll = variant % 2 ? 4 : 1;
  if (!shape_of(variant / 2, n / 4, shape) || variant / 2 >= 6) return -1;  // grid-stride shapes
  const auto* x = reinterpret_cast<const float4*>(a);
  const auto* y = reinterpret_cast<const float4*>(b);
  if (unroll == 4)
    sum_kernel<4, Two><<<shape.grid, shape.block, 0, stream>>>(result, x, y, n / 4);
  else
    sum_kernel<1, Two><<<shape.grid, shape.block, 0, stream>>>(result, x, y, n / 4);
  return cudaGetLastError();
}

// The 5-point stencil: one element per thread, four of a row per thread, or a column of eight per thread.
__global__ void stencil_one(float* __restrict__ out, const float* __restrict__ in, int rows, int columns) {
  const int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i < 1 || j < 1 || i >= rows - 1 || j >= columns - 1) return;
  const long at = static_cast<long>(i) * columns + j;
  out[at] = 0.2f * (in[at] + in[at - 1] + in[at + 1] + in[at - columns] + in[at + columns]);
}

__global__ void stencil_four(float* __restrict__ out, const float* __restrict__ in, int rows, int columns) {
  const int j = 4 * (blockIdx.x * blockDim.x + threadIdx.x), i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i < 1 || i >= rows - 1 || j >= columns) return;
  const long at = static_cast<long>(i) * columns + j;
  const float4 here = *reinterpret_cast<const float4*>(in + at),
               up = *reinterpret_cast<const float4*>(in + at - columns),
               down = *reinterpret_cast<const float4*>(in + at + columns);
  const float left = j ? in[at - 1] : 0, right = j + 4 < columns ? in[at + 4] : 0;
  float4 result = make_float4(
      0.2f * (here.x + left + here.y + up.x + down.x), 0.2f * (here.y + here.x + here.z + up.y + down.y),
      0.2f * (here.z + here.y + here.w + up.z + down.z), 0.2f * (here.w + here.z + right + up.w + down.w));
  if (j > 0 && j + 4 < columns) {
    *reinterpret_cast<float4*>(out + at) = result;
  } else {
    if (j > 0) out[at] = result.x;
    out[at + 1] = result.y;
    out[at + 2] = result.z;
    if (j + 4 < columns) out[at + 3] = result.w;
  }
}

template <int Rows>
__global__ void stencil_column(float* __restrict__ out, const float* __restrict__ in, int rows, int columns) {
  const int j = blockIdx.x * blockDim.x + threadIdx.x,
            first = 1 + (blockIdx.y * blockDim.y + threadIdx.y) * Rows;
  if (j < 1 || j >= columns - 1 || first >= rows - 1) return;
  long at = static_cast<long>(first) * columns + j;
  float up = in[at - columns], here = in[at];
#pragma unroll
  for (int r = 0; r < Rows; ++r, at += columns) {
    if (first + r >= rows - 1) return;
    const float down = in[at + columns];
    out[at] = 0.2f * (here + in[at - 1] + in[at + 1] + up + down);
    up = here, here = down;
  }
}

// n-body: positions and masses as float4, tiles in shared memory, `Each` bodies per thread.
template <int Each>
__global__ void nbody_kernel(float4* __restrict__ out, const float4* __restrict__ bodies, int n,
                             float softening) {
  extern __shared__ float4 tile[];
  float4 me[Each];
  float3 sum[Each];
#pragma unroll
  for (int e = 0; e < Each; ++e) {
    const int i = (blockIdx.x * Each + e) * blockDim.x + threadIdx.x;
    me[e] = i < n ? bodies[i] : make_float4(0, 0, 0, 0);
    sum[e] = make_float3(0, 0, 0);
  }
  for (int begin = 0; begin < n; begin += blockDim.x) {
    tile[threadIdx.x] =
        begin + static_cast<int>(threadIdx.x) < n ? bodies[begin + threadIdx.x] : make_float4(0, 0, 0, 0);
    __syncthreads();
#pragma unroll 16
    for (int j = 0; j < static_cast<int>(blockDim.x); ++j) {
      const float4 other = tile[j];
#pragma unroll
      for (int e = 0; e < Each; ++e) {
        const float dx = other.x - me[e].x, dy = other.y - me[e].y, dz = other.z - me[e].z;
        const float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + softening);
        const float force = other.w * inverse * inverse * inverse;
        sum[e].x += force * dx;
        sum[e].y += force * dy;
        sum[e].z += force * dz;
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int e = 0; e < Each; ++e) {
    const int i = (blockIdx.x * Each + e) * blockDim.x + threadIdx.x;
    if (i < n) out[i] = make_float4(sum[e].x, sum[e].y, sum[e].z, 0);
  }
}

// 3 x 3 systems by Cramer's rule.
__device__ void solve_one(const float* a, const float* b, float* x) {
  const float c0 = a[4] * a[8] - a[5] * a[7], c1 = a[5] * a[6] - a[3] * a[8], c2 = a[3] * a[7] - a[4] * a[6];
  const float scale = 1.0f / (a[0] * c0 + a[1] * c1 + a[2] * c2);
  x[0] = scale * (b[0] * c0 + b[1] * (a[2] * a[7] - a[1] * a[8]) + b[2] * (a[1] * a[5] - a[2] * a[4]));
  x[1] = scale * (b[0] * c1 + b[1] * (a[0] * a[8] - a[2] * a[6]) + b[2] * (a[2] * a[3] - a[0] * a[5]));
  x[2] = scale * (b[0] * c2 + b[1] * (a[1] * a[6] - a[0] * a[7]) + b[2] * (a[0] * a[4] - a[1] * a[3]));
}

__global__ void solve_direct(float* __restrict__ x, const float* __restrict__ a, const float* __restrict__ b,
                             long n) {
  const long i = static_cast<long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float m[9], r[3], s[3];
#pragma unroll
  for (int k = 0; k < 9; ++k) m[k] = a[9 * i + k];
#pragma unroll
  for (int k = 0; k < 3; ++k) r[k] = b[3 * i + k];
  solve_one(m, r, s);
#pragma unroll
  for (int k = 0; k < 3; ++k) x[3 * i + k] = s[k];
}

/// Uses shared memory, so that accesses to global memory are coalesced.
template <int Threads>
__global__ void solve_staged(float* __restrict__ x, const float* __restrict__ a, const float* __restrict__ b,
                             long n) {
  __shared__ float matrices[9 * Threads], rights[3 * Threads];
  const long first = static_cast<long>(blockIdx.x) * Threads;
  const int here = n - first < Threads ? static_cast<int>(n - first) : Threads;
  for (int k = threadIdx.x; k < 9 * here; k += Threads) matrices[k] = a[9 * first + k];
  for (int k = threadIdx.x; k < 3 * here; k += Threads) rights[k] = b[3 * first + k];
  __syncthreads();
  float s[3];
  if (static_cast<int>(threadIdx.x) < here)
    solve_one(matrices + 9 * threadIdx.x, rights + 3 * threadIdx.x, s);
  __syncthreads();
  if (static_cast<int>(threadIdx.x) < here)
    for (int k = 0; k < 3; ++k) rights[3 * threadIdx.x + k] = s[k];
  __syncthreads();
  for (int k = threadIdx.x; k < 3 * here; k += Threads) x[3 * first + k] = rights[k];
}

__global__ void histogram_global(unsigned* __restrict__ bins, const uint4* __restrict__ keys, long n,
                                 unsigned mask) {
  const long step = static_cast<long>(gridDim.x) * blockDim.x;
  for (long i = static_cast<long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step) {
    const uint4 key = keys[i];
    atomicAdd(bins + (key.x & mask), 1u);
    atomicAdd(bins + (key.y & mask), 1u);
    atomicAdd(bins + (key.z & mask), 1u);
    atomicAdd(bins + (key.w & mask), 1u);
  }
}

/// For few bins: one histogram per block in shared memory, added to the global one at the end.
__global__ void histogram_shared(unsigned* __restrict__ bins, const uint4* __restrict__ keys, long n,
                                 unsigned mask) {
  extern __shared__ unsigned own[];
  for (unsigned b = threadIdx.x; b <= mask; b += blockDim.x) own[b] = 0;
  __syncthreads();
  const long step = static_cast<long>(gridDim.x) * blockDim.x;
  for (long i = static_cast<long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step) {
    const uint4 key = keys[i];
    atomicAdd(own + (key.x & mask), 1u);
    atomicAdd(own + (key.y & mask), 1u);
    atomicAdd(own + (key.z & mask), 1u);
    atomicAdd(own + (key.w & mask), 1u);
  }
  __syncthreads();
  for (unsigned b = threadIdx.x; b <= mask; b += blockDim.x)
    if (own[b]) atomicAdd(bins + b, own[b]);
}

}  // namespace

#define TWIN extern "C" __attribute__((visibility("default"))) int

// Numbers of elements are multiples of 4.
TWIN twin_copy(int variant, float* a, const float* b, long n, cudaStream_t stream) {
  Shape shape;
  if (!shape_of(variant, n / 4, shape)) return -1;
  copy_kernel<<<shape.grid, shape.block, 0, stream>>>(reinterpret_cast<float4*>(a),
                                                      reinterpret_cast<const float4*>(b), n / 4);
  return cudaGetLastError();
}

TWIN twin_triad(int variant, float* a, const float* b, const float* c, float s, long n, cudaStream_t stream) {
  Shape shape;
  if (!shape_of(variant, n / 4, shape)) return -1;
  triad_kernel<<<shape.grid, shape.block, 0, stream>>>(reinterpret_cast<float4*>(a),
                                                       reinterpret_cast<const float4*>(b),
                                                       reinterpret_cast<const float4*>(c), s, n / 4);
  return cudaGetLastError();
}

TWIN twin_dot(int variant, float* result, const float* a, const float* b, long n, cudaStream_t stream) {
  return sum<true>(variant, result, a, b, n, stream);
}

TWIN twin_sum(int variant, float* result, const float* a, long n, cudaStream_t stream) {
  return sum<false>(variant, result, a, a, n, stream);
}

TWIN twin_stencil(int variant, float* out, const float* in, int rows, int columns, cudaStream_t stream) {
  const auto up = [](int a, int b) { return static_cast<unsigned>((a + b - 1) / b); };
  constexpr dim3 one[] = {{32, 8, 1}, {32, 16, 1}, {64, 4, 1}, {128, 2, 1}, {256, 1, 1}};
  constexpr dim3 four[] = {{32, 4, 1}, {32, 8, 1}, {64, 4, 1}, {128, 1, 1}, {256, 1, 1}};
  constexpr dim3 column[] = {{32, 8, 1}, {64, 4, 1}, {128, 1, 1}, {256, 1, 1}};
  if (variant < 5) {
    const dim3 block = one[variant];
    stencil_one<<<dim3(up(columns, block.x), up(rows, block.y)), block, 0, stream>>>(out, in, rows, columns);
  } else if (variant < 10) {
    const dim3 block = four[variant - 5];
    stencil_four<<<dim3(up(columns / 4, block.x), up(rows, block.y)), block, 0, stream>>>(out, in, rows,
                                                                                          columns);
  } else if (variant < 14) {
    const dim3 block = column[variant - 10];
    stencil_column<8>
        <<<dim3(up(columns, block.x), up(rows, 8 * block.y)), block, 0, stream>>>(out, in, rows, columns);
  } else {
    return -1;
  }
  return cudaGetLastError();
}

TWIN twin_nbody(int variant, float4* out, const float4* bodies, int n, float softening, cudaStream_t stream) {
  constexpr int threads[] = {128, 256, 512};
  if (variant >= 9) return -1;
  const int block = threads[variant % 3], each = 1 << variant / 3;
  const unsigned grid = static_cast<unsigned>((n + block * each - 1) / (block * each));
  const std::size_t bytes = block * sizeof(float4);
  if (each == 1)
    nbody_kernel<1><<<grid, block, bytes, stream>>>(out, bodies, n, softening);
  else if (each == 2)
    nbody_kernel<2><<<grid, block, bytes, stream>>>(out, bodies, n, softening);
  else
    nbody_kernel<4><<<grid, block, bytes, stream>>>(out, bodies, n, softening);
  return cudaGetLastError();
}

TWIN twin_solve(int variant, float* x, const float* a, const float* b, long n, cudaStream_t stream) {
  const auto blocks = [n](int threads) { return static_cast<unsigned>((n + threads - 1) / threads); };
  switch (variant) {
    case 0:
      solve_direct<<<blocks(128), 128, 0, stream>>>(x, a, b, n);
      break;
    case 1:
      solve_direct<<<blocks(256), 256, 0, stream>>>(x, a, b, n);
      break;
    case 2:
      solve_staged<128><<<blocks(128), 128, 0, stream>>>(x, a, b, n);
      break;
    case 3:
      solve_staged<256><<<blocks(256), 256, 0, stream>>>(x, a, b, n);
      break;
    case 4:
      solve_direct<<<blocks(512), 512, 0, stream>>>(x, a, b, n);
      break;
    default:
      return -1;
  }
  return cudaGetLastError();
}

/// `bins` is a power of two; the counts are added to `histogram`.
TWIN twin_histogram(int variant, unsigned* histogram, const unsigned* keys, long n, unsigned bins,
                    cudaStream_t stream) {
  Shape shape;
  const bool shared = variant % 2 && bins <= 8192;
  if (!shape_of(variant / 2, n / 4, shape) || variant / 2 >= 6) return -1;
  const auto* four = reinterpret_cast<const uint4*>(keys);
  if (shared)
    histogram_shared<<<shape.grid, shape.block, bins * sizeof(unsigned), stream>>>(histogram, four, n / 4,
                                                                                   bins - 1);
  else
    histogram_global<<<shape.grid, shape.block, 0, stream>>>(histogram, four, n / 4, bins - 1);
  return cudaGetLastError();
}

// A product of square matrices by blocks of 64 x 64 elements: 256 threads with 4 x 4 elements each, and tiles
// of 64 x 16 in shared memory.
namespace {

constexpr int product_tile = 64, product_depth = 16, product_each = 4;

__global__ void product_kernel(float* __restrict__ c, const float* __restrict__ a,
                               const float* __restrict__ b, int n) {
  __shared__ float tile_a[product_depth][product_tile], tile_b[product_depth][product_tile];
  const int ti = threadIdx.y, tj = threadIdx.x, thread = ti * 16 + tj;
  const int row = blockIdx.y * product_tile, column = blockIdx.x * product_tile;
  float sum[product_each][product_each] = {};
  for (int k0 = 0; k0 < n; k0 += product_depth) {
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      const int e = thread + 256 * r;
      tile_a[e % 16][e / 16] = a[static_cast<long>(row + e / 16) * n + k0 + e % 16];
      tile_b[e / 64][e % 64] = b[static_cast<long>(k0 + e / 64) * n + column + e % 64];
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < product_depth; ++k)
#pragma unroll
      for (int u = 0; u < product_each; ++u)
#pragma unroll
        for (int v = 0; v < product_each; ++v)
          sum[u][v] = fmaf(tile_a[k][ti * 4 + u], tile_b[k][tj * 4 + v], sum[u][v]);
    __syncthreads();
  }
#pragma unroll
  for (int u = 0; u < product_each; ++u)
#pragma unroll
    for (int v = 0; v < product_each; ++v)
      c[static_cast<long>(row + ti * 4 + u) * n + column + tj * 4 + v] = sum[u][v];
}

}  // namespace

TWIN twin_product(int variant, float* c, const float* a, const float* b, int n, cudaStream_t stream) {
  if (variant > 0) return -1;
  const auto blocks = static_cast<unsigned>(n / product_tile);
  product_kernel<<<dim3(blocks, blocks), dim3(16, 16), 0, stream>>>(c, a, b, n);
  return cudaGetLastError();
}
