// SPDX-License-Identifier: Apache-2.0
// Adds 1 to a number.
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#extension GL_GOOGLE_include_directive : require
layout(local_size_x_id = 0) in;

layout(buffer_reference, scalar) buffer Number { uint value; };
#define ARGUMENTS Number at;
#include "arguments.glsl"

void main() {
  GIVEN(at).value += 1;
}
