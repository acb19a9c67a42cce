// SPDX-License-Identifier: Apache-2.0
#version 460
#extension GL_GOOGLE_include_directive : require
#include "head.glsl"
layout(buffer_reference, scalar) readonly buffer Arguments { Words result; };
layout(push_constant, scalar) uniform Pushed { Arguments given; };

void main() {
  const uvec3 grid = gl_NumWorkGroups, block = gl_WorkGroupSize;
  const uint64_t n = (uint64_t(gl_WorkGroupID.z) * grid.y + gl_WorkGroupID.y) * grid.x + gl_WorkGroupID.x;
  const uint64_t at = 8 * (n * (block.x * block.y * block.z) + gl_LocalInvocationIndex);
  atomicAdd(given.result.at[int(at)], 1);
  uint packed = 0;
  [[unroll]] for (int i = 0; i < 3; ++i) {
    given.result.at[int(at + 1 + i)] = gl_WorkGroupID[i];
    given.result.at[int(at + 4 + i)] = gl_LocalInvocationID[i];
    packed |= (grid[i] & 31u) << 5 * i | (block[i] & 31u) << (15 + 5 * i);
  }
  given.result.at[int(at + 7)] = packed;
}
