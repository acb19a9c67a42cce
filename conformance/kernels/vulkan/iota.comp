// SPDX-License-Identifier: Apache-2.0
#version 460
#extension GL_GOOGLE_include_directive : require
#include "head.glsl"
layout(buffer_reference, scalar) readonly buffer Arguments { Longs result; int64_t n, base; };
layout(push_constant, scalar) uniform Pushed { Arguments given; };

void main() {
  for (int64_t i = thread(); i < given.n; i += threads()) given.result.at[int(i)] = given.base + i;
}
