// SPDX-License-Identifier: Apache-2.0
// The driver ABI 1.4 of Weir: weir/driver.h in Rust. Written by sdk/abi/describe.
// Include it in a module with #[allow(non_camel_case_types, dead_code)].
use std::os::raw::{c_char, c_void};

pub type weir_result = i32;
pub type weir_host_callback = Option<unsafe extern "C" fn(user: *mut c_void)>;
pub type weir_code_receiver = Option<unsafe extern "C" fn(user: *mut c_void, code: *const weir_code_object)>;
pub const WEIR_STATUS_NAME_BYTES: usize = 64;
pub const WEIR_STATUS_MESSAGE_BYTES: usize = 1024;
pub const WEIR_MAX_CODE_TARGETS: usize = 4;

pub const WEIR_OK: weir_result = 0;
pub const WEIR_NOT_READY: weir_result = 1;
pub const WEIR_ERROR_UNKNOWN: weir_result = 2;
pub const WEIR_ERROR_INVALID: weir_result = 3;
pub const WEIR_ERROR_UNSUPPORTED: weir_result = 4;
pub const WEIR_ERROR_ABI: weir_result = 5;
pub const WEIR_ERROR_NO_DEVICE: weir_result = 6;
pub const WEIR_ERROR_NO_LIBRARY: weir_result = 7;
pub const WEIR_ERROR_OUT_OF_MEMORY: weir_result = 8;
pub const WEIR_ERROR_CODE_OBJECT: weir_result = 9;
pub const WEIR_ERROR_NOT_FOUND: weir_result = 10;
pub const WEIR_ERROR_LAUNCH: weir_result = 11;
pub const WEIR_ERROR_ILLEGAL_ADDRESS: weir_result = 12;
pub const WEIR_ERROR_DEVICE_LOST: weir_result = 13;
pub const WEIR_ERROR_SYSTEM: weir_result = 14;

pub const WEIR_CAP_STREAM_ORDERED_ALLOCATION: u64 = 1;
pub const WEIR_CAP_TIMED_EVENTS: u64 = 2;
pub const WEIR_CAP_STREAM_PRIORITY: u64 = 4;
pub const WEIR_CAP_HOST_CALLBACK: u64 = 8;
pub const WEIR_CAP_PINNED_MEMORY: u64 = 16;
pub const WEIR_CAP_PEER_COPY: u64 = 32;
pub const WEIR_CAP_DEVICE_ADDRESS: u64 = 64;
pub const WEIR_CAP_NATIVE_STREAM: u64 = 128;
pub const WEIR_CAP_CONCURRENT_STREAMS: u64 = 256;
pub const WEIR_CAP_GRAPHS: u64 = 512;
pub const WEIR_CAP_EXTERNAL_MEMORY: u64 = 1024;
pub const WEIR_CAP_CODE_COMPILE: u64 = 2048;
pub const WEIR_CAP_COOPERATIVE_LAUNCH: u64 = 4096;

pub const WEIR_ARGUMENT_ADDRESS: u32 = 0;
pub const WEIR_ARGUMENT_BUFFER: u32 = 1;

pub const WEIR_DEVICE_CPU: u32 = 0;
pub const WEIR_DEVICE_INTEGRATED: u32 = 1;
pub const WEIR_DEVICE_DISCRETE: u32 = 2;
pub const WEIR_DEVICE_OTHER: u32 = 3;

pub const WEIR_EVENT_PLAIN: u32 = 0;
pub const WEIR_EVENT_TIMED: u32 = 1;

pub const WEIR_MEMORY_DEVICE: u32 = 0;
pub const WEIR_MEMORY_PINNED: u32 = 1;

pub const WEIR_EXTERNAL_DEVICE: u32 = 0;
pub const WEIR_EXTERNAL_HOST: u32 = 1;

pub const WEIR_PARAMETER_VALUE: u32 = 0;
pub const WEIR_PARAMETER_BUFFER: u32 = 1;

pub const WEIR_LAUNCH_COOPERATIVE: u32 = 1;

pub const WEIR_GRAPH_EMPTY: u32 = 0;
pub const WEIR_GRAPH_KERNEL: u32 = 1;
pub const WEIR_GRAPH_COPY_TO_DEVICE: u32 = 2;
pub const WEIR_GRAPH_COPY_TO_HOST: u32 = 3;
pub const WEIR_GRAPH_COPY_ON_DEVICE: u32 = 4;
pub const WEIR_GRAPH_FILL: u32 = 5;

#[repr(C)]
pub struct weir_device_t {
    _private: [u8; 0],
}
pub type weir_device = *mut weir_device_t;
#[repr(C)]
pub struct weir_stream_t {
    _private: [u8; 0],
}
pub type weir_stream = *mut weir_stream_t;
#[repr(C)]
pub struct weir_event_t {
    _private: [u8; 0],
}
pub type weir_event = *mut weir_event_t;
#[repr(C)]
pub struct weir_allocation_t {
    _private: [u8; 0],
}
pub type weir_allocation = *mut weir_allocation_t;
#[repr(C)]
pub struct weir_module_t {
    _private: [u8; 0],
}
pub type weir_module = *mut weir_module_t;
#[repr(C)]
pub struct weir_kernel_t {
    _private: [u8; 0],
}
pub type weir_kernel = *mut weir_kernel_t;
#[repr(C)]
pub struct weir_graph_t {
    _private: [u8; 0],
}
pub type weir_graph = *mut weir_graph_t;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct weir_status {
    pub struct_size: u32,
    pub code: weir_result,
    pub vendor_code: i64,
    pub vendor_name: [c_char; 64],
    pub message: [c_char; 1024],
}
const _: () = assert!(std::mem::size_of::<weir_status>() == 1104);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct weir_code_target {
    pub format: [c_char; 32],
    pub target: [c_char; 64],
}
const _: () = assert!(std::mem::size_of::<weir_code_target>() == 96);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct weir_device_info {
    pub struct_size: u32,
    pub kind: u32,
    pub name: [c_char; 128],
    pub vendor: [c_char; 64],
    pub driver_version: [c_char; 64],
    pub location: [c_char; 32],
    pub uuid: [u8; 16],
    pub capabilities: u64,
    pub total_memory: u64,
    pub argument_style: u32,
    pub code_target_count: u32,
    pub code_targets: [weir_code_target; 4],
    pub target_features: [c_char; 512],
    pub multiprocessors: u32,
    pub lanes: u32,
    pub max_block_threads: u32,
    pub max_block: [u32; 3],
    pub max_grid: [u32; 3],
    pub max_shared_bytes: u32,
    pub max_argument_bytes: u32,
    pub memory_alignment: u32,
    pub min_priority: i32,
    pub max_priority: i32,
    pub recommended_streams: u32,
    pub max_registers_per_multiprocessor: u32,
    pub memory_bandwidth: u64,
    pub notes: [c_char; 512],
    pub max_threads_per_multiprocessor: u32,
    pub max_blocks_per_multiprocessor: u32,
    pub shared_bytes_per_multiprocessor: u32,
    pub max_registers_per_block: u32,
    pub dlpack_type: u32,
    pub dlpack_host_type: u32,
    pub dlpack_id: i32,
    pub reserved: u32,
}
const _: () = assert!(std::mem::size_of::<weir_device_info>() == 1848);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct weir_stream_options {
    pub struct_size: u32,
    pub priority: i32,
}
const _: () = assert!(std::mem::size_of::<weir_stream_options>() == 8);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct weir_memory_options {
    pub struct_size: u32,
    pub kind: u32,
    pub size: u64,
    pub alignment: u64,
}
const _: () = assert!(std::mem::size_of::<weir_memory_options>() == 24);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct weir_external_memory {
    pub struct_size: u32,
    pub kind: u32,
    pub address: u64,
    pub size: u64,
}
const _: () = assert!(std::mem::size_of::<weir_external_memory>() == 24);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct weir_memory_info {
    pub struct_size: u32,
    pub kind: u32,
    pub size: u64,
    pub device_address: u64,
    pub host_pointer: *mut c_void,
}
const _: () = assert!(std::mem::size_of::<weir_memory_info>() == 32);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct weir_code_object {
    pub struct_size: u32,
    pub format: *const c_char,
    pub target: *const c_char,
    pub data: *const c_void,
    pub size: u64,
    pub name: *const c_char,
}
const _: () = assert!(std::mem::size_of::<weir_code_object>() == 48);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct weir_parameter {
    pub offset: u32,
    pub size: u32,
    pub kind: u32,
}
const _: () = assert!(std::mem::size_of::<weir_parameter>() == 12);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct weir_buffer_argument {
    pub allocation: weir_allocation,
    pub offset: u64,
}
const _: () = assert!(std::mem::size_of::<weir_buffer_argument>() == 16);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct weir_kernel_layout {
    pub struct_size: u32,
    pub argument_bytes: u32,
    pub parameter_count: u32,
    pub parameters: *const weir_parameter,
}
const _: () = assert!(std::mem::size_of::<weir_kernel_layout>() == 24);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct weir_kernel_info {
    pub struct_size: u32,
    pub max_block_threads: u32,
    pub registers: u32,
    pub shared_bytes: u32,
    pub local_bytes: u32,
    pub lanes: u32,
}
const _: () = assert!(std::mem::size_of::<weir_kernel_info>() == 24);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct weir_launch {
    pub struct_size: u32,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub dynamic_shared_bytes: u32,
    pub argument_bytes: u32,
    pub kernel: weir_kernel,
    pub arguments: *const c_void,
    pub flags: u32,
    pub reserved: u32,
}
const _: () = assert!(std::mem::size_of::<weir_launch>() == 64);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct weir_graph_node {
    pub struct_size: u32,
    pub kind: u32,
    pub dependency_count: u32,
    pub pattern_size: u32,
    pub dependencies: *const u32,
    pub launch: *const weir_launch,
    pub destination: weir_allocation,
    pub destination_offset: u64,
    pub source: weir_allocation,
    pub source_offset: u64,
    pub size: u64,
    pub host_source: *const c_void,
    pub host_destination: *mut c_void,
    pub pattern: *const c_void,
}
const _: () = assert!(std::mem::size_of::<weir_graph_node>() == 96);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct weir_driver_table {
    pub struct_size: u32,
    pub abi_version: u32,
    pub name: *const c_char,
    pub version: *const c_char,
    pub vendor: *const c_char,
    pub device_count: Option<unsafe extern "C" fn(out_count: *mut u32, status: *mut weir_status) -> weir_result>,
    pub device_open: Option<unsafe extern "C" fn(index: u32, out_device: *mut weir_device, status: *mut weir_status) -> weir_result>,
    pub device_close: Option<unsafe extern "C" fn(device: weir_device, status: *mut weir_status) -> weir_result>,
    pub device_get_info: Option<unsafe extern "C" fn(index: u32, info: *mut weir_device_info, status: *mut weir_status) -> weir_result>,
    pub device_get_memory: Option<unsafe extern "C" fn(device: weir_device, out_free: *mut u64, out_total: *mut u64, status: *mut weir_status) -> weir_result>,
    pub stream_create: Option<unsafe extern "C" fn(device: weir_device, options: *const weir_stream_options, out_stream: *mut weir_stream, status: *mut weir_status) -> weir_result>,
    pub stream_destroy: Option<unsafe extern "C" fn(stream: weir_stream, status: *mut weir_status) -> weir_result>,
    pub stream_flush: Option<unsafe extern "C" fn(stream: weir_stream, status: *mut weir_status) -> weir_result>,
    pub stream_query: Option<unsafe extern "C" fn(stream: weir_stream, status: *mut weir_status) -> weir_result>,
    pub stream_synchronize: Option<unsafe extern "C" fn(stream: weir_stream, status: *mut weir_status) -> weir_result>,
    pub stream_wait_event: Option<unsafe extern "C" fn(stream: weir_stream, event: weir_event, status: *mut weir_status) -> weir_result>,
    pub stream_host_callback: Option<unsafe extern "C" fn(stream: weir_stream, callback: weir_host_callback, user: *mut c_void, status: *mut weir_status) -> weir_result>,
    pub stream_wrap: Option<unsafe extern "C" fn(device: weir_device, native: *mut c_void, out_stream: *mut weir_stream, status: *mut weir_status) -> weir_result>,
    pub stream_get_native: Option<unsafe extern "C" fn(stream: weir_stream, out_native: *mut *mut c_void, status: *mut weir_status) -> weir_result>,
    pub event_create: Option<unsafe extern "C" fn(device: weir_device, flags: u32, out_event: *mut weir_event, status: *mut weir_status) -> weir_result>,
    pub event_destroy: Option<unsafe extern "C" fn(event: weir_event, status: *mut weir_status) -> weir_result>,
    pub event_record: Option<unsafe extern "C" fn(event: weir_event, stream: weir_stream, status: *mut weir_status) -> weir_result>,
    pub event_query: Option<unsafe extern "C" fn(event: weir_event, status: *mut weir_status) -> weir_result>,
    pub event_synchronize: Option<unsafe extern "C" fn(event: weir_event, status: *mut weir_status) -> weir_result>,
    pub event_elapsed: Option<unsafe extern "C" fn(start: weir_event, end: weir_event, out_nanoseconds: *mut f64, status: *mut weir_status) -> weir_result>,
    pub memory_allocate: Option<unsafe extern "C" fn(device: weir_device, options: *const weir_memory_options, out_allocation: *mut weir_allocation, status: *mut weir_status) -> weir_result>,
    pub memory_free: Option<unsafe extern "C" fn(allocation: weir_allocation, status: *mut weir_status) -> weir_result>,
    pub memory_allocate_async: Option<unsafe extern "C" fn(stream: weir_stream, options: *const weir_memory_options, out_allocation: *mut weir_allocation, status: *mut weir_status) -> weir_result>,
    pub memory_free_async: Option<unsafe extern "C" fn(stream: weir_stream, allocation: weir_allocation, status: *mut weir_status) -> weir_result>,
    pub memory_get_info: Option<unsafe extern "C" fn(allocation: weir_allocation, info: *mut weir_memory_info, status: *mut weir_status) -> weir_result>,
    pub copy_to_device: Option<unsafe extern "C" fn(stream: weir_stream, destination: weir_allocation, destination_offset: u64, source: *const c_void, size: u64, status: *mut weir_status) -> weir_result>,
    pub copy_to_host: Option<unsafe extern "C" fn(stream: weir_stream, destination: *mut c_void, source: weir_allocation, source_offset: u64, size: u64, status: *mut weir_status) -> weir_result>,
    pub copy_on_device: Option<unsafe extern "C" fn(stream: weir_stream, destination: weir_allocation, destination_offset: u64, source: weir_allocation, source_offset: u64, size: u64, status: *mut weir_status) -> weir_result>,
    pub copy_peer: Option<unsafe extern "C" fn(stream: weir_stream, destination: weir_allocation, destination_offset: u64, source: weir_allocation, source_offset: u64, size: u64, status: *mut weir_status) -> weir_result>,
    pub fill: Option<unsafe extern "C" fn(stream: weir_stream, destination: weir_allocation, offset: u64, size: u64, pattern: *const c_void, pattern_size: u32, status: *mut weir_status) -> weir_result>,
    pub module_load: Option<unsafe extern "C" fn(device: weir_device, object: *const weir_code_object, out_module: *mut weir_module, status: *mut weir_status) -> weir_result>,
    pub module_unload: Option<unsafe extern "C" fn(module: weir_module, status: *mut weir_status) -> weir_result>,
    pub module_get_kernel: Option<unsafe extern "C" fn(module: weir_module, name: *const c_char, layout: *const weir_kernel_layout, out_kernel: *mut weir_kernel, status: *mut weir_status) -> weir_result>,
    pub kernel_get_info: Option<unsafe extern "C" fn(kernel: weir_kernel, info: *mut weir_kernel_info, status: *mut weir_status) -> weir_result>,
    pub kernel_launch: Option<unsafe extern "C" fn(stream: weir_stream, launch: *const weir_launch, status: *mut weir_status) -> weir_result>,
    pub get_extension: Option<unsafe extern "C" fn(name: *const c_char, version: u32, out_table: *mut *const c_void, status: *mut weir_status) -> weir_result>,
    pub graph_create: Option<unsafe extern "C" fn(device: weir_device, count: u32, nodes: *const *const weir_graph_node, out_graph: *mut weir_graph, status: *mut weir_status) -> weir_result>,
    pub graph_update: Option<unsafe extern "C" fn(graph: weir_graph, index: u32, node: *const weir_graph_node, status: *mut weir_status) -> weir_result>,
    pub graph_launch: Option<unsafe extern "C" fn(graph: weir_graph, stream: weir_stream, status: *mut weir_status) -> weir_result>,
    pub graph_destroy: Option<unsafe extern "C" fn(graph: weir_graph, status: *mut weir_status) -> weir_result>,
    pub memory_wrap: Option<unsafe extern "C" fn(device: weir_device, memory: *const weir_external_memory, out_allocation: *mut weir_allocation, status: *mut weir_status) -> weir_result>,
    pub code_compile: Option<unsafe extern "C" fn(device: weir_device, object: *const weir_code_object, receive: weir_code_receiver, user: *mut c_void, status: *mut weir_status) -> weir_result>,
    pub kernel_max_cooperative_blocks: Option<unsafe extern "C" fn(kernel: weir_kernel, block_threads: u32, dynamic_shared_bytes: u32, out_blocks: *mut u32, status: *mut weir_status) -> weir_result>,
}
const _: () = assert!(std::mem::size_of::<weir_driver_table>() == 376);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct weir_host {
    pub struct_size: u32,
    pub abi_min: u32,
    pub abi_max: u32,
}
const _: () = assert!(std::mem::size_of::<weir_host>() == 12);
