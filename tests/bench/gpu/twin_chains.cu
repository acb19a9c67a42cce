// SPDX-License-Identifier: Apache-2.0
// Hand-written CUDA code for the cases of chains.cpp, compiled together with twin.cu, whose rules apply:
// chains of loops as one kernel, with values in registers. The kernels write all arrays that the loops write.
#include <cstdint>

namespace {

constexpr int joints = 6, feet = 4, axes = 3;
constexpr float dt = 0.004f, gravity = 9.81f;
constexpr float spring = 8.0f, damper = 0.6f, armature = 0.1f, coupling = 0.3f, limit = 0.6f;
constexpr float stiffness = 300.0f, friction = 20.0f, reach = 0.1f;

/// The step of sdk/examples/robots.hpp, with its parameters in their order. A thread computes one robot.
__global__ void robots_kernel(float* __restrict__ angle, float* __restrict__ speed,
                              float* __restrict__ height, float* __restrict__ rise,
                              const float* __restrict__ torque, const float* __restrict__ rest,
                              const float* __restrict__ lever, const float* __restrict__ inertia,
                              float* __restrict__ force, float* __restrict__ foot, float* __restrict__ depth,
                              float* __restrict__ push, float* __restrict__ mass, float* __restrict__ lower,
                              float* __restrict__ half_solved, float* __restrict__ acceleration,
                              float* __restrict__ energy, int n) {
  const int e = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (e >= n) return;
  float q[joints], v[joints];
#pragma unroll
  for (int j = 0; j < joints; ++j) {
    q[j] = angle[j * n + e];
    v[j] = speed[j * n + e];
  }
  const float z = height[e];
  float w = rise[e];

  float pushed[feet][axes], up = 0;
#pragma unroll
  for (int f = 0; f < feet; ++f) {
    float at[axes];
#pragma unroll
    for (int a = 0; a < axes; ++a) {
      at[a] = rest[f * axes + a] + (a == 2 ? z : reach * q[f]);
      foot[(e * feet + f) * axes + a] = at[a];
    }
    const float below = fmaxf(-at[2], 0.0f);
    depth[e * feet + f] = below;
#pragma unroll
    for (int a = 0; a < axes; ++a) {
      pushed[f][a] = below * (a == 2 ? stiffness : -friction * v[a]);
      push[(e * feet + f) * axes + a] = pushed[f][a];
    }
    up += dt * pushed[f][2];
  }

  float y[joints];
#pragma unroll
  for (int j = 0; j < joints; ++j) {
    y[j] = torque[e * joints + j] - spring * q[j] - damper * v[j];
#pragma unroll
    for (int f = 0; f < feet; ++f) y[j] += lever[j * feet + f] * pushed[f][j % axes];
    force[e * joints + j] = y[j];
  }

  float l[joints][joints];
#pragma unroll
  for (int i = 0; i < joints; ++i)
#pragma unroll
    for (int j = 0; j < joints; ++j) {
      float entry = inertia[i * joints + j] + coupling * q[i] * q[j];
      if (i == j) entry += armature + dt * damper;
      mass[(i * joints + j) * n + e] = entry;
      if (j <= i) l[i][j] = entry;
    }
#pragma unroll
  for (int j = 0; j < joints; ++j) {
    float pivot = l[j][j];
#pragma unroll
    for (int k = 0; k < j; ++k) pivot -= l[j][k] * l[j][k];
    l[j][j] = sqrtf(pivot);
    lower[(j * joints + j) * n + e] = l[j][j];
#pragma unroll
    for (int i = j + 1; i < joints; ++i) {
      float entry = l[i][j];
#pragma unroll
      for (int k = 0; k < j; ++k) entry -= l[i][k] * l[j][k];
      l[i][j] = entry / l[j][j];
      lower[(i * joints + j) * n + e] = l[i][j];
    }
  }

#pragma unroll
  for (int i = 0; i < joints; ++i) {
#pragma unroll
    for (int k = 0; k < i; ++k) y[i] -= l[i][k] * y[k];
    y[i] /= l[i][i];
    half_solved[i * n + e] = y[i];
  }
#pragma unroll
  for (int i = joints - 1; i >= 0; --i) {
#pragma unroll
    for (int r = i + 1; r < joints; ++r) y[i] -= l[r][i] * y[r];
    y[i] /= l[i][i];
    acceleration[i * n + e] = y[i];
  }

  float sum = 0;
#pragma unroll
  for (int j = 0; j < joints; ++j) {
    v[j] += dt * y[j];
    q[j] += dt * v[j];
    if (fabsf(q[j]) > limit) v[j] = 0;
    q[j] = fminf(fmaxf(q[j], -limit), limit);
    speed[j * n + e] = v[j];
    angle[j * n + e] = q[j];
    sum += 0.5f * v[j] * v[j];
  }
  w += up - dt * gravity;
  const float above = z + dt * w;
  rise[e] = w;
  height[e] = above;
  energy[e] = sum + gravity * above + 0.5f * w * w;
}

template <int Wide>
__global__ void six_maps_kernel(const float4* __restrict__ position, const float4* __restrict__ speed,
                                float4* __restrict__ force, float4* __restrict__ next_speed,
                                float4* __restrict__ next_position, float4* __restrict__ energy, long n) {
  const long step = static_cast<long>(gridDim.x) * blockDim.x;
  const auto map = [](float p, float v, float& f, float& next_v, float& next_p, float& e) {
    f = -4.0f * p - 0.5f * v;
    next_v = v + 0.01f * f;
    next_p = p + 0.01f * next_v;
    e = 0.5f * next_v * next_v + 2.0f * next_p * next_p;
  };
  for (long i = static_cast<long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += Wide * step) {
    float4 p[Wide], v[Wide];
#pragma unroll
    for (int k = 0; k < Wide; ++k)
      if (i + k * step < n) p[k] = position[i + k * step], v[k] = speed[i + k * step];
#pragma unroll
    for (int k = 0; k < Wide; ++k) {
      if (i + k * step >= n) break;
      float4 f, next_v, next_p, e;
      map(p[k].x, v[k].x, f.x, next_v.x, next_p.x, e.x);
      map(p[k].y, v[k].y, f.y, next_v.y, next_p.y, e.y);
      map(p[k].z, v[k].z, f.z, next_v.z, next_p.z, e.z);
      map(p[k].w, v[k].w, f.w, next_v.w, next_p.w, e.w);
      force[i + k * step] = f;
      next_speed[i + k * step] = next_v;
      next_position[i + k * step] = next_p;
      energy[i + k * step] = e;
    }
  }
}

int multiprocessors() {
  static const int count = [] {
    int device = 0, value = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, device);
    return value;
  }();
  return count;
}

}  // namespace

#define TWIN extern "C" __attribute__((visibility("default"))) int

// `steps` steps of `n` robots; `arrays` are the addresses of the kernel's arrays.
TWIN twin_robots(int variant, const std::uint64_t* arrays, long n, int steps, cudaStream_t stream) {
  constexpr unsigned threads[] = {32, 64, 128, 256};
  if (variant >= 4) return -1;
  const unsigned block = threads[variant], grid = (static_cast<unsigned>(n) + block - 1) / block;
  const auto at = [&](int k) { return reinterpret_cast<float*>(arrays[k]); };
  for (int i = 0; i < steps; ++i)
    robots_kernel<<<grid, block, 0, stream>>>(at(0), at(1), at(2), at(3), at(4), at(5), at(6), at(7), at(8),
                                              at(9), at(10), at(11), at(12), at(13), at(14), at(15), at(16),
                                              static_cast<int>(n));
  return cudaGetLastError();
}

// `n` is a multiple of 4.
TWIN twin_six_maps(int variant, const float4* position, const float4* speed, float4* force,
                   float4* next_speed, float4* next_position, float4* energy, long n, cudaStream_t stream) {
  const long fours = n / 4;
  const auto covering = [&](unsigned block) { return static_cast<unsigned>((fours + block - 1) / block); };
  const unsigned strided = 8 * static_cast<unsigned>(multiprocessors());
  const auto launch = [&](auto kernel, unsigned grid, unsigned block) {
    kernel<<<grid, block, 0, stream>>>(position, speed, force, next_speed, next_position, energy, fours);
    return cudaGetLastError();
  };
  switch (variant) {
    case 0:
      return launch(six_maps_kernel<1>, covering(256), 256);
    case 1:
      return launch(six_maps_kernel<1>, covering(512), 512);
    case 2:
      return launch(six_maps_kernel<1>, strided, 256);
    case 3:
      return launch(six_maps_kernel<1>, 2 * strided, 512);
    case 4:
      return launch(six_maps_kernel<2>, strided, 256);
    case 5:
      return launch(six_maps_kernel<2>, 4 * strided, 256);
    default:
      return -1;
  }
}
