// SPDX-License-Identifier: Apache-2.0
// Declarations that all kernels share: the argument block by its address, and as specialisation constants the block
// size and the bytes of dynamic shared memory. sdk/docs/conformance.md describes the kernels.
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_atomic_int64 : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_memory_scope_semantics : require
layout(local_size_x_id = 0, local_size_y_id = 1, local_size_z_id = 2) in;
layout(constant_id = 3) const uint dynamic_bytes = 16;
/// Of kernels that take their arguments in either way; the others read the argument block.
layout(constant_id = 4) const bool arguments_are_pushed = false;
#define ARGUMENT(name) (arguments_are_pushed ? pushed.name : pushed.block.name)

layout(buffer_reference, scalar) buffer Bytes { uint8_t at[]; };
layout(buffer_reference, scalar) buffer Ints { int at[]; };
layout(buffer_reference, scalar) buffer Words { uint at[]; };
layout(buffer_reference, scalar) buffer Longs { int64_t at[]; };
layout(buffer_reference, scalar) buffer Unsigned { uint64_t at[]; };

/// The number of the thread in a one-dimensional launch, and the number of threads.
int64_t thread() {
  return int64_t(gl_WorkGroupID.x) * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
}
int64_t threads() {
  return int64_t(gl_NumWorkGroups.x) * gl_WorkGroupSize.x;
}
