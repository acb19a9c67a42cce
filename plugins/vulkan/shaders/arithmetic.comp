// SPDX-License-Identifier: Apache-2.0
// One operation of each kind on each set of operands; arithmetic.cpp compares the results with the host's.
// REAL is float or double. Nothing may be contracted or rewritten, hence `precise`.
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
layout(local_size_x = 64) in;

layout(buffer_reference, scalar) readonly buffer Operands { REAL a, b, c; };
layout(buffer_reference, scalar) writeonly buffer Results { REAL quotient, root, fused, product, sum, least; };
layout(push_constant, scalar) uniform Pushed { uint64_t arguments; };
layout(buffer_reference, scalar) writeonly buffer Word { uint value; };
layout(buffer_reference, scalar) readonly buffer Arguments { uint64_t operands, results; Word looped; uint rounds; };

void main() {
  Arguments given = Arguments(arguments);
  const uint64_t i = gl_GlobalInvocationID.x;
  const uint64_t size = BYTES;
  Operands in_ = Operands(given.operands + i * 3 * size);
  Results out_ = Results(given.results + i * 6 * size);
  const REAL a = in_.a, b = in_.b, c = in_.c;
  precise REAL quotient = a / b;
  precise REAL root = sqrt(abs(a));
  precise REAL fused = fma(a, b, c);
  precise REAL product = a * b;
  precise REAL sum = a + c;
  precise REAL least = min(a, b);
  out_.quotient = quotient;
  out_.root = root;
  out_.fused = fused;
  out_.product = product;
  out_.sum = sum;
  out_.least = least;

  // Some implementations end long loops early.
  if (i == 0) {
    uint state = 1;
    for (uint k = 0; k < given.rounds; ++k) state = state * 1664525u + 1013904223u;
    given.looped.value = state;
  }
}
