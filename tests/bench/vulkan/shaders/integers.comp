// SPDX-License-Identifier: Apache-2.0
// Products and sums of 32-bit integers: 8 independent chains of 16 steps in each round, which cannot be folded.
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require
layout(local_size_x_id = 0) in;

layout(buffer_reference, scalar) writeonly buffer Numbers { uint value[]; };
#define ARGUMENTS Numbers to; uint rounds;
#include "arguments.glsl"

#define STEP                      \
  [[unroll]] for (int k = 0; k < 8; ++k) {   \
    x[k] = y[k] * x[k] + y[k];    \
    y[k] = x[k] * y[k] + x[k];    \
  }
#define STEPS_4 STEP STEP STEP STEP

void main() {
  const uint i = gl_GlobalInvocationID.x;
  uint x[8], y[8];
  for (uint k = 0; k < 8; ++k) x[k] = i + k, y[k] = i ^ k;
  for (uint round = 0; round < GIVEN(rounds); ++round) {
    STEPS_4 STEPS_4
  }
  uint sum = 0;
  [[unroll]] for (int k = 0; k < 8; ++k) sum += x[k] + y[k];
  GIVEN(to).value[i] = sum;
}
