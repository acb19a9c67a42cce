// SPDX-License-Identifier: Apache-2.0
#version 460
#extension GL_GOOGLE_include_directive : require
#include "head.glsl"
layout(buffer_reference, scalar) readonly buffer Arguments { Longs log; int64_t value; };
layout(push_constant, scalar) uniform Pushed { Arguments given; };

void main() {
  if (thread() != 0) return;
  const int64_t count = given.log.at[0];
  given.log.at[int(count + 1)] = given.value;
  given.log.at[0] = count + 1;
}
