// SPDX-License-Identifier: Apache-2.0
#version 460
#extension GL_GOOGLE_include_directive : require
#include "head.glsl"
layout(buffer_reference, scalar) readonly buffer Arguments { Unsigned result; };
layout(push_constant, scalar) uniform Pushed { Arguments block; Unsigned result; } pushed;

void main() {
  if (gl_LocalInvocationIndex != 0) return;
  const uvec3 grid = gl_NumWorkGroups;
  const uint64_t n = (uint64_t(gl_WorkGroupID.z) * grid.y + gl_WorkGroupID.y) * grid.x + gl_WorkGroupID.x;
  atomicAdd(ARGUMENT(result).at[0], 1ul);
  atomicAdd(ARGUMENT(result).at[1], n);
}
