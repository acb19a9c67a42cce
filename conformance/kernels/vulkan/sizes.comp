// SPDX-License-Identifier: Apache-2.0
#version 460
#extension GL_GOOGLE_include_directive : require
#include "head.glsl"
layout(buffer_reference, scalar) readonly buffer Arguments { Longs result; int64_t a; int64_t e; int b; int f; int16_t c; int8_t d; };
layout(push_constant, scalar) uniform Pushed { Arguments given; };

void main() {
  if (thread() != 0) return;
  given.result.at[0] = given.a;
  given.result.at[1] = int64_t(given.b);
  given.result.at[2] = int64_t(given.c);
  given.result.at[3] = int64_t(given.d);
  given.result.at[4] = given.e; // the bits of an f64
  given.result.at[5] = int64_t(given.f); // the bits of an f32
}
