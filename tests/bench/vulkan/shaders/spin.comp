// SPDX-License-Identifier: Apache-2.0
// Keeps its block busy for a number of rounds of 64 steps of a xorshift generator, each of which needs the one
// before. Few rounds, as some implementations end long loops early.
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#extension GL_GOOGLE_include_directive : require
layout(local_size_x_id = 0) in;

layout(buffer_reference, scalar) writeonly buffer Number { uint value; };
#define ARGUMENTS Number at; uint rounds;
#include "arguments.glsl"

#define STEP x ^= x << 13; x ^= x >> 17; x ^= x << 5;
#define STEPS_4 STEP STEP STEP STEP
#define STEPS_16 STEPS_4 STEPS_4 STEPS_4 STEPS_4

void main() {
  uint x = 2463534242u;
  for (uint round = 0; round < GIVEN(rounds); ++round) {
    STEPS_16 STEPS_16 STEPS_16 STEPS_16
  }
  GIVEN(at).value = x;
}
