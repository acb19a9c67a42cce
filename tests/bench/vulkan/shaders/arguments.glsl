// SPDX-License-Identifier: Apache-2.0
// The arguments of a kernel, `given`: in the argument block whose address Weir's driver pushes, or, as one
// writes it by hand, pushed themselves.
#ifdef BY_HAND
layout(push_constant, scalar) uniform Arguments { ARGUMENTS } given;
#else
layout(buffer_reference, scalar) readonly buffer Arguments { ARGUMENTS };
layout(push_constant, scalar) uniform Pushed { Arguments given; };
#endif
