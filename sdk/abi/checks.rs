// SPDX-License-Identifier: Apache-2.0
// weir/sdk/checks.h in Rust: the checks that every driver must make before it submits anything. That header describes
// each function. Include it after abi.rs in the same module, and give rustc the folder of libweir-checks.a:
//   rustc -L native=/opt/weir/lib ...
#[link(name = "weir-checks", kind = "static")]
#[link(name = "stdc++")]
extern "C" {
    pub fn weir_fail(status: *mut weir_status, code: weir_result, message: *const c_char) -> weir_result;
    pub fn weir_read_struct(
        out: *mut c_void, input: *const c_void, size: u32, what: *const c_char, status: *mut weir_status,
    ) -> weir_result;
    pub fn weir_write_struct(
        out: *mut c_void, mine: *const c_void, size: u32, what: *const c_char, status: *mut weir_status,
    ) -> weir_result;
    pub fn weir_check_range(
        allocation_size: u64, offset: u64, size: u64, what: *const c_char, status: *mut weir_status,
    ) -> weir_result;
    pub fn weir_check_apart(to_offset: u64, from_offset: u64, size: u64, status: *mut weir_status) -> weir_result;
    pub fn weir_check_pattern(
        offset: u64, size: u64, pattern: *const c_void, pattern_size: u32, status: *mut weir_status,
    ) -> weir_result;
    pub fn weir_check_memory_options(
        asked: *const weir_memory_options, capabilities: u64, out: *mut weir_memory_options, status: *mut weir_status,
    ) -> weir_result;
    pub fn weir_check_external_memory(
        asked: *const weir_external_memory, out: *mut weir_external_memory, status: *mut weir_status,
    ) -> weir_result;
    pub fn weir_check_code_object(
        asked: *const weir_code_object, out: *mut weir_code_object, status: *mut weir_status,
    ) -> weir_result;
    pub fn weir_check_whole_elf(object: *const weir_code_object, status: *mut weir_status) -> weir_result;
    pub fn weir_check_layout(
        asked: *const weir_kernel_layout, device: *const weir_device_info, kernel: *const c_char,
        out: *mut weir_kernel_layout, status: *mut weir_status,
    ) -> weir_result;
    pub fn weir_check_launch(
        asked: *const weir_launch, device: *const weir_device_info, kernel: *const weir_kernel_info,
        name: *const c_char, argument_bytes: u32, out: *mut weir_launch, status: *mut weir_status,
    ) -> weir_result;
    pub fn weir_check_graph_node(
        asked: *const weir_graph_node, index: *const u32, out: *mut weir_graph_node, status: *mut weir_status,
    ) -> weir_result;
}
