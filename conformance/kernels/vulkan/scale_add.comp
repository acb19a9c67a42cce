// SPDX-License-Identifier: Apache-2.0
#version 460
#extension GL_GOOGLE_include_directive : require
#include "head.glsl"
layout(buffer_reference, scalar) readonly buffer Arguments { Longs result; Longs source; int64_t n, factor; };
layout(push_constant, scalar) uniform Pushed {
  Arguments block;
  Longs result; Longs source; int64_t n, factor;
} pushed;

void main() {
  Longs result = ARGUMENT(result), source = ARGUMENT(source);
  const int64_t n = ARGUMENT(n), factor = ARGUMENT(factor);
  for (int64_t i = thread(); i < n; i += threads())
    result.at[int(i)] = factor * source.at[int(i)] + result.at[int(i)];
}
