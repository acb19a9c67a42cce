// SPDX-License-Identifier: Apache-2.0
// Products and sums of REAL: 8 independent chains of 16 steps in each round. The compiler may contract them.
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require
layout(local_size_x_id = 0) in;

layout(buffer_reference, scalar) writeonly buffer Numbers { REAL value[]; };
#define ARGUMENTS Numbers to; REAL a; REAL b; uint rounds;
#include "arguments.glsl"

#define STEP [[unroll]] for (int k = 0; k < 8; ++k) x[k] = x[k] * a + b;
#define STEPS_4 STEP STEP STEP STEP

void main() {
  const uint i = gl_GlobalInvocationID.x;
  const REAL a = GIVEN(a), b = GIVEN(b);
  REAL x[8];
  [[unroll]] for (int k = 0; k < 8; ++k) x[k] = REAL(i % 1024 + k);
  for (uint round = 0; round < GIVEN(rounds); ++round) {
    STEPS_4 STEPS_4 STEPS_4 STEPS_4
  }
  GIVEN(to).value[i] = ((x[0] + x[1]) + (x[2] + x[3])) + ((x[4] + x[5]) + (x[6] + x[7]));
}
