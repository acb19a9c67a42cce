// SPDX-License-Identifier: Apache-2.0
// Does nothing, with any arguments.
#version 460
layout(local_size_x_id = 0) in;
void main() {}
