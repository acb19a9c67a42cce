// SPDX-License-Identifier: Apache-2.0
#version 460
#extension GL_GOOGLE_include_directive : require
#include "head.glsl"
layout(buffer_reference, scalar) readonly buffer Arguments { Longs result; int64_t bytes; };
layout(push_constant, scalar) uniform Pushed { Arguments given; };

// Words, because shared memory in bytes needs a feature of its own.
shared uint memory[(dynamic_bytes + 3) / 4];
void main() {
  if (gl_LocalInvocationIndex != 0) return;
  const uint n = gl_WorkGroupID.x, bytes = uint(given.bytes);
  for (uint i = 0; i < bytes; ++i) {
    const uint shift = 8 * (i % 4);
    const uint others = memory[i / 4] & ~(0xffu << shift);
    memory[i / 4] = others | ((n + 7 * i) & 0xffu) << shift;
  }
  int64_t right = 0;
  for (uint i = 0; i < bytes; ++i)
    if ((memory[i / 4] >> 8 * (i % 4) & 0xffu) == ((n + 7 * i) & 0xffu)) ++right;
  given.result.at[int(n)] = right;
}
