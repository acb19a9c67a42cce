// SPDX-License-Identifier: Apache-2.0
// Copies an element of type ELEMENT for each invocation.
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#extension GL_GOOGLE_include_directive : require
layout(local_size_x_id = 0) in;

layout(buffer_reference, scalar) writeonly buffer To { ELEMENT value[]; };
layout(buffer_reference, scalar) readonly buffer From { ELEMENT value[]; };
#define ARGUMENTS To to; From from;
#include "arguments.glsl"

void main() {
  const uint i = gl_GlobalInvocationID.x;
  GIVEN(to).value[i] = GIVEN(from).value[i];
}
