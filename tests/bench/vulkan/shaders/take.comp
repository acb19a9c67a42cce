// SPDX-License-Identifier: Apache-2.0
// Does nothing, with any arguments of at most 120 bytes.
#version 460
#ifndef BY_HAND
layout(push_constant) uniform Pushed { uvec2 block; uint arguments[30]; } pushed;
#endif
layout(local_size_x_id = 0) in;
void main() {}
