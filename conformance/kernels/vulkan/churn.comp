// SPDX-License-Identifier: Apache-2.0
#version 460
#extension GL_GOOGLE_include_directive : require
#include "head.glsl"
layout(buffer_reference, scalar) readonly buffer Arguments { Longs result; int64_t x, rounds; };
layout(push_constant, scalar) uniform Pushed { Arguments given; };

void main() {
  if (thread() != 0) return;
  uint64_t state = uint64_t(given.x);
  for (int64_t k = 0; k < given.rounds; ++k) state = state * 6364136223846793005UL + 1442695040888963407UL;
  given.result.at[0] = int64_t(state);
}
