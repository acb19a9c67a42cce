/* SPDX-License-Identifier: Apache-2.0
 *
 * The Weir driver interface, ABI version 1.1. What version 1.1 added is marked (1.1).
 *
 * A driver is a shared object that exports one symbol, `weir_driver_entry`. The host (libweir) calls
 * it once, passing the range of ABI versions it speaks, and receives a table of functions or a
 * refusal that says why. This header is all that a driver needs; it is plain C11 and uses nothing
 * but the C library's fixed-width types.
 *
 * Read it top to bottom: results, objects, descriptions, the table, the entry point.
 *
 * A driver is found by its manifest, a JSON file `<name>.json`, at most 64 KiB and 8 levels deep, with no key twice, in
 * one of the driver folders that `weir info` lists; weir_add_driver() of the SDK's CMake package writes it:
 *
 *   { "name": "cuda",                             the table's name
 *     "library": "libweir-cuda.so",               relative to the manifest, inside its folder
 *     "abi": { "min": "1.0", "max": "1.1" },      the ABI versions that the library speaks
 *     "architecture": "x86_64",                   as `uname -m` says it
 *     "vendor_libraries": ["libcuda.so.1"],       what it opens at run time; may be left out
 *     "description": "NVIDIA GPUs",               may be left out
 *     "manifest_version": 1 }                     of this format; may be left out; other keys are ignored
 *
 * Rules that hold for every function in the table
 *
 *  - A function returns a weir_result. On failure it also fills `*status` when `status` is not null:
 *    a sentence, and the vendor's own code and name when there is one. It leaves outputs untouched.
 *  - Nothing aborts, exits, prints, or lets a C++ exception or longjmp cross the table.
 *  - A process that has loaded a driver ends by itself and soon: what the driver leaves to run at exit neither crashes
 *    nor waits, and no process that it started by fork alone stays behind.
 *  - Every function may be called from any thread, and for one object from several threads at once,
 *    except that nothing else may run on an object while it is destroyed. Calls that submit to one
 *    stream from several threads take effect one after the other in an unspecified order.
 *  - The host holds no lock during a call, but that it may keep other threads from submitting to the same stream. A
 *    driver that blocks in one call must let calls on other threads go on.
 *  - "Submits" means: returns without waiting for the work, which runs in the stream's order; with 500 pieces outstanding, a
 *    driver may wait for room. It may keep submitted work back until `stream_flush`, which the host calls before it or anyone
 *    else waits; with or without a flush, submitted work starts within a bounded time.
 *  - Pointers that are passed in are read before the call returns unless stated otherwise. Objects
 *    that come out belong to the caller, who gives them back with the matching destroy function.
 *  - Every struct begins with `struct_size`, set by the side that fills it. A reader never reads past
 *    that size and takes what is missing as zero. Structs only grow, at the end. The three that stand in arrays and
 *    in argument blocks (weir_code_target, weir_parameter, weir_buffer_argument) have no size and never change.
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

/* An ABI version is major << 16 | minor. A new major breaks; a new minor appends to structs and to
 * the table and changes nothing that was there. */
#define WEIR_ABI_VERSION(major, minor) (((uint32_t)(major) << 16) | (uint32_t)(minor))
#define WEIR_ABI_MAJOR(version) ((uint32_t)(version) >> 16)
#define WEIR_ABI_MINOR(version) ((uint32_t)(version)&0xffffu)
#define WEIR_ABI_CURRENT WEIR_ABI_VERSION(1, 1)

/* ----------------------------------------------------------------------------------- results -- */

typedef int32_t weir_result; /* one of enum weir_result_code; the numbers never change */

enum weir_result_code {
  WEIR_OK = 0,
  WEIR_NOT_READY = 1,            /* a query: the work is not done yet; not a failure */
  WEIR_ERROR_UNKNOWN = 2,        /* anything that fits no other code */
  WEIR_ERROR_INVALID = 3,        /* an argument is wrong; the message names it */
  WEIR_ERROR_UNSUPPORTED = 4,    /* this driver or device cannot do that */
  WEIR_ERROR_ABI = 5,            /* no common ABI version */
  WEIR_ERROR_NO_DEVICE = 6,      /* the vendor's runtime is there, a device is not */
  WEIR_ERROR_NO_LIBRARY = 7,     /* the vendor's runtime library is missing or too old */
  WEIR_ERROR_OUT_OF_MEMORY = 8,  /* device memory, or host memory as the message says */
  WEIR_ERROR_CODE_OBJECT = 9,    /* a code object was refused; the message holds the loader's log */
  WEIR_ERROR_NOT_FOUND = 10,     /* no such kernel or extension */
  WEIR_ERROR_LAUNCH = 11,        /* a launch was refused or failed */
  WEIR_ERROR_ILLEGAL_ADDRESS = 12, /* device code touched memory that is not its own */
  WEIR_ERROR_DEVICE_LOST = 13,   /* this device answers nothing else from now on */
  WEIR_ERROR_SYSTEM = 14         /* the operating system refused: threads, files, permissions */
};

#define WEIR_STATUS_NAME_BYTES 64
#define WEIR_STATUS_MESSAGE_BYTES 1024

/* Says what went wrong. Owned by the caller, who sets struct_size; filled only on failure. Strings
 * are UTF-8, always terminated, cut at a character when too long. */
typedef struct weir_status {
  uint32_t struct_size;
  weir_result code;                            /* what the function returned */
  int64_t vendor_code;                         /* the vendor's number, 0 if there is none */
  char vendor_name[WEIR_STATUS_NAME_BYTES];    /* the vendor's name for it, or "" */
  char message[WEIR_STATUS_MESSAGE_BYTES];     /* what failed, what was expected, what was found */
} weir_status;

/* ----------------------------------------------------------------------------------- objects -- */

/* Opaque to the host; a driver defines them as it likes. All belong to the device they were made on. */
typedef struct weir_device_t *weir_device;
typedef struct weir_stream_t *weir_stream;
typedef struct weir_event_t *weir_event;
typedef struct weir_allocation_t *weir_allocation;
typedef struct weir_module_t *weir_module;
typedef struct weir_kernel_t *weir_kernel; /* lives as long as its module */
typedef struct weir_graph_t *weir_graph;   /* (1.1) */

/* ------------------------------------------------------------------------------ capabilities -- */

/* What a device offers beyond the required part. A bit and its table slots agree: a set bit means that
 * the slots named work, a clear bit that they answer WEIR_ERROR_UNSUPPORTED. */
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
  WEIR_CAP_GRAPHS = 1u << 9                     /* (1.1) graph_create and the other graph functions */
  /* External handles take bits and slots of their own in the minor version that defines them. */
};

/* How kernels of a device take arrays; see weir_parameter. */
enum weir_argument_style {
  WEIR_ARGUMENT_ADDRESS = 0, /* an 8-byte device address */
  WEIR_ARGUMENT_BUFFER = 1   /* a 16-byte weir_buffer_argument, for drivers that bind buffers */
};

/* ------------------------------------------------------------------------------- descriptions -- */

enum weir_device_kind { WEIR_DEVICE_CPU = 0, WEIR_DEVICE_INTEGRATED = 1, WEIR_DEVICE_DISCRETE = 2, WEIR_DEVICE_OTHER = 3 };

/* One code object format that a device loads, and the newest target of it: {"ptx", "sm_90"}. A device
 * lists the formats it prefers first. Targets are the words that LLVM uses for -mcpu. */
typedef struct weir_code_target {
  char format[32];  /* "elf-x86_64", "ptx", "cubin", "hsaco", "spirv-vulkan", "opencl-c", ... */
  char target[64];  /* "znver3", "sm_90", "gfx942", "vulkan1.3", ... or "" where the format has none */
} weir_code_target;

#define WEIR_MAX_CODE_TARGETS 4

/* What a device is. Filled by device_get_info up to the struct_size that the caller sets. */
typedef struct weir_device_info {
  uint32_t struct_size;
  uint32_t kind;                   /* enum weir_device_kind */
  char name[128];                  /* "NVIDIA H200" */
  char vendor[64];
  char driver_version[64];         /* of the vendor's runtime, as the vendor writes it */
  char location[32];               /* PCI address "0000:41:00.0", or "" */
  uint8_t uuid[16];                /* all zero when the device has none */
  uint64_t capabilities;           /* enum weir_capability */
  uint64_t total_memory;
  uint32_t argument_style;         /* enum weir_argument_style */
  uint32_t code_target_count;
  weir_code_target code_targets[WEIR_MAX_CODE_TARGETS];
  char target_features[512];       /* LLVM's -mattr for code_targets[0], or "" */
  uint32_t multiprocessors;        /* cores of a CPU */
  uint32_t lanes;                  /* threads that execute together: warp, wavefront; 1 on a CPU */
  uint32_t max_block_threads;      /* product over the block's dimensions */
  uint32_t max_block[3];
  uint32_t max_grid[3];
  uint32_t max_shared_bytes;       /* per block, static and dynamic together */
  uint32_t max_argument_bytes;     /* of a launch's argument block */
  uint32_t memory_alignment;       /* every allocation is aligned to this many bytes, at least 64 */
  int32_t min_priority;            /* the numerically largest, least urgent one */
  int32_t max_priority;            /* the numerically smallest, most urgent one */
  uint32_t recommended_streams;    /* how many can make progress at once; 0 if not known */
  uint32_t max_registers_per_multiprocessor; /* 0 where that means nothing */
  uint64_t memory_bandwidth;       /* bytes per second as the vendor states it, 0 if not known */
  char notes[512];                 /* fallbacks in use, one per line, for `weir info`; or "" */
  /* (1.1) What limits how many blocks a multiprocessor holds at once; 0 where that means nothing. */
  uint32_t max_threads_per_multiprocessor;
  uint32_t max_blocks_per_multiprocessor;
  uint32_t shared_bytes_per_multiprocessor;
  uint32_t max_registers_per_block;
} weir_device_info;

typedef struct weir_stream_options {
  uint32_t struct_size;
  int32_t priority; /* smaller is more urgent, 0 the default; clamped to max_priority ... min_priority of the device */
} weir_stream_options;

enum weir_event_flags { WEIR_EVENT_PLAIN = 0, WEIR_EVENT_TIMED = 1 };

enum weir_memory_kind {
  WEIR_MEMORY_DEVICE = 0,
  WEIR_MEMORY_PINNED = 1 /* host memory that device code reads and writes and that copies use at full speed */
};

typedef struct weir_memory_options {
  uint32_t struct_size;
  uint32_t kind;      /* enum weir_memory_kind */
  uint64_t size;      /* at least 1 */
  uint64_t alignment; /* power of two; 0 means memory_alignment */
} weir_memory_options;

/* Where an allocation lies; see memory_get_info. */
typedef struct weir_memory_info {
  uint32_t struct_size;
  uint32_t kind;           /* enum weir_memory_kind, as it was asked for */
  uint64_t size;           /* as it was asked for, however much lies behind it */
  uint64_t device_address; /* with WEIR_CAP_DEVICE_ADDRESS where kernels see the first byte, never 0; else 0 */
  void *host_pointer;      /* where the host sees the first byte; non-null when the host may touch the memory while no work
                            * uses it, which holds for all pinned memory */
} weir_memory_info;

typedef struct weir_code_object {
  uint32_t struct_size;
  const char *format; /* as in weir_code_target */
  const char *target;
  const void *data;   /* copied or consumed before module_load returns */
  uint64_t size;
  const char *name;   /* for messages and profilers; may be null */
} weir_code_object;

enum weir_parameter_kind {
  WEIR_PARAMETER_VALUE = 0,  /* `size` bytes, taken as they are */
  WEIR_PARAMETER_BUFFER = 1  /* an array: 8 bytes of address, or a weir_buffer_argument, by the device's argument_style */
};

/* One parameter of a kernel. */
typedef struct weir_parameter {
  uint32_t offset; /* in the argument block; a multiple of the parameter's alignment */
  uint32_t size;
  uint32_t kind;   /* enum weir_parameter_kind */
} weir_parameter;

/* How an array stands in the argument block for drivers with WEIR_ARGUMENT_BUFFER. There is no array without memory: an
 * empty one is any allocation, at any offset up to its size. A launch or node whose allocation is null answers
 * WEIR_ERROR_INVALID, since not every runtime can bind nothing. With WEIR_ARGUMENT_ADDRESS the driver does not look at
 * addresses: 0 reaches the kernel, which must not follow it. */
typedef struct weir_buffer_argument {
  weir_allocation allocation; /* not null, of the launch's device */
  uint64_t offset;            /* where the array begins, at most the allocation's size */
} weir_buffer_argument;

/* A kernel's argument block, described once when the kernel is looked up. */
typedef struct weir_kernel_layout {
  uint32_t struct_size;
  uint32_t argument_bytes; /* size of the block */
  uint32_t parameter_count;
  const weir_parameter *parameters;
} weir_kernel_layout;

/* What the driver knows of a kernel after loading; zero means not known. See kernel_get_info. */
typedef struct weir_kernel_info {
  uint32_t struct_size;
  uint32_t max_block_threads; /* that a block of this kernel may have, at most the device's; more is refused at launch */
  uint32_t registers;         /* per thread */
  uint32_t shared_bytes;      /* static, per block; with dynamic_shared_bytes at most the device's max_shared_bytes */
  uint32_t local_bytes;       /* spill and stack, per thread */
  uint32_t lanes;             /* threads that execute together, as the device says */
} weir_kernel_info;

typedef struct weir_launch {
  uint32_t struct_size;
  uint32_t grid[3];  /* blocks, each at least 1 */
  uint32_t block[3]; /* threads of a block, each at least 1 */
  uint32_t dynamic_shared_bytes;
  uint32_t argument_bytes;
  weir_kernel kernel;
  const void *arguments; /* `argument_bytes` bytes, copied before kernel_launch returns */
} weir_launch;

/* Runs on a thread of the driver when the stream reaches it; must not call the driver. The stream goes
 * on when it returns. */
typedef void (*weir_host_callback)(void *user);

/* (1.1) What a node of a graph does; each kind is the call of the same name, without a stream. */
enum weir_graph_node_kind {
  WEIR_GRAPH_EMPTY = 0,          /* nothing: joins what it depends on */
  WEIR_GRAPH_KERNEL = 1,         /* launch */
  WEIR_GRAPH_COPY_TO_DEVICE = 2, /* host_source, destination, destination_offset, size */
  WEIR_GRAPH_COPY_TO_HOST = 3,   /* host_destination, source, source_offset, size */
  WEIR_GRAPH_COPY_ON_DEVICE = 4, /* destination, destination_offset, source, source_offset, size */
  WEIR_GRAPH_FILL = 5            /* destination, destination_offset, size, pattern, pattern_size */
};

/* (1.1) One node. Fields that its kind does not name are ignored. Dependencies, launches with their arguments, and
 * patterns are the caller's again when graph_create or graph_update returns; host memory of copies is read and written
 * each time the graph runs, and stays valid until its last run is done. */
typedef struct weir_graph_node {
  uint32_t struct_size;
  uint32_t kind;                /* enum weir_graph_node_kind */
  uint32_t dependency_count;
  uint32_t pattern_size;
  const uint32_t *dependencies; /* nodes that end before this one begins: indices below its own */
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

/* A driver fills struct_size with the size of the table it was compiled with. Slots past it and null
 * slots are replaced by the host with functions that answer WEIR_ERROR_UNSUPPORTED. Required slots are
 * marked (required); a driver that lacks one is refused with the slot's name. */
typedef struct weir_driver_table {
  uint32_t struct_size;
  uint32_t abi_version; /* the version in use: inside the host's range */

  const char *name;     /* "cpu"; up to 32 of a-z, 0-9 and '-' (not first); the word for WEIR_DEVICE and --device */
  const char *version;  /* of the driver itself */
  const char *vendor;   /* who made the driver */

  /* -- devices -- */

  /* (required) How many devices there are now. WEIR_ERROR_NO_LIBRARY and WEIR_ERROR_NO_DEVICE are
   * ordinary answers; the message becomes the driver's line in `weir info`. May block while the
   * vendor's runtime starts. */
  weir_result (*device_count)(uint32_t *out_count, weir_status *status);

  /* (required) Opens device `index`; opening one device twice gives the same device, counted. */
  weir_result (*device_open)(uint32_t index, weir_device *out_device, weir_status *status);

  /* (required) Gives one opening back. Objects of the device must have been destroyed. May block until
   * its work is done. */
  weir_result (*device_close)(weir_device device, weir_status *status);

  /* (required) Does not touch the device's streams. */
  weir_result (*device_get_info)(uint32_t index, weir_device_info *info, weir_status *status);

  /* (required) Memory that is free and that exists now, as the vendor's runtime sees it. */
  weir_result (*device_get_memory)(weir_device device, uint64_t *out_free, uint64_t *out_total, weir_status *status);

  /* -- streams: in-order queues that never wait for one another unless told to -- */

  /* (required) A new stream of `device`, with nothing submitted to it and in no order with any other, the vendor's default
   * stream included. Null `options` mean priority 0; without [STREAM_PRIORITY] priorities are accepted and have no effect.
   * May block, even until work of other streams is done, when the vendor's runtime has to make room for one more. The
   * caller gives the stream back with stream_destroy, before the device is closed. WEIR_ERROR_OUT_OF_MEMORY or
   * WEIR_ERROR_SYSTEM when there can be no more streams; then nothing was made. */
  weir_result (*stream_create)(weir_device device, const weir_stream_options *options, weir_stream *out_stream,
                               weir_status *status);

  /* (required) Never blocks: work that was submitted completes, then the stream goes away. */
  weir_result (*stream_destroy)(weir_stream stream, weir_status *status);

  /* (required) Starts whatever was kept back. Does not block. */
  weir_result (*stream_flush)(weir_stream stream, weir_status *status);

  /* (required) WEIR_OK when all submitted work is done, WEIR_NOT_READY when not, or the stream's error. */
  weir_result (*stream_query)(weir_stream stream, weir_status *status);

  /* (required) Starts whatever was kept back on this stream, then blocks until the work submitted before the call is
   * done; returns the stream's error. */
  weir_result (*stream_synchronize)(weir_stream stream, weir_status *status);

  /* (required) Submits: later work of `stream` begins after what `event` marked when this was called.
   * An event that was never recorded has no effect. The event may be of another device of this driver
   * or answer WEIR_ERROR_UNSUPPORTED. */
  weir_result (*stream_wait_event)(weir_stream stream, weir_event event, weir_status *status);

  /* [HOST_CALLBACK] Submits a call of `callback(user)`. */
  weir_result (*stream_host_callback)(weir_stream stream, weir_host_callback callback, void *user, weir_status *status);

  /* [NATIVE_STREAM] Makes a stream of a vendor handle (a CUstream) without owning it. The caller keeps
   * the handle alive until the weir_stream is destroyed; stream_destroy leaves the handle alone. */
  weir_result (*stream_wrap)(weir_device device, void *native, weir_stream *out_stream, weir_status *status);

  /* [NATIVE_STREAM] The vendor's handle, owned by the stream. */
  weir_result (*stream_get_native)(weir_stream stream, void **out_native, weir_status *status);

  /* -- events: marks in a stream; recorded as often as one likes -- */

  /* (required) WEIR_EVENT_TIMED needs [TIMED_EVENTS]. */
  weir_result (*event_create)(weir_device device, uint32_t flags, weir_event *out_event, weir_status *status);

  /* (required) Never blocks; waits that were submitted on it still hold. */
  weir_result (*event_destroy)(weir_event event, weir_status *status);

  /* (required) Submits a mark behind the stream's work so far, replacing the earlier mark. */
  weir_result (*event_record)(weir_event event, weir_stream stream, weir_status *status);

  /* (required) WEIR_OK when the last mark was reached or there is none, else WEIR_NOT_READY. */
  weir_result (*event_query)(weir_event event, weir_status *status);

  /* (required) Blocks until the last mark is reached; returns at once when there is none. */
  weir_result (*event_synchronize)(weir_event event, weir_status *status);

  /* [TIMED_EVENTS] Nanoseconds from `start` to `end`, both timed and reached; WEIR_NOT_READY before
   * that, WEIR_ERROR_INVALID when one was never recorded. */
  weir_result (*event_elapsed)(weir_event start, weir_event end, double *out_nanoseconds, weir_status *status);

  /* -- memory -- */

  /* (required) May block. */
  weir_result (*memory_allocate)(weir_device device, const weir_memory_options *options, weir_allocation *out_allocation,
                                 weir_status *status);

  /* (required) No submitted work may still use the memory. Takes what either allocate function gave. */
  weir_result (*memory_free)(weir_allocation allocation, weir_status *status);

  /* [STREAM_ORDERED_ALLOCATION] The allocation is usable by work submitted to `stream` after this, and
   * by other streams behind an event recorded after it. Does not block. */
  weir_result (*memory_allocate_async)(weir_stream stream, const weir_memory_options *options,
                                       weir_allocation *out_allocation, weir_status *status);

  /* [STREAM_ORDERED_ALLOCATION] Submits the freeing; the handle is dead for the host at once. */
  weir_result (*memory_free_async)(weir_stream stream, weir_allocation allocation, weir_status *status);

  /* (required) Where a live allocation of either allocate function lies: the same at every call until it is freed, and known
   * at once for memory that only later work of a stream may use. Fills `info` as far as the struct_size that the caller set,
   * and nothing behind that. The address is a multiple of the alignment that was asked for; argument blocks hold it, or it
   * and an offset of at most the size. The host reads and writes through host_pointer itself, with no call to
   * the driver, and sees what work did that it has waited for. Both are worth nothing once the allocation is freed.
   * Waits for no submitted work. */
  weir_result (*memory_get_info)(weir_allocation allocation, weir_memory_info *info, weir_status *status);

  /* -- copies and fills: ranges lie inside their allocations or WEIR_ERROR_INVALID is answered before
   *    anything is submitted; a size of 0 does nothing -- */

  /* (required) Submits. `source` must stay valid and unchanged until the stream has passed the copy. */
  weir_result (*copy_to_device)(weir_stream stream, weir_allocation destination, uint64_t destination_offset,
                                const void *source, uint64_t size, weir_status *status);

  /* (required) Submits. `destination` must stay valid until the stream has passed the copy. */
  weir_result (*copy_to_host)(weir_stream stream, void *destination, weir_allocation source, uint64_t source_offset,
                              uint64_t size, weir_status *status);

  /* (required) Submits. Both on the stream's device; ranges that overlap answer WEIR_ERROR_INVALID. */
  weir_result (*copy_on_device)(weir_stream stream, weir_allocation destination, uint64_t destination_offset,
                                weir_allocation source, uint64_t source_offset, uint64_t size, weir_status *status);

  /* [PEER_COPY] Submits to a stream of either device. */
  weir_result (*copy_peer)(weir_stream stream, weir_allocation destination, uint64_t destination_offset,
                           weir_allocation source, uint64_t source_offset, uint64_t size, weir_status *status);

  /* (required) Submits: repeats `pattern` over the range. pattern_size is 1, 2, 4, 8 or 16 and divides
   * offset and size. */
  weir_result (*fill)(weir_stream stream, weir_allocation destination, uint64_t offset, uint64_t size,
                      const void *pattern, uint32_t pattern_size, weir_status *status);

  /* -- code -- */

  /* (required) May block while the vendor compiles. Refuses with WEIR_ERROR_CODE_OBJECT, naming the
   * format and target it was given and those it loads. */
  weir_result (*module_load)(weir_device device, const weir_code_object *object, weir_module *out_module,
                             weir_status *status);

  /* (required) No submitted work may still use its kernels. */
  weir_result (*module_unload)(weir_module module, weir_status *status);

  /* (required) WEIR_ERROR_NOT_FOUND names the kernel. `layout` is copied. Looking one kernel up twice
   * with one layout gives the same kernel. */
  weir_result (*module_get_kernel)(weir_module module, const char *name, const weir_kernel_layout *layout,
                                   weir_kernel *out_kernel, weir_status *status);

  /* (required) What loading has shown of a kernel whose module is loaded: the same at every call. Fills `info` as far as the
   * struct_size that the caller set, and nothing behind that; a driver that knows nothing leaves zeros there and answers
   * WEIR_OK. The host sizes blocks and grids by it. Waits for no submitted work. */
  weir_result (*kernel_get_info)(weir_kernel kernel, weir_kernel_info *info, weir_status *status);

  /* (required) Submits. A grid or block dimension of 0, or one past the device's limits, answers
   * WEIR_ERROR_INVALID. Failures on the device surface at a later call on the stream. */
  weir_result (*kernel_launch)(weir_stream stream, const weir_launch *launch, weir_status *status);

  /* -- extensions -- */

  /* A function table that `name` names, at least of `version`, or WEIR_ERROR_NOT_FOUND. */
  weir_result (*get_extension)(const char *name, uint32_t version, const void **out_table, weir_status *status);

  /* -- graphs (1.1): work that is described once and submitted often, with one call -- */

  /* [GRAPHS] Makes a graph of `count` nodes, at least 1, that is ready to be launched. Nodes that do not depend on one
   * another may run at once. Arguments are checked as by the calls that the nodes stand for, before anything is
   * made. Allocations and modules that it names must live until its last launch is done. May block. */
  weir_result (*graph_create)(weir_device device, uint32_t count, const weir_graph_node *const *nodes,
                              weir_graph *out_graph, weir_status *status);

  /* [GRAPHS] Gives node `index` new parameters for later launches; launches that were submitted keep theirs. Its kind and
   * kernel stay what they were, and so do its dependencies, which are not read: another kind or kernel answers
   * WEIR_ERROR_INVALID. WEIR_ERROR_UNSUPPORTED, with nothing changed, when the vendor cannot change just that; the host
   * then makes a new graph. Does not block. The caller keeps update, launch and destroy of one graph apart. */
  weir_result (*graph_update)(weir_graph graph, uint32_t index, const weir_graph_node *node, weir_status *status);

  /* [GRAPHS] Submits one run of the graph to a stream of its device: it begins after the stream's earlier work and ends
   * before its later work. Runs of one graph never overlap, whatever their streams. */
  weir_result (*graph_launch)(weir_graph graph, weir_stream stream, weir_status *status);

  /* [GRAPHS] Never blocks; runs that were submitted complete. */
  weir_result (*graph_destroy)(weir_graph graph, weir_status *status);
} weir_driver_table;

/* --------------------------------------------------------------------------------- entry point -- */

/* What the host tells a driver. Valid only during the call of the entry point. */
typedef struct weir_host {
  uint32_t struct_size;
  uint32_t abi_min; /* the oldest and the newest version that the host speaks */
  uint32_t abi_max;
} weir_host;

#if defined(_WIN32)
#define WEIR_DRIVER_EXPORT __declspec(dllexport)
#else
#define WEIR_DRIVER_EXPORT __attribute__((visibility("default")))
#endif

#define WEIR_DRIVER_ENTRY_NAME "weir_driver_entry"

/* The one symbol that a driver exports. Picks the newest version inside the host's range that the driver
 * speaks and stores a table that stays valid for the life of the process; with none in common it returns
 * WEIR_ERROR_ABI. It must be quick: no vendor library is opened and no device touched before
 * device_count. */
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
WEIR_ABI_ASSERT(sizeof(weir_device_info) == 1832);
WEIR_ABI_ASSERT(sizeof(weir_stream_options) == 8);
WEIR_ABI_ASSERT(sizeof(weir_memory_options) == 24);
WEIR_ABI_ASSERT(sizeof(weir_memory_info) == 32);
WEIR_ABI_ASSERT(sizeof(weir_code_object) == 48);
WEIR_ABI_ASSERT(sizeof(weir_parameter) == 12);
WEIR_ABI_ASSERT(sizeof(weir_buffer_argument) == 16);
WEIR_ABI_ASSERT(sizeof(weir_kernel_layout) == 24);
WEIR_ABI_ASSERT(sizeof(weir_kernel_info) == 24);
WEIR_ABI_ASSERT(sizeof(weir_launch) == 56);
WEIR_ABI_ASSERT(sizeof(weir_graph_node) == 96);
WEIR_ABI_ASSERT(sizeof(weir_host) == 12);
WEIR_ABI_ASSERT(offsetof(weir_driver_table, name) == 8);
WEIR_ABI_ASSERT(offsetof(weir_driver_table, device_count) == 32);
WEIR_ABI_ASSERT(offsetof(weir_driver_table, graph_create) == 32 + 36 * sizeof(void *));
WEIR_ABI_ASSERT(sizeof(weir_driver_table) == 32 + 40 * sizeof(void *));
#endif
#undef WEIR_ABI_ASSERT

#ifdef __cplusplus
}
#endif

#endif /* WEIR_DRIVER_H */
