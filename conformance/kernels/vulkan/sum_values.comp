// SPDX-License-Identifier: Apache-2.0
#version 460
#extension GL_GOOGLE_include_directive : require
#include "head.glsl"
layout(buffer_reference, scalar) readonly buffer Arguments { Longs result; int64_t values[100]; };
layout(push_constant, scalar) uniform Pushed { Arguments given; };

void main() {
  if (thread() != 0) return;
  int64_t sum = 0;
  for (int i = 0; i < 100; ++i) sum += given.values[i];
  given.result.at[0] = sum;
}
