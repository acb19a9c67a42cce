// SPDX-License-Identifier: Apache-2.0
#version 460
#extension GL_GOOGLE_include_directive : require
#include "head.glsl"
layout(buffer_reference, scalar) readonly buffer Arguments { Ints flags; Ints result; int64_t extent, mine, other, rounds; };
layout(push_constant, scalar) uniform Pushed { Arguments given; };

void main() {
  if (thread() != 0) return;
  atomicExchange(given.flags.at[int(given.mine)], 1);
  const int64_t other = min(given.other, given.extent - 1);
  for (int64_t k = 0; k < given.rounds; ++k) {
    if (atomicAdd(given.flags.at[int(other)], 0) != 0) {
      given.result.at[int(given.mine)] = 1;
      break;
    }
  }
}
