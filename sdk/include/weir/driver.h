/* SPDX-License-Identifier: Apache-2.0
 *
 * The Weir driver interface, ABI version 1.4. Additions of later versions than 1.0 are marked: (1.1), (1.2),
 * (1.3), (1.4).
 *
 * A driver is a shared object that exports one symbol, `weir_driver_entry`. The host (libweir) calls it once
 * and passes the range of ABI versions that it supports. The driver returns a table of functions, or an error
 * with the reason. A driver needs only this header, which is plain C11 and uses only the C library's
 * fixed-width types.
 *
 * Read it from top to bottom: results, objects, descriptions, the table, the entry point.
 *
 * The host finds a driver by its manifest. The manifest is a JSON file `<name>.json` in one of the driver
 * folders that `weir info` lists. It has at most 64 KiB and 8 levels, and no repeated keys. The function
 * weir_add_driver() of the SDK's CMake package writes it:
 *
 *   { "name": "cuda",                             the table's name
 *     "library": "libweir-cuda.so",               relative to the manifest, inside its folder
 *     "abi": { "min": "1.0", "max": "1.4" },      the ABI versions that the library supports
 *     "architecture": "x86_64",                   as printed by `uname -m`
 *     "vendor_libraries": ["libcuda.so.1"],       libraries opened at run time; optional
 *     "description": "NVIDIA GPUs",               optional
 *     "manifest_version": 1 }                     of this format; optional; other keys are ignored
 *
 * Rules that hold for every function in the table
 *
 *  - A function returns a weir_result. With any other result than WEIR_OK it leaves its outputs untouched. On
 *    failure it also fills `*status`, if `status` is not null: a message, and the vendor's error code and
 *    name if there are any. WEIR_OK and WEIR_NOT_READY are not failures: they leave `*status` untouched, byte
 *    for byte.
 *  - Handles are those of live objects, and pointers are not null, unless a function states otherwise. A
 *    driver need not check this.
 *  - The functions of the table, the entry point and the host's callbacks are C functions: they follow the
 *    platform's C calling convention, so that a driver and a host may be written in any language.
 *  - A function does not change the floating-point environment of the calling thread, except its exception
 *    flags, or its signal mask.
 *  - No function aborts, exits, prints, or lets a C++ exception, a panic or a longjmp cross the table.
 *  - A process that has loaded a driver must be able to exit promptly. Exit handlers of the driver must
 *    neither crash nor wait, and processes that the driver started by fork alone must not outlive it. Exit
 *    handlers and threads of the driver print nothing.
 *  - In a child of fork, every function returns without waiting for work, with an error if it cannot work
 *    there. Work that was incomplete at the fork never completes in the child: a query of it or a wait for it
 *    returns an error, neither WEIR_OK nor WEIR_NOT_READY. The child can exit.
 *  - Every function may be called from any thread, and from several threads at once for one object. The
 *    exception is destruction: no other call may use an object while it is destroyed. Calls that submit to
 *    one stream from several threads take effect one after the other in an unspecified order.
 *  - The host holds no lock during a call, except one that keeps other threads from submitting to the same
 *    stream. A driver that blocks in one call must let calls on other threads proceed.
 *  - "Submits" means: returns without waiting for the work, which runs in the stream's order. With 500
 *    submissions outstanding, in all streams of the device together, a driver may block until there is room.
 *    It may delay submitted work until `stream_flush`, which the host calls before it or other code waits.
 *    Submitted work starts within a bounded time even without a flush.
 *  - Pointer arguments are read before the call returns unless stated otherwise. The caller owns returned
 *    objects and releases them with the matching destroy function. What a destroyed object held is free for
 *    later objects as soon as no work uses it.
 *  - Every struct begins with `struct_size`, set by the side that fills it. A reader never reads past that
 *    size, treats missing fields as zero, and accepts a size larger than its own. Structs only grow, at the
 *    end. The three structs that are elements of arrays or of argument blocks (weir_code_target,
 *    weir_parameter, weir_buffer_argument) have no size field and never change.
 *  - Sizes and offsets are in bytes, times in nanoseconds.
 */
#ifndef WEIR_DRIVER_H
#define WEIR_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------------------------- versions -- */

/* An ABI version is major << 16 | minor. A new major version may change anything. A new minor version appends
 * to structs and to the table and changes nothing else. In a table of an older version, device_get_info sets
 * no capability of a later one, even if the library supports it. For example, a table of version 1.0 has none
 * that is marked (1.1). */
#define WEIR_ABI_VERSION(major, minor) (((uint32_t)(major) << 16) | (uint32_t)(minor))
#define WEIR_ABI_MAJOR(version) ((uint32_t)(version) >> 16)
#define WEIR_ABI_MINOR(version) ((uint32_t)(version)&0xffffu)
#define WEIR_ABI_CURRENT WEIR_ABI_VERSION(1, 4)

/* ----------------------------------------------------------------------------------- results -- */

typedef int32_t weir_result; /* one of enum weir_result_code; the numbers never change */

enum weir_result_code {
  WEIR_OK = 0,
  WEIR_NOT_READY = 1,            /* the queried work is not complete; not a failure: fills no status */
  WEIR_ERROR_UNKNOWN = 2,        /* no other code applies */
  WEIR_ERROR_INVALID = 3,        /* an argument is wrong; the message names it */
  WEIR_ERROR_UNSUPPORTED = 4,    /* this driver or device lacks the operation */
  WEIR_ERROR_ABI = 5,            /* no common ABI version */
  WEIR_ERROR_NO_DEVICE = 6,      /* the vendor's runtime is installed, but there is no device */
  WEIR_ERROR_NO_LIBRARY = 7,     /* the vendor's runtime library is missing or too old */
  WEIR_ERROR_OUT_OF_MEMORY = 8,  /* of the device or of the host; the message states which */
  WEIR_ERROR_CODE_OBJECT = 9,    /* a code object was refused; the message holds the loader's log */
  WEIR_ERROR_NOT_FOUND = 10,     /* no such kernel or extension */
  WEIR_ERROR_LAUNCH = 11,        /* a launch was refused or failed */
  WEIR_ERROR_ILLEGAL_ADDRESS = 12, /* device code accessed memory outside its allocations */
  WEIR_ERROR_DEVICE_LOST = 13,   /* every later call on this device returns this code */
  WEIR_ERROR_SYSTEM = 14         /* the operating system refused: threads, files, permissions */
};

#define WEIR_STATUS_NAME_BYTES 64
#define WEIR_STATUS_MESSAGE_BYTES 1024

/* Describes a failure. Owned by the caller, who sets struct_size, at least 8; filled only on failure, up to
 * struct_size. Strings are UTF-8 and always terminated; a long string is cut at a character boundary. So is
 * the message of a status that ends inside it. */
typedef struct weir_status {
  uint32_t struct_size;
  weir_result code;                            /* the function's result */
  int64_t vendor_code;                         /* the vendor's number, 0 if there is none */
  char vendor_name[WEIR_STATUS_NAME_BYTES];    /* the vendor's name for it, or "" */
  char message[WEIR_STATUS_MESSAGE_BYTES];     /* the failed operation, the expectation, the finding */
} weir_status;

/* ----------------------------------------------------------------------------------- objects -- */

/* Opaque to the host; each driver defines them. Every object belongs to the device on which it was created.
 * A call with objects of different devices returns WEIR_ERROR_INVALID, except where a function allows them.
 * A later object may get the handle of a destroyed one, and a kernel that of an unloaded one. The host
 * neither passes an ended handle nor compares it with others. */
typedef struct weir_device_t *weir_device;
typedef struct weir_stream_t *weir_stream;
typedef struct weir_event_t *weir_event;
typedef struct weir_allocation_t *weir_allocation;
typedef struct weir_module_t *weir_module;
typedef struct weir_kernel_t *weir_kernel; /* valid until its module is unloaded */
typedef struct weir_graph_t *weir_graph;   /* (1.1) */

/* ------------------------------------------------------------------------------ capabilities -- */

/* Optional features of a device. A bit and its table slots must agree: the named slots work if the bit is
 * set, and return WEIR_ERROR_UNSUPPORTED if it is clear. */
enum weir_capability {
  WEIR_CAP_STREAM_ORDERED_ALLOCATION = 1u << 0, /* memory_allocate_async, memory_free_async */
  WEIR_CAP_TIMED_EVENTS = 1u << 1,              /* WEIR_EVENT_TIMED, event_elapsed */
  WEIR_CAP_STREAM_PRIORITY = 1u << 2,           /* weir_stream_options.priority has an effect */
  WEIR_CAP_HOST_CALLBACK = 1u << 3,             /* stream_host_callback */
  WEIR_CAP_PINNED_MEMORY = 1u << 4,             /* WEIR_MEMORY_PINNED */
  WEIR_CAP_PEER_COPY = 1u << 5,                 /* copy_peer between devices of this driver */
  WEIR_CAP_DEVICE_ADDRESS = 1u << 6,            /* weir_memory_info.device_address is usable */
  WEIR_CAP_NATIVE_STREAM = 1u << 7,             /* stream_wrap, stream_get_native */
  WEIR_CAP_CONCURRENT_STREAMS = 1u << 8,        /* work of different streams can overlap */
  WEIR_CAP_GRAPHS = 1u << 9,                    /* (1.1) graph_create and the other graph functions */
  WEIR_CAP_EXTERNAL_MEMORY = 1u << 10,          /* (1.2) memory_wrap; needs WEIR_CAP_DEVICE_ADDRESS */
  WEIR_CAP_CODE_COMPILE = 1u << 11,             /* (1.3) code_compile */
  WEIR_CAP_COOPERATIVE_LAUNCH = 1u << 12        /* (1.4) WEIR_LAUNCH_COOPERATIVE, kernel_max_cooperative_blocks */
};

/* The form in which kernels of a device receive arrays; see weir_parameter. */
enum weir_argument_style {
  WEIR_ARGUMENT_ADDRESS = 0, /* an 8-byte device address */
  WEIR_ARGUMENT_BUFFER = 1   /* a 16-byte weir_buffer_argument, for drivers that bind buffers */
};

/* ------------------------------------------------------------------------------- descriptions -- */

enum weir_device_kind { WEIR_DEVICE_CPU = 0, WEIR_DEVICE_INTEGRATED = 1, WEIR_DEVICE_DISCRETE = 2, WEIR_DEVICE_OTHER = 3 };

/* A code object format that a device loads, with its newest target: {"ptx", "sm_90"}. A device lists its
 * preferred formats first. Targets use LLVM's -mcpu names. */
typedef struct weir_code_target {
  char format[32];  /* "elf-x86_64", "ptx", "cubin", "hsaco", "spirv-vulkan", "opencl-c", ... Kernels in
                     * "elf-x86_64" and the alignment of their arguments are those of weir/sdk/cpu_kernel.h */
  char target[64];  /* "znver3", "sm_90", "gfx942", "vulkan1.3", ... or "" where the format has none */
} weir_code_target;

#define WEIR_MAX_CODE_TARGETS 4

/* Properties of a device. Filled by device_get_info up to the struct_size that the caller sets. */
typedef struct weir_device_info {
  uint32_t struct_size;
  uint32_t kind;                   /* enum weir_device_kind */
  char name[128];                  /* "NVIDIA H200" */
  char vendor[64];
  char driver_version[64];         /* of the vendor's runtime, as the vendor writes it */
  char location[32];               /* PCI address "0000:41:00.0", or "" */
  uint8_t uuid[16];                /* all zero when the device has none */
  uint64_t capabilities;           /* enum weir_capability */
  uint64_t total_memory;           /* bytes, at least 1 */
  uint32_t argument_style;         /* enum weir_argument_style */
  uint32_t code_target_count;      /* 1 to WEIR_MAX_CODE_TARGETS */
  weir_code_target code_targets[WEIR_MAX_CODE_TARGETS];
  char target_features[512];       /* LLVM's -mattr for code_targets[0], or "" */
  uint32_t multiprocessors;        /* at least 1; cores of a CPU */
  uint32_t lanes;                  /* at least 1: size of a warp or wavefront; 1 on a CPU */
  uint32_t max_block_threads;      /* at least 1: product over the block's dimensions */
  uint32_t max_block[3];           /* each at least 1 and at most max_block_threads */
  uint32_t max_grid[3];            /* each at least 1 */
  uint32_t max_shared_bytes;       /* per block, static and dynamic together */
  uint32_t max_argument_bytes;     /* at least 1: of a launch's argument block */
  uint32_t memory_alignment;       /* every allocation is aligned to this many bytes, at least 64 */
  int32_t min_priority;            /* the numerically largest, least urgent one */
  int32_t max_priority;            /* the numerically smallest, most urgent one */
  uint32_t recommended_streams;    /* how many it makes sense to spread work over; 0 if unknown */
  uint32_t max_registers_per_multiprocessor; /* 0 if not applicable */
  uint64_t memory_bandwidth;       /* bytes per second as the vendor states it, 0 if unknown */
  char notes[512];                 /* fallbacks in use, one per line, for `weir info`; or "" */
  /* (1.1) Limits on the blocks resident on a multiprocessor at once; 0 if not applicable. */
  uint32_t max_threads_per_multiprocessor;
  uint32_t max_blocks_per_multiprocessor;
  uint32_t shared_bytes_per_multiprocessor;
  uint32_t max_registers_per_block;
  /* (1.2) How the DLPack exchange format names the memory of this device: numbers of its DLDeviceType, and the
   * device's number in the vendor's runtime. */
  uint32_t dlpack_type;      /* of WEIR_MEMORY_DEVICE, 2 for CUDA; 0 if the format has no name for it */
  uint32_t dlpack_host_type; /* of pinned host memory, 3 for CUDA; 0 if there is none */
  int32_t dlpack_id;
  uint32_t reserved;         /* 0 */
} weir_device_info;

typedef struct weir_stream_options {
  uint32_t struct_size;
  int32_t priority; /* smaller is more urgent, 0 the default; clamped to max_priority ... min_priority of the device */
} weir_stream_options;

enum weir_event_flags { WEIR_EVENT_PLAIN = 0, WEIR_EVENT_TIMED = 1 };

enum weir_memory_kind {
  WEIR_MEMORY_DEVICE = 0,
  WEIR_MEMORY_PINNED = 1 /* host memory that device code accesses directly and that copies at full speed */
};

typedef struct weir_memory_options {
  uint32_t struct_size;
  uint32_t kind;      /* enum weir_memory_kind */
  uint64_t size;      /* at least 1 */
  uint64_t alignment; /* power of two; 0 means memory_alignment. Another number returns WEIR_ERROR_INVALID. One
                       * above memory_alignment is kept, or refused with WEIR_ERROR_UNSUPPORTED */
} weir_memory_options;

/* (1.2) */
enum weir_external_kind {
  WEIR_EXTERNAL_DEVICE = 0, /* memory of the device: a CUdeviceptr, a pointer of hipMalloc, host memory of a CPU */
  WEIR_EXTERNAL_HOST = 1    /* host memory that device code accesses directly, pinned by the vendor's runtime */
};

/* (1.2) Memory that a driver does not own; see memory_wrap. */
typedef struct weir_external_memory {
  uint32_t struct_size;
  uint32_t kind;    /* enum weir_external_kind */
  uint64_t address; /* of the first byte: on the device, or on the host for WEIR_EXTERNAL_HOST. Of any alignment */
  uint64_t size;    /* at least 1 */
} weir_external_memory;

/* The addresses of an allocation; see memory_get_info. */
typedef struct weir_memory_info {
  uint32_t struct_size;
  uint32_t kind;           /* enum weir_memory_kind, as requested */
  uint64_t size;           /* as requested, even if more was reserved */
  uint64_t device_address; /* of the first byte in kernels, never 0; 0 without WEIR_CAP_DEVICE_ADDRESS */
  void *host_pointer;      /* of the first byte on the host; non-null if the host may access the memory while no work
                            * uses it, as for all pinned memory */
} weir_memory_info;

typedef struct weir_code_object {
  uint32_t struct_size;
  const char *format; /* as in weir_code_target */
  const char *target; /* "": not stated; the driver accepts it if the vendor's runtime checks the code, or refuses it */
  const void *data;   /* copied or consumed before module_load returns */
  uint64_t size;
  const char *name;   /* for messages and profilers; may be null */
} weir_code_object;

enum weir_parameter_kind {
  WEIR_PARAMETER_VALUE = 0,  /* `size` bytes, copied unchanged */
  WEIR_PARAMETER_BUFFER = 1  /* an array: an 8-byte address or a weir_buffer_argument, by the device's argument_style */
};

/* One parameter of a kernel. */
typedef struct weir_parameter {
  uint32_t offset; /* in the argument block; a multiple of the parameter's alignment */
  uint32_t size;
  uint32_t kind;   /* enum weir_parameter_kind */
} weir_parameter;

/* An array in the argument block of a driver with WEIR_ARGUMENT_BUFFER. The allocation must not be null,
 * since some runtimes cannot bind null; a launch or node with a null allocation returns WEIR_ERROR_INVALID.
 * For an empty array, the host passes any allocation with any offset up to its size. With
 * WEIR_ARGUMENT_ADDRESS the driver does not check addresses: an address of 0 reaches the kernel, which must
 * not dereference it. */
typedef struct weir_buffer_argument {
  weir_allocation allocation; /* not null, of the launch's device */
  uint64_t offset;            /* of the array's first byte, at most the allocation's size */
} weir_buffer_argument;

/* A kernel's argument block, described once when the kernel is looked up. */
typedef struct weir_kernel_layout {
  uint32_t struct_size;
  uint32_t argument_bytes; /* size of the block */
  uint32_t parameter_count;
  const weir_parameter *parameters;
} weir_kernel_layout;

/* A loaded kernel's resources as reported by the driver; zero means unknown. See kernel_get_info. */
typedef struct weir_kernel_info {
  uint32_t struct_size;
  uint32_t max_block_threads; /* limit for this kernel, at most the device's; larger blocks are refused at launch */
  uint32_t registers;         /* per thread */
  uint32_t shared_bytes;      /* static, per block; with dynamic_shared_bytes at most the device's max_shared_bytes */
  uint32_t local_bytes;       /* spill and stack, per thread */
  uint32_t lanes;             /* as in weir_device_info */
} weir_kernel_info;

/* (1.4) */
enum weir_launch_flags {
  /* [COOPERATIVE_LAUNCH] All blocks of the launch are resident at once, and each makes progress while others wait.
   * Blocks may wait for one another through device memory. Such a launch may wait for the end of other work
   * of the device, and need not run concurrently with work of other streams. The grid has at most as many
   * blocks as kernel_max_cooperative_blocks returns for its block and its dynamic shared bytes. */
  WEIR_LAUNCH_COOPERATIVE = 1
};

typedef struct weir_launch {
  uint32_t struct_size;
  uint32_t grid[3];  /* blocks, each at least 1 */
  uint32_t block[3]; /* threads of a block, each at least 1 */
  uint32_t dynamic_shared_bytes; /* of each block, which has memory of its own */
  uint32_t argument_bytes;
  weir_kernel kernel;
  const void *arguments; /* `argument_bytes` bytes of any alignment, copied before kernel_launch returns */
  uint32_t flags;        /* (1.4) enum weir_launch_flags. A driver of an older version ignores it, so the host sets it
                          * only if the device has the capability of the flag */
  uint32_t reserved;     /* 0 */
} weir_launch;

/* Runs on a thread of the driver, in the default floating-point environment, when the stream reaches it; must
 * not call the driver. The stream continues after it returns. `user` may be null. */
typedef void (*weir_host_callback)(void *user);

/* (1.3) Receives the result of code_compile, on the calling thread. Copies what it needs; `code` is valid during the
 * call only. Must not call the driver. */
typedef void (*weir_code_receiver)(void *user, const weir_code_object *code);

/* (1.1) Operation of a graph node; each kind is the call of the same name, without a stream. */
enum weir_graph_node_kind {
  WEIR_GRAPH_EMPTY = 0,          /* no operation: joins its dependencies */
  WEIR_GRAPH_KERNEL = 1,         /* launch */
  WEIR_GRAPH_COPY_TO_DEVICE = 2, /* host_source, destination, destination_offset, size */
  WEIR_GRAPH_COPY_TO_HOST = 3,   /* host_destination, source, source_offset, size */
  WEIR_GRAPH_COPY_ON_DEVICE = 4, /* destination, destination_offset, source, source_offset, size */
  WEIR_GRAPH_FILL = 5            /* destination, destination_offset, size, pattern, pattern_size */
};

/* (1.1) One node. Fields that its kind does not name are ignored. Dependencies, launches with their
 * arguments, and patterns are read before graph_create or graph_update returns. Host memory of copies is
 * accessed each time the graph runs and must stay valid until its last run is complete. */
typedef struct weir_graph_node {
  uint32_t struct_size;
  uint32_t kind;                /* enum weir_graph_node_kind */
  uint32_t dependency_count;
  uint32_t pattern_size;
  const uint32_t *dependencies; /* nodes that end before this one begins: indices below its own, none twice */
  const weir_launch *launch;
  weir_allocation destination;
  uint64_t destination_offset;
  weir_allocation source;
  uint64_t source_offset;
  uint64_t size;
  const void *host_source;
  void *host_destination;
  const void *pattern;
} weir_graph_node;

/* ---------------------------------------------------------------------------------- the table -- */

/* A driver sets struct_size to the size of the table it was compiled with. The host replaces null slots and
 * slots past that size with functions that return WEIR_ERROR_UNSUPPORTED. Required slots are marked
 * (required). A driver without one of them is refused; the message names the slot. */
typedef struct weir_driver_table {
  uint32_t struct_size;
  uint32_t abi_version; /* the version in use: inside the host's range */

  const char *name;     /* "cpu"; up to 32 of a-z, 0-9 and '-' (not first); used in WEIR_DEVICE and --device */
  const char *version;  /* of the driver itself */
  const char *vendor;   /* the driver's author */

  /* -- devices -- */

  /* (required) The number of devices, constant in a process. WEIR_ERROR_NO_LIBRARY and WEIR_ERROR_NO_DEVICE
   * are ordinary results; `weir info` prints their message as the driver's line. May block while the vendor's
   * runtime starts. */
  weir_result (*device_count)(uint32_t *out_count, weir_status *status);

  /* (required) Opens device `index`; a second call returns the same device and increments its reference
   * count, also from another thread at the same time. While the last device_close waits, it opens the device
   * again, at once or after that call has returned. That call may then wait for later work too. */
  weir_result (*device_open)(uint32_t index, weir_device *out_device, weir_status *status);

  /* (required) Decrements the device's reference count. Objects of the device must have been destroyed. The
   * last call blocks until the device's work is complete: destroyed streams may still have some. */
  weir_result (*device_close)(weir_device device, weir_status *status);

  /* (required) Must not access the device's streams. */
  weir_result (*device_get_info)(uint32_t index, weir_device_info *info, weir_status *status);

  /* (required) Free and total memory at present, as the vendor's runtime reports them. Memory that the driver
   * keeps for later allocations counts as free. Memory of a pending deallocation counts as free or as used,
   * and as free after its stream has passed the deallocation. */
  weir_result (*device_get_memory)(weir_device device, uint64_t *out_free, uint64_t *out_total, weir_status *status);

  /* -- streams: in-order queues that wait for one another only through stream_wait_event -- */

  /* (required) Creates an empty stream of `device`. It is unordered relative to all other streams, the
   * vendor's default stream included. Null `options` mean priority 0; without [STREAM_PRIORITY] priorities
   * are accepted and have no effect. May block, even until work of other streams is complete, if the vendor's
   * runtime must make room for another stream. The caller destroys the stream with stream_destroy before it
   * closes the device. Returns WEIR_ERROR_OUT_OF_MEMORY or WEIR_ERROR_SYSTEM, without side effects, if no
   * more streams are possible. */
  weir_result (*stream_create)(weir_device device, const weir_stream_options *options, weir_stream *out_stream,
                               weir_status *status);

  /* (required) Never blocks: submitted work completes, then the stream's resources are freed. */
  weir_result (*stream_destroy)(weir_stream stream, weir_status *status);

  /* (required) Starts delayed work. Does not block. */
  weir_result (*stream_flush)(weir_stream stream, weir_status *status);

  /* (required) WEIR_OK if all submitted work is complete, WEIR_NOT_READY if not, or the stream's error. */
  weir_result (*stream_query)(weir_stream stream, weir_status *status);

  /* (required) Starts delayed work of this stream, then blocks until the work submitted before the call is
   * complete. It does not wait for work that other threads submit during the call. Returns the stream's
   * error; work that was submitted before then accesses no host memory any more. */
  weir_result (*stream_synchronize)(weir_stream stream, weir_status *status);

  /* (required) Submits: later work of `stream` begins after the work that `event` covered at the time of this
   * call. An event that was never recorded has no effect. For an event of another device of this driver, the
   * function works or returns WEIR_ERROR_UNSUPPORTED. */
  weir_result (*stream_wait_event)(weir_stream stream, weir_event event, weir_status *status);

  /* [HOST_CALLBACK] Submits a call of `callback(user)`. */
  weir_result (*stream_host_callback)(weir_stream stream, weir_host_callback callback, void *user, weir_status *status);

  /* [NATIVE_STREAM] Wraps a vendor's handle (a CUstream) without owning it. The caller keeps the handle alive
   * until the weir_stream is destroyed; stream_destroy does not destroy the handle. */
  weir_result (*stream_wrap)(weir_device device, void *native, weir_stream *out_stream, weir_status *status);

  /* [NATIVE_STREAM] The vendor's handle, owned by the stream. */
  weir_result (*stream_get_native)(weir_stream stream, void **out_native, weir_status *status);

  /* -- events: marks in a stream; an event may be recorded any number of times -- */

  /* (required) WEIR_EVENT_TIMED needs [TIMED_EVENTS]. */
  weir_result (*event_create)(weir_device device, uint32_t flags, weir_event *out_event, weir_status *status);

  /* (required) Never blocks; waits already submitted on the event stay in effect. */
  weir_result (*event_destroy)(weir_event event, weir_status *status);

  /* (required) Submits a mark after the stream's work so far; it replaces the earlier mark. */
  weir_result (*event_record)(weir_event event, weir_stream stream, weir_status *status);

  /* (required) WEIR_OK if the last mark was reached or there is none, else WEIR_NOT_READY. When a caller has
   * observed the completion of work that waited for a mark, the mark is reached. */
  weir_result (*event_query)(weir_event event, weir_status *status);

  /* (required) Blocks until the last mark is reached; returns immediately if there is none. A record during
   * the call does not change the mark for which it waits. */
  weir_result (*event_synchronize)(weir_event event, weir_status *status);

  /* [TIMED_EVENTS] Nanoseconds from `start` to `end`, exact to 100,000 over any time; negative if `end` was reached
   * first. Both must be timed and reached: WEIR_NOT_READY before that. WEIR_ERROR_INVALID if one is not timed or was
   * never recorded, also while the other is not reached. */
  weir_result (*event_elapsed)(weir_event start, weir_event end, double *out_nanoseconds, weir_status *status);

  /* -- memory -- */

  /* (required) May block. If memory is short while deallocations are pending, it waits for them before it
   * returns WEIR_ERROR_OUT_OF_MEMORY. While it waits, calls on other threads proceed. */
  weir_result (*memory_allocate)(weir_device device, const weir_memory_options *options, weir_allocation *out_allocation,
                                 weir_status *status);

  /* (required) No submitted work may still use the memory. Accepts allocations of both allocate functions. If
   * this allocation reuses the memory of a pending deallocation, work submitted before that deallocation may
   * still use the memory. The memory then becomes available only after that work. */
  weir_result (*memory_free)(weir_allocation allocation, weir_status *status);

  /* [STREAM_ORDERED_ALLOCATION] Work submitted to `stream` after this call may use the allocation. Work of
   * other streams may use it after an event recorded in `stream` after this call. Does not block, except to
   * wait for pending deallocations if memory is short. A host may submit any number of rounds of allocation,
   * use and deallocation before the first of them has run. For pinned memory it may return
   * WEIR_ERROR_UNSUPPORTED, or block while the vendor's runtime pins it; the host accesses that memory after
   * the stream has passed this call. */
  weir_result (*memory_allocate_async)(weir_stream stream, const weir_memory_options *options,
                                       weir_allocation *out_allocation, weir_status *status);

  /* [STREAM_ORDERED_ALLOCATION] Submits the deallocation, ordered in `stream` alone, and ends the handle.
   * Accepts allocations of both allocate functions and of every kind. */
  weir_result (*memory_free_async)(weir_stream stream, weir_allocation allocation, weir_status *status);

  /* (required) The addresses of a live allocation of either allocate function. They are the same at every
   * call until the allocation is freed. They are available at once, even if only later work of a stream may
   * use the memory. Fills `info` up to the struct_size that the caller set, and nothing past it. The address
   * is a multiple of the requested alignment; argument blocks hold the address, or the address plus an offset
   * of at most the size. The host accesses memory through host_pointer directly, without a call to the
   * driver; it reads the results of work that it has waited for. Both addresses are invalid once the
   * allocation is freed. Waits for no submitted work. */
  weir_result (*memory_get_info)(weir_allocation allocation, weir_memory_info *info, weir_status *status);

  /* -- copies and fills: a range outside its allocation returns WEIR_ERROR_INVALID before anything is submitted,
   * also a range of 0 bytes whose offset is past the end. A size of 0 has no effect, also with null for the host
   * memory -- */

  /* (required) Submits. `source` must stay valid until the stream has passed the copy. It is read in the
   * order of the stream if it is in pinned memory of the stream's device. Other memory may also be read before
   * the function returns, so it must stay unchanged. */
  weir_result (*copy_to_device)(weir_stream stream, weir_allocation destination, uint64_t destination_offset,
                                const void *source, uint64_t size, weir_status *status);

  /* (required) Submits. `destination` must stay valid until the stream has passed the copy. */
  weir_result (*copy_to_host)(weir_stream stream, void *destination, weir_allocation source, uint64_t source_offset,
                              uint64_t size, weir_status *status);

  /* (required) Submits. Both allocations are on the stream's device; overlapping ranges return
   * WEIR_ERROR_INVALID. */
  weir_result (*copy_on_device)(weir_stream stream, weir_allocation destination, uint64_t destination_offset,
                                weir_allocation source, uint64_t source_offset, uint64_t size, weir_status *status);

  /* [PEER_COPY] Submits to a stream of either device. Within one device it does what copy_on_device does. */
  weir_result (*copy_peer)(weir_stream stream, weir_allocation destination, uint64_t destination_offset,
                           weir_allocation source, uint64_t source_offset, uint64_t size, weir_status *status);

  /* (required) Submits: repeats `pattern` over the range. pattern_size is 1, 2, 4, 8 or 16 and divides
   * offset and size. The pattern must not be null and is checked also if the size is 0. */
  weir_result (*fill)(weir_stream stream, weir_allocation destination, uint64_t offset, uint64_t size,
                      const void *pattern, uint32_t pattern_size, weir_status *status);

  /* -- code -- */

  /* (required) May block while the vendor compiles. Returns WEIR_ERROR_CODE_OBJECT for a format or target
   * that the device does not run. The message names the given format and target and the supported ones. */
  weir_result (*module_load)(weir_device device, const weir_code_object *object, weir_module *out_module,
                             weir_status *status);

  /* (required) No submitted work may still use the module's kernels. */
  weir_result (*module_unload)(weir_module module, weir_status *status);

  /* (required) WEIR_ERROR_NOT_FOUND names the kernel. Names of any length are compared in full. `layout` is
   * copied. A second call with the same name and layout returns the same kernel, also from another thread at
   * the same time. With another layout it returns a kernel that takes this layout, and the earlier one keeps its own.
   * A parameter that is not inside the argument block returns WEIR_ERROR_INVALID. */
  weir_result (*module_get_kernel)(weir_module module, const char *name, const weir_kernel_layout *layout,
                                   weir_kernel *out_kernel, weir_status *status);

  /* (required) The resources of a kernel whose module is loaded, the same at every call. Fills `info` up to
   * the struct_size that the caller set, and nothing past it. A driver without this information leaves zeros
   * and returns WEIR_OK. The host uses it to choose block and grid sizes. Waits for no submitted work. */
  weir_result (*kernel_get_info)(weir_kernel kernel, weir_kernel_info *info, weir_status *status);

  /* (required) Submits. Returns WEIR_ERROR_INVALID for a grid or block dimension of 0 or above the device's
   * limit, and for a block of more than max_block_threads threads. Also if static and dynamic shared bytes
   * together exceed max_shared_bytes, for `argument_bytes` other than the layout's, and for unknown flags.
   * Also for a cooperative grid of more blocks than kernel_max_cooperative_blocks returns; the message names
   * both numbers. Returns WEIR_ERROR_UNSUPPORTED for WEIR_LAUNCH_COOPERATIVE without its capability. A
   * failure on the device is reported by a later call on the stream. */
  weir_result (*kernel_launch)(weir_stream stream, const weir_launch *launch, weir_status *status);

  /* -- extensions -- */

  /* The function table of extension `name`, of at least `version`, or WEIR_ERROR_NOT_FOUND. */
  weir_result (*get_extension)(const char *name, uint32_t version, const void **out_table, weir_status *status);

  /* -- graphs (1.1): work described once and submitted repeatedly, each time with one call -- */

  /* [GRAPHS] Creates a graph of `count` nodes, at least 1 and limited by memory only, ready for launch. Nodes
   * without a dependency between them may run concurrently. Returns WEIR_ERROR_INVALID for a node that lists
   * a dependency twice, or one that is not below it. Returns WEIR_ERROR_UNSUPPORTED for nodes with
   * WEIR_LAUNCH_COOPERATIVE if the vendor's graphs cannot hold them; the host then uses streams. Arguments
   * are checked like those of the equivalent calls, before anything is created. Allocations and modules used
   * by the graph must live until its last launch is complete, modules also until its last update. May
   * block. */
  weir_result (*graph_create)(weir_device device, uint32_t count, const weir_graph_node *const *nodes,
                              weir_graph *out_graph, weir_status *status);

  /* [GRAPHS] Gives node `index` new parameters for later launches; launches already submitted keep theirs.
   * The node's kind, kernel and launch flags must not change: others return WEIR_ERROR_INVALID. Its
   * dependencies stay as they are and are not read. Other arguments are checked like those of graph_create,
   * before anything is changed. Returns WEIR_ERROR_UNSUPPORTED, with nothing changed, if the vendor cannot
   * make this change; the host then creates a new graph. Does not block. The caller serialises update, launch
   * and destroy of one graph. */
  weir_result (*graph_update)(weir_graph graph, uint32_t index, const weir_graph_node *node, weir_status *status);

  /* [GRAPHS] Submits one run of the graph to a stream of its device. The run begins after the stream's
   * earlier work and ends before its later work. Runs of one graph never overlap, even in different streams. */
  weir_result (*graph_launch)(weir_graph graph, weir_stream stream, weir_status *status);

  /* [GRAPHS] Never blocks; submitted runs complete. */
  weir_result (*graph_destroy)(weir_graph graph, weir_status *status);

  /* -- external memory (1.2) -- */

  /* [EXTERNAL_MEMORY] An allocation for memory that the driver does not own. All functions take it like any
   * other. memory_free and memory_free_async end it and do not change the memory. The caller keeps the memory
   * valid until then, and until the stream has passed memory_free_async. The work that the caller submits is
   * not ordered after earlier uses of the memory. Several allocations may contain the same bytes; rules about
   * overlapping ranges then hold, but are not checked. memory_get_info returns the given size, and the given
   * address or the device's address of the host memory. Its kind is WEIR_MEMORY_DEVICE, or WEIR_MEMORY_PINNED
   * for WEIR_EXTERNAL_HOST. Returns WEIR_ERROR_INVALID for another kind, an address or size of 0, and a sum
   * of both of 2^64 or more. If the vendor's runtime reports the owner, memory of another device or of none
   * is invalid too. Returns WEIR_ERROR_UNSUPPORTED for a kind that the device cannot use. Waits for no
   * submitted work. */
  weir_result (*memory_wrap)(weir_device device, const weir_external_memory *memory, weir_allocation *out_allocation,
                             weir_status *status);

  /* -- compiled code (1.3) -- */

  /* [CODE_COMPILE] For a code object that the vendor's runtime compiles at loading, such as PTX. Compiles it
   * to code that is loaded without compilation, such as a cubin. Loads nothing. Calls `receive(user, code)`
   * exactly once, before it returns WEIR_OK, and never if it fails. The code's format is one that
   * device_get_info lists, and its name is the object's. A module of the code has the same kernels as one of
   * the object, with the same results. The host may keep the code, and load it in other processes on devices
   * with the same name and driver_version. Returns WEIR_ERROR_UNSUPPORTED for an object that is loaded
   * without compilation. Refuses other objects as module_load does, with the same message of the vendor's
   * compiler. May block while the vendor compiles. Waits for no submitted work. */
  weir_result (*code_compile)(weir_device device, const weir_code_object *object, weir_code_receiver receive, void *user,
                              weir_status *status);

  /* -- cooperative launches (1.4) -- */

  /* [COOPERATIVE_LAUNCH] The largest number of blocks of a cooperative launch of the kernel, with
   * `block_threads` threads each, on the whole device while no other work runs on it. It is the same at every
   * call, and 0 if the device holds no such block. Returns WEIR_ERROR_INVALID for threads and shared bytes
   * that kernel_launch refuses. Waits for no submitted work. */
  weir_result (*kernel_max_cooperative_blocks)(weir_kernel kernel, uint32_t block_threads, uint32_t dynamic_shared_bytes,
                                               uint32_t *out_blocks, weir_status *status);
} weir_driver_table;

/* --------------------------------------------------------------------------------- entry point -- */

/* The host's properties. Valid only during the call of the entry point. */
typedef struct weir_host {
  uint32_t struct_size;
  uint32_t abi_min; /* the oldest and the newest version that the host supports */
  uint32_t abi_max;
} weir_host;

#if defined(_WIN32)
#define WEIR_DRIVER_EXPORT __declspec(dllexport)
#else
#define WEIR_DRIVER_EXPORT __attribute__((visibility("default")))
#endif

#define WEIR_DRIVER_ENTRY_NAME "weir_driver_entry"

/* The one symbol that a driver exports. Chooses the newest version in the host's range that the driver
 * supports. Stores a table that stays valid until the process ends. Without a common version it returns
 * WEIR_ERROR_ABI. It must be quick: it opens no vendor library and accesses no device; device_count may do
 * both. */
typedef weir_result (*weir_driver_entry_function)(const weir_host *host, const weir_driver_table **out_table,
                                                  weir_status *status);
WEIR_DRIVER_EXPORT weir_result weir_driver_entry(const weir_host *host, const weir_driver_table **out_table,
                                                 weir_status *status);

/* ------------------------------------------------------------------------------ layout, asserted -- */

#ifdef __cplusplus
#define WEIR_ABI_ASSERT(condition) static_assert(condition, #condition)
#else
#define WEIR_ABI_ASSERT(condition) _Static_assert(condition, #condition)
#endif
#if UINTPTR_MAX == UINT64_MAX
WEIR_ABI_ASSERT(sizeof(weir_status) == 16 + WEIR_STATUS_NAME_BYTES + WEIR_STATUS_MESSAGE_BYTES);
WEIR_ABI_ASSERT(offsetof(weir_status, vendor_code) == 8);
WEIR_ABI_ASSERT(sizeof(weir_code_target) == 96);
WEIR_ABI_ASSERT(offsetof(weir_device_info, name) == 8);
WEIR_ABI_ASSERT(offsetof(weir_device_info, capabilities) == 312);
WEIR_ABI_ASSERT(offsetof(weir_device_info, code_targets) == 336);
WEIR_ABI_ASSERT(offsetof(weir_device_info, target_features) == 720);
WEIR_ABI_ASSERT(offsetof(weir_device_info, memory_bandwidth) == 1296);
WEIR_ABI_ASSERT(offsetof(weir_device_info, notes) == 1304);
WEIR_ABI_ASSERT(offsetof(weir_device_info, max_threads_per_multiprocessor) == 1816);
WEIR_ABI_ASSERT(offsetof(weir_device_info, dlpack_type) == 1832);
WEIR_ABI_ASSERT(sizeof(weir_device_info) == 1848);
WEIR_ABI_ASSERT(sizeof(weir_stream_options) == 8);
WEIR_ABI_ASSERT(sizeof(weir_memory_options) == 24);
WEIR_ABI_ASSERT(sizeof(weir_external_memory) == 24);
WEIR_ABI_ASSERT(sizeof(weir_memory_info) == 32);
WEIR_ABI_ASSERT(sizeof(weir_code_object) == 48);
WEIR_ABI_ASSERT(sizeof(weir_parameter) == 12);
WEIR_ABI_ASSERT(sizeof(weir_buffer_argument) == 16);
WEIR_ABI_ASSERT(sizeof(weir_kernel_layout) == 24);
WEIR_ABI_ASSERT(sizeof(weir_kernel_info) == 24);
WEIR_ABI_ASSERT(offsetof(weir_launch, flags) == 56);
WEIR_ABI_ASSERT(sizeof(weir_launch) == 64);
WEIR_ABI_ASSERT(sizeof(weir_graph_node) == 96);
WEIR_ABI_ASSERT(sizeof(weir_host) == 12);
WEIR_ABI_ASSERT(offsetof(weir_driver_table, name) == 8);
WEIR_ABI_ASSERT(offsetof(weir_driver_table, device_count) == 32);
WEIR_ABI_ASSERT(offsetof(weir_driver_table, graph_create) == 32 + 36 * sizeof(void *));
WEIR_ABI_ASSERT(offsetof(weir_driver_table, memory_wrap) == 32 + 40 * sizeof(void *));
WEIR_ABI_ASSERT(offsetof(weir_driver_table, code_compile) == 32 + 41 * sizeof(void *));
WEIR_ABI_ASSERT(offsetof(weir_driver_table, kernel_max_cooperative_blocks) == 32 + 42 * sizeof(void *));
WEIR_ABI_ASSERT(sizeof(weir_driver_table) == 32 + 43 * sizeof(void *));
#endif
#undef WEIR_ABI_ASSERT

#ifdef __cplusplus
}
#endif

#endif /* WEIR_DRIVER_H */
