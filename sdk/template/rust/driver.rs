//! The @NAME@ driver: one device, whose memory is the host's. Streams execute work immediately, and no code can be
//! loaded yet. It passes level 1 of the conformance suite; at levels 2 and 3, requirements that need kernels are
//! reported as unsupported. Replace the functions by those of your device one by one. The SDK's <weir/driver.h> is the contract; `abi` is that header in Rust.
use std::alloc::Layout;
use std::os::raw::c_char;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::Mutex;

#[allow(non_camel_case_types, dead_code)]
mod abi {
    include!(env!("WEIR_ABI_RS"));
}
use abi::*;

const ALIGNMENT: u64 = 64;
const CODE_FORMAT: &str = "none-yet"; // the format of code that module_load will accept
const MAX_ALIGNMENT: u64 = 1 << 30;

// -- objects, to which the handles point --

struct Stream {
    busy: Mutex<()>, // held while work runs, so that work from several threads runs one after the other
    process: u32,    // that created the stream: in its children, a thread that is gone may hold `busy`
}
struct Event; // all work is done by the time an event is recorded
struct Allocation {
    bytes: *mut u8,
    layout: Layout,
}
static DEVICE: u8 = 0;

// -- results --

struct Failure {
    code: weir_result,
    message: String,
}
type Outcome = Result<weir_result, Failure>;

fn fail<T>(code: weir_result, message: impl Into<String>) -> Result<T, Failure> {
    Err(Failure { code, message: message.into() })
}

/// Runs the body of a function of the table. Failures fill the status; a panic must not leave the driver.
fn guarded(status: *mut weir_status, body: impl FnOnce() -> Outcome) -> weir_result {
    let outcome = catch_unwind(AssertUnwindSafe(body))
        .unwrap_or_else(|_| fail(WEIR_ERROR_UNKNOWN, "the @NAME@ driver panicked"));
    match outcome {
        Ok(result) => result, // WEIR_OK and WEIR_NOT_READY leave the status alone
        Err(failure) => {
            if !status.is_null() {
                unsafe { fill_status(status, &failure) };
            }
            failure.code
        }
    }
}

/// Fills a status up to its struct_size. A long message is cut between characters.
unsafe fn fill_status(status: *mut weir_status, failure: &Failure) {
    let size = ((*status).struct_size as usize).min(std::mem::size_of::<weir_status>());
    let mut filled: weir_status = std::mem::zeroed();
    filled.struct_size = (*status).struct_size;
    filled.code = failure.code;
    let before = std::mem::size_of::<weir_status>() - WEIR_STATUS_MESSAGE_BYTES;
    if size > before {
        let mut end = failure.message.len().min(size - before - 1);
        while !failure.message.is_char_boundary(end) {
            end -= 1;
        }
        put(&mut filled.message, &failure.message[..end]);
    }
    std::ptr::copy_nonoverlapping(&filled as *const weir_status as *const u8, status as *mut u8, size);
}

/// Stores text in a field, which must have room for it and for the zero at its end.
fn put(out: &mut [c_char], text: &str) {
    for (to, from) in out.iter_mut().zip(text.bytes().chain(std::iter::once(0))) {
        *to = from as c_char;
    }
}

/// Copies a struct to the caller, whose version may have fewer fields than this driver's.
unsafe fn give<T>(out: *mut T, mine: &T) {
    let size = *(out as *const u32) as usize;
    let count = size.min(std::mem::size_of::<T>());
    let first = std::mem::size_of::<u32>(); // struct_size stays as the caller set it
    std::ptr::copy_nonoverlapping((mine as *const T as *const u8).add(first), (out as *mut u8).add(first), count - first);
}

// -- devices --

unsafe extern "C" fn device_count(out: *mut u32, status: *mut weir_status) -> weir_result {
    guarded(status, || {
        *out = 1; // without the vendor's runtime: return fail(WEIR_ERROR_NO_LIBRARY, ...)
        Ok(WEIR_OK)
    })
}

fn check_index(index: u32) -> Result<(), Failure> {
    if index == 0 {
        return Ok(());
    }
    fail(WEIR_ERROR_INVALID, format!("the device index is {}; there is one device, 0", index))
}

unsafe extern "C" fn device_open(index: u32, out: *mut weir_device, status: *mut weir_status) -> weir_result {
    guarded(status, || {
        check_index(index)?;
        *out = &DEVICE as *const u8 as weir_device;
        Ok(WEIR_OK)
    })
}

unsafe extern "C" fn device_close(_: weir_device, _: *mut weir_status) -> weir_result {
    WEIR_OK // all work is done by the time it is submitted
}

/// A line of /proc/meminfo, in bytes.
fn memory(name: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with(name)).unwrap_or("");
    line.split_whitespace().nth(1).and_then(|number| number.parse::<u64>().ok()).unwrap_or(1 << 20) * 1024
}

unsafe extern "C" fn device_get_info(index: u32, out: *mut weir_device_info, status: *mut weir_status) -> weir_result {
    guarded(status, || {
        check_index(index)?;
        let mut info: weir_device_info = std::mem::zeroed();
        info.kind = WEIR_DEVICE_OTHER;
        put(&mut info.name, "The @NAME@ device");
        put(&mut info.vendor, "Your name");
        // Level 0 requires one to four formats.
        info.code_target_count = 1;
        put(&mut info.code_targets[0].format, CODE_FORMAT);
        info.total_memory = memory("MemTotal:");
        info.multiprocessors = 1;
        info.lanes = 1;
        info.max_block_threads = 1;
        info.max_block = [1; 3];
        info.max_grid = [65535; 3];
        info.max_shared_bytes = 65536;
        info.max_argument_bytes = 4096;
        info.memory_alignment = ALIGNMENT as u32;
        info.recommended_streams = 1;
        give(out, &info);
        Ok(WEIR_OK)
    })
}

unsafe extern "C" fn device_get_memory(
    _: weir_device, out_free: *mut u64, out_total: *mut u64, status: *mut weir_status,
) -> weir_result {
    guarded(status, || {
        *out_total = memory("MemTotal:");
        *out_free = memory("MemAvailable:").min(*out_total);
        Ok(WEIR_OK)
    })
}

// -- streams and events --

unsafe fn stream_of<'a>(stream: weir_stream) -> &'a Stream {
    &*(stream as *const Stream)
}

unsafe fn check_process(stream: weir_stream) -> Result<(), Failure> {
    if std::process::id() == stream_of(stream).process {
        return Ok(());
    }
    fail(WEIR_ERROR_SYSTEM, "the stream belongs to the parent of this process")
}

/// Runs work of a stream. A poisoned lock is no obstacle: the lock guards nothing but the order.
unsafe fn run(stream: weir_stream, work: impl FnOnce()) -> Outcome {
    check_process(stream)?;
    let _order = stream_of(stream).busy.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    work();
    Ok(WEIR_OK)
}

unsafe extern "C" fn stream_create(
    _: weir_device, _: *const weir_stream_options, out: *mut weir_stream, status: *mut weir_status,
) -> weir_result {
    guarded(status, || {
        *out = Box::into_raw(Box::new(Stream { busy: Mutex::new(()), process: std::process::id() })) as weir_stream;
        Ok(WEIR_OK)
    })
}

unsafe extern "C" fn stream_destroy(stream: weir_stream, status: *mut weir_status) -> weir_result {
    guarded(status, || {
        drop(Box::from_raw(stream as *mut Stream));
        Ok(WEIR_OK)
    })
}

unsafe extern "C" fn stream_flush(_: weir_stream, _: *mut weir_status) -> weir_result {
    WEIR_OK // nothing is ever kept back
}

unsafe extern "C" fn stream_query(stream: weir_stream, status: *mut weir_status) -> weir_result {
    guarded(status, || {
        check_process(stream)?;
        match stream_of(stream).busy.try_lock() {
            Err(std::sync::TryLockError::WouldBlock) => Ok(WEIR_NOT_READY), // another thread's work is running
            _ => Ok(WEIR_OK),
        }
    })
}

unsafe extern "C" fn stream_synchronize(stream: weir_stream, status: *mut weir_status) -> weir_result {
    guarded(status, || run(stream, || ()))
}

unsafe extern "C" fn stream_wait_event(_: weir_stream, _: weir_event, _: *mut weir_status) -> weir_result {
    WEIR_OK // the mark was reached when it was recorded
}

unsafe extern "C" fn event_create(
    _: weir_device, flags: u32, out: *mut weir_event, status: *mut weir_status,
) -> weir_result {
    guarded(status, || {
        if flags != WEIR_EVENT_PLAIN {
            return fail(WEIR_ERROR_UNSUPPORTED, "the @NAME@ driver has no timed events");
        }
        *out = Box::into_raw(Box::new((Event, 0u8))) as weir_event; // the byte gives each event an address
        Ok(WEIR_OK)
    })
}

unsafe extern "C" fn event_destroy(event: weir_event, status: *mut weir_status) -> weir_result {
    guarded(status, || {
        drop(Box::from_raw(event as *mut (Event, u8)));
        Ok(WEIR_OK)
    })
}

unsafe extern "C" fn event_record(_: weir_event, stream: weir_stream, status: *mut weir_status) -> weir_result {
    stream_synchronize(stream, status) // lets work that another thread has just submitted come to its end
}

unsafe extern "C" fn event_reached(_: weir_event, _: *mut weir_status) -> weir_result {
    WEIR_OK
}

// -- memory, copies, fills --

unsafe extern "C" fn memory_allocate(
    _: weir_device, options: *const weir_memory_options, out: *mut weir_allocation, status: *mut weir_status,
) -> weir_result {
    guarded(status, || {
        // The struct of an older host is shorter: missing fields are zero.
        let mut read: weir_memory_options = std::mem::zeroed();
        let size = ((*options).struct_size as usize).min(std::mem::size_of::<weir_memory_options>());
        std::ptr::copy_nonoverlapping(options as *const u8, &mut read as *mut weir_memory_options as *mut u8, size);
        let options = &read;
        if options.kind != WEIR_MEMORY_DEVICE {
            return fail(WEIR_ERROR_UNSUPPORTED, "the @NAME@ driver has no pinned memory");
        }
        if options.size == 0 || (options.alignment != 0 && !options.alignment.is_power_of_two()) {
            return fail(
                WEIR_ERROR_INVALID,
                format!("size is {} and alignment {}; expected at least 1 byte and a power of two or 0",
                        options.size, options.alignment),
            );
        }
        if options.alignment > MAX_ALIGNMENT {
            return fail(WEIR_ERROR_UNSUPPORTED, format!("alignment is {}; at most {}", options.alignment, MAX_ALIGNMENT));
        }
        let short = || Failure {
            code: WEIR_ERROR_OUT_OF_MEMORY,
            message: format!("the host has no {} bytes left", options.size),
        };
        let alignment = options.alignment.max(ALIGNMENT) as usize;
        let layout = Layout::from_size_align(options.size as usize, alignment).map_err(|_| short())?;
        let bytes = std::alloc::alloc(layout);
        if bytes.is_null() {
            return Err(short());
        }
        *out = Box::into_raw(Box::new(Allocation { bytes, layout })) as weir_allocation;
        Ok(WEIR_OK)
    })
}

unsafe extern "C" fn memory_free(allocation: weir_allocation, status: *mut weir_status) -> weir_result {
    guarded(status, || {
        let allocation = Box::from_raw(allocation as *mut Allocation);
        std::alloc::dealloc(allocation.bytes, allocation.layout);
        Ok(WEIR_OK)
    })
}

unsafe extern "C" fn memory_get_info(
    allocation: weir_allocation, out: *mut weir_memory_info, status: *mut weir_status,
) -> weir_result {
    guarded(status, || {
        let allocation = &*(allocation as *const Allocation);
        let mut info: weir_memory_info = std::mem::zeroed();
        info.kind = WEIR_MEMORY_DEVICE;
        info.size = allocation.layout.size() as u64;
        info.host_pointer = allocation.bytes as *mut _;
        give(out, &info);
        Ok(WEIR_OK)
    })
}

/// The address of a range, which must be inside its allocation.
unsafe fn range(allocation: weir_allocation, offset: u64, size: u64, what: &str) -> Result<*mut u8, Failure> {
    let allocation = &*(allocation as *const Allocation);
    let all = allocation.layout.size() as u64;
    if offset > all || size > all - offset {
        return fail(
            WEIR_ERROR_INVALID,
            format!("the {} of {} bytes at offset {} exceeds an allocation of {} bytes", what, size, offset, all),
        );
    }
    Ok(allocation.bytes.add(offset as usize))
}

unsafe fn copy(stream: weir_stream, to: *mut u8, from: *const u8, size: u64) -> Outcome {
    if size == 0 {
        return Ok(WEIR_OK);
    }
    run(stream, || std::ptr::copy_nonoverlapping(from, to, size as usize))
}

unsafe extern "C" fn copy_to_device(
    stream: weir_stream, destination: weir_allocation, offset: u64, source: *const std::os::raw::c_void, size: u64,
    status: *mut weir_status,
) -> weir_result {
    guarded(status, || copy(stream, range(destination, offset, size, "destination")?, source as *const u8, size))
}

unsafe extern "C" fn copy_to_host(
    stream: weir_stream, destination: *mut std::os::raw::c_void, source: weir_allocation, offset: u64, size: u64,
    status: *mut weir_status,
) -> weir_result {
    guarded(status, || copy(stream, destination as *mut u8, range(source, offset, size, "source")?, size))
}

unsafe extern "C" fn copy_on_device(
    stream: weir_stream, destination: weir_allocation, to: u64, source: weir_allocation, from: u64, size: u64,
    status: *mut weir_status,
) -> weir_result {
    guarded(status, || {
        let target = range(destination, to, size, "destination")?;
        let origin = range(source, from, size, "source")?;
        if destination == source && to < from + size && from < to + size {
            return fail(
                WEIR_ERROR_INVALID,
                format!("the ranges of {} bytes at offsets {} and {} of one allocation overlap", size, from, to),
            );
        }
        copy(stream, target, origin, size)
    })
}

unsafe extern "C" fn fill(
    stream: weir_stream, destination: weir_allocation, offset: u64, size: u64, pattern: *const std::os::raw::c_void,
    pattern_size: u32, status: *mut weir_status,
) -> weir_result {
    guarded(status, || {
        let target = range(destination, offset, size, "fill")?;
        if pattern.is_null() {
            return fail(WEIR_ERROR_INVALID, "the pattern is null");
        }
        let width = pattern_size as u64;
        if !width.is_power_of_two() || width > 16 || offset % width != 0 || size % width != 0 {
            return fail(
                WEIR_ERROR_INVALID,
                format!("pattern_size is {}; expected 1, 2, 4, 8 or 16, which divides the range", width),
            );
        }
        run(stream, || {
            for at in (0..size).step_by(width as usize) {
                std::ptr::copy_nonoverlapping(pattern as *const u8, target.add(at as usize), width as usize);
            }
        })
    })
}

// -- code: none yet, so there are no modules and no kernels --

unsafe fn text_of(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    std::ffi::CStr::from_ptr(text).to_string_lossy().into_owned()
}

unsafe extern "C" fn module_load(
    _: weir_device, object: *const weir_code_object, _: *mut weir_module, status: *mut weir_status,
) -> weir_result {
    guarded(status, || {
        fail(
            WEIR_ERROR_CODE_OBJECT,
            format!(
                "expected code of the format '{}', found '{}' for '{}'; the @NAME@ driver loads no code yet",
                CODE_FORMAT, text_of((*object).format), text_of((*object).target)
            ),
        )
    })
}

fn no_module(status: *mut weir_status) -> weir_result {
    guarded(status, || fail(WEIR_ERROR_INVALID, "the @NAME@ driver has no modules and no kernels yet"))
}
unsafe extern "C" fn module_unload(_: weir_module, status: *mut weir_status) -> weir_result {
    no_module(status)
}
unsafe extern "C" fn module_get_kernel(
    _: weir_module, _: *const c_char, _: *const weir_kernel_layout, _: *mut weir_kernel, status: *mut weir_status,
) -> weir_result {
    no_module(status)
}
unsafe extern "C" fn kernel_get_info(_: weir_kernel, _: *mut weir_kernel_info, status: *mut weir_status) -> weir_result {
    no_module(status)
}
unsafe extern "C" fn kernel_launch(_: weir_stream, _: *const weir_launch, status: *mut weir_status) -> weir_result {
    no_module(status)
}

// -- the table and the entry point --

struct Table(weir_driver_table);
unsafe impl Sync for Table {} // it never changes, and its pointers lead to constants

static TABLE: Table = Table(weir_driver_table {
    struct_size: std::mem::size_of::<weir_driver_table>() as u32,
    abi_version: 1 << 16, // 1.0
    name: "@NAME@\0".as_ptr() as *const c_char,
    version: "0.1.0\0".as_ptr() as *const c_char,
    vendor: "Your name\0".as_ptr() as *const c_char,
    device_count: Some(device_count),
    device_open: Some(device_open),
    device_close: Some(device_close),
    device_get_info: Some(device_get_info),
    device_get_memory: Some(device_get_memory),
    stream_create: Some(stream_create),
    stream_destroy: Some(stream_destroy),
    stream_flush: Some(stream_flush),
    stream_query: Some(stream_query),
    stream_synchronize: Some(stream_synchronize),
    stream_wait_event: Some(stream_wait_event),
    stream_host_callback: None,
    stream_wrap: None,
    stream_get_native: None,
    event_create: Some(event_create),
    event_destroy: Some(event_destroy),
    event_record: Some(event_record),
    event_query: Some(event_reached),
    event_synchronize: Some(event_reached),
    event_elapsed: None,
    memory_allocate: Some(memory_allocate),
    memory_free: Some(memory_free),
    memory_allocate_async: None,
    memory_free_async: None,
    memory_get_info: Some(memory_get_info),
    copy_to_device: Some(copy_to_device),
    copy_to_host: Some(copy_to_host),
    copy_on_device: Some(copy_on_device),
    copy_peer: None,
    fill: Some(fill),
    module_load: Some(module_load),
    module_unload: Some(module_unload),
    module_get_kernel: Some(module_get_kernel),
    kernel_get_info: Some(kernel_get_info),
    kernel_launch: Some(kernel_launch),
    get_extension: None,
    graph_create: None,
    graph_update: None,
    graph_launch: None,
    graph_destroy: None,
    memory_wrap: None,
    code_compile: None,
    kernel_max_cooperative_blocks: None,
});

/// A panic becomes a status (guarded); the standard hook would print it, and a driver prints nothing. The hook
/// belongs to this library's copy of Rust's standard library, so other Rust code of the process keeps its own.
fn print_no_panics() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| std::panic::set_hook(Box::new(|_| {})));
}

/// # Safety
/// Called by libweir as weir/driver.h describes.
#[no_mangle]
pub unsafe extern "C" fn weir_driver_entry(
    host: *const weir_host, out_table: *mut *const weir_driver_table, status: *mut weir_status,
) -> weir_result {
    print_no_panics();
    guarded(status, || {
        if (*host).abi_min > TABLE.0.abi_version || (*host).abi_max < TABLE.0.abi_version {
            return fail(WEIR_ERROR_ABI, "the @NAME@ driver supports ABI 1.0 only");
        }
        *out_table = &TABLE.0;
        Ok(WEIR_OK)
    })
}
