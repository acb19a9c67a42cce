// SPDX-License-Identifier: Apache-2.0
// The arguments of a kernel, GIVEN(name): pushed as one writes it by hand, or after the address of Weir's argument
// block, which has them too.
#ifdef BY_HAND
layout(push_constant, scalar) uniform Arguments { ARGUMENTS } pushed;
#define GIVEN(name) pushed.name
#else
layout(buffer_reference, scalar) readonly buffer Arguments { ARGUMENTS };
layout(push_constant, scalar) uniform Pushed { Arguments block; ARGUMENTS } pushed;
layout(constant_id = 4) const bool arguments_are_pushed = false;
#define GIVEN(name) (arguments_are_pushed ? pushed.name : pushed.block.name)
#endif
