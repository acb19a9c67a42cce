// SPDX-License-Identifier: Apache-2.0
//! Calls each function of checks.rs, so that its declarations agree with the library.
#[allow(non_camel_case_types, dead_code)]
mod abi {
    include!(env!("WEIR_ABI_RS"));
    include!(env!("WEIR_CHECKS_RS"));
}
use abi::*;
use std::ffi::CStr;
use std::mem::{size_of, zeroed};
use std::os::raw::c_char;

const WHAT: *const c_char = b"thing\0".as_ptr() as *const c_char;

unsafe fn refused(result: weir_result, status: &mut weir_status, message: &str) {
    assert_eq!(result, WEIR_ERROR_INVALID);
    let text = CStr::from_ptr(status.message.as_ptr()).to_str().unwrap();
    assert!(text.contains(message), "expected '{}', found '{}'", message, text);
    *status = zeroed();
    status.struct_size = size_of::<weir_status>() as u32;
}

macro_rules! new {
    ($type:ty) => {{
        let mut made: $type = zeroed();
        made.struct_size = size_of::<$type>() as u32;
        made
    }};
}

fn main() {
    unsafe {
        let status = &mut new!(weir_status);
        let device = &mut new!(weir_device_info);
        device.max_grid = [10; 3];
        device.max_block = [10; 3];
        device.max_block_threads = 10;
        device.max_argument_bytes = 64;
        refused(weir_fail(status, WEIR_ERROR_INVALID, WHAT), status, "thing");

        let mut given = new!(weir_memory_options);
        given.size = 100;
        let mut options: weir_memory_options = zeroed();
        let size = size_of::<weir_memory_options>() as u32;
        let (to, from) = (&mut options as *mut _ as *mut _, &given as *const _ as *const _);
        assert_eq!(weir_read_struct(to, from, size, WHAT, status), WEIR_OK);
        assert_eq!(options.size, 100);
        assert_eq!(weir_check_memory_options(&given, 0, &mut options, status), WEIR_OK);
        given.alignment = 3;
        refused(weir_check_memory_options(&given, 0, &mut options, status), status, "options.alignment is 3");

        let mut info = new!(weir_memory_info);
        let mut mine: weir_memory_info = zeroed();
        mine.size = 7;
        let size = size_of::<weir_memory_info>() as u32;
        let (to, from) = (&mut info as *mut _ as *mut _, &mine as *const _ as *const _);
        assert_eq!(weir_write_struct(to, from, size, WHAT, status), WEIR_OK);
        assert_eq!((info.size, info.struct_size), (7, size));

        refused(weir_check_range(100, 1, 100, WHAT, status), status, "thing: 100 bytes at offset 1");
        refused(weir_check_apart(9, 0, 10, status), status, "offsets 0 and 9");
        let pattern = 0u64;
        refused(weir_check_pattern(32, 60, &pattern as *const _ as *const _, 8, status), status, "32 and size 60");

        let mut external = new!(weir_external_memory);
        external.address = 1;
        refused(weir_check_external_memory(&external, &mut zeroed(), status), status, "memory.size is 0");
        let object = new!(weir_code_object);
        refused(weir_check_code_object(&object, &mut zeroed(), status), status, "object.size is 0");
        let mut layout = new!(weir_kernel_layout);
        layout.argument_bytes = 65;
        refused(weir_check_layout(&layout, device, WHAT, &mut zeroed(), status), status, "argument_bytes is 65; at most 64");

        let kernel = new!(weir_kernel_info);
        let mut launch = new!(weir_launch);
        launch.grid = [1; 3];
        launch.block = [1; 3];
        launch.argument_bytes = 8;
        let result = weir_check_launch(&launch, device, &kernel, WHAT, 16, &mut zeroed(), status);
        refused(result, status, "launch.argument_bytes is 8; kernel 'thing' was looked up with 16");
        let mut node = new!(weir_graph_node);
        node.kind = 99;
        refused(weir_check_graph_node(&node, &0, &mut zeroed(), status), status, "node.kind is 99");
    }
    println!("all checks are the library's");
}
