/* SPDX-License-Identifier: Apache-2.0
 *
 * The Weir layer interface, version 1.0.
 *
 * A layer is placed between the host (libweir) and a driver. It receives the driver's table and returns
 * another table of the same shape, whose functions add behaviour and call the driver's. A layer is a shared
 * object `libweir-layer-NAME.so` that exports one symbol, `weir_layer_entry`, and is installed in a layer
 * folder. Layer folders are the folder `layers` next to each driver folder that `weir info` lists, and those
 * in WEIR_LAYER_PATH. A layer is plain C11 and needs only this header and driver.h, whose rules also apply to
 * every function here.
 *
 * The host loads a layer once and calls its entry once for each driver that uses the layer. A layer may
 * replace handles, allocations and argument blocks, as long as it obeys driver.h's rules towards the host.
 * Layers serve inspection, testing and counting. A layer that is not requested is not loaded and has no cost.
 */
#ifndef WEIR_LAYER_H
#define WEIR_LAYER_H

#include <weir/driver.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------------------- reports -- */

/* A finding of a layer. Strings are UTF-8 and must stay valid until `report` returns. */
typedef struct weir_layer_report {
  uint32_t struct_size;
  uint32_t reserved;
  const char *layer;   /* its name */
  const char *driver;  /* the name in the driver's table */
  const char *rule;    /* one word that never changes, such as "race"; the layer's docs list them */
  const char *message; /* the finding, the expectation, the remedy */
} weir_layer_report;

/* Called on the thread of the faulty call, or on a thread of the driver; must not call the driver. */
typedef void (*weir_layer_report_function)(void *user, const weir_layer_report *report);

/* ------------------------------------------------------------------------------------ the entry -- */

/* The host's input to a layer. Valid during the call of the entry. The objects it points to, except
 * `options`, are valid until the process ends. */
typedef struct weir_layer_host {
  uint32_t struct_size;
  uint32_t abi_version;          /* of the host's driver.h */
  const weir_driver_table *next; /* table to call: the driver's, or the layer below */
  const char *options;           /* the text after the layer's name in WEIR_LAYERS: "call=fill:nth=2", or "" */
  weir_layer_report_function report;
  void *user; /* passed to `report` */
} weir_layer_host;

/* The layer's results. Filled by the entry up to the struct_size that the host sets. */
typedef struct weir_layer {
  uint32_t struct_size;
  uint32_t reserved;
  const weir_driver_table *table; /* name, version, vendor and abi_version are those of `next`; slots that are null
                                   * there are null here; valid until the process ends */
  void *self;                     /* passed to the functions below */

  /* Replaces the options while the layer is in use. May be null. WEIR_ERROR_INVALID changes nothing; its
   * message names the invalid option. Thread-safe. */
  weir_result (*configure)(void *self, const char *options, weir_status *status);

  /* Reads one of the layer's counters; WEIR_ERROR_NOT_FOUND lists their names. May be null. Thread-safe. */
  weir_result (*get)(void *self, const char *name, uint64_t *out, weir_status *status);
} weir_layer;

#define WEIR_LAYER_ENTRY_NAME "weir_layer_entry"

/* The one symbol that a layer exports. Calls no function of `next`. Returns WEIR_ERROR_ABI if the host's
 * driver.h is newer than the layer supports, and WEIR_ERROR_INVALID, naming the option, if an option is
 * invalid. */
typedef weir_result (*weir_layer_entry_function)(const weir_layer_host *host, weir_layer *out_layer,
                                                 weir_status *status);
WEIR_DRIVER_EXPORT weir_result weir_layer_entry(const weir_layer_host *host, weir_layer *out_layer,
                                                weir_status *status);

/* ------------------------------------------------------------------- the extension weir.annotate -- */

/* driver.h gives the positions of a kernel's arrays in its argument block, but not how the kernel accesses
 * them. A layer that needs this offers the extension below: get_extension returns a
 * weir_annotate_table. A host that finds the extension looks kernels up with get_kernel instead of
 * module_get_kernel. Version 2 adds WEIR_TOUCHED_RANGE, and version 3 WEIR_TOUCHED_WINDOW. A layer with a version
 * must also offer those below it, in which no annotation has such parts. */
#define WEIR_ANNOTATE_EXTENSION "weir.annotate"
#define WEIR_ANNOTATE_VERSION 3u

enum weir_access {
  WEIR_ACCESS_UNKNOWN = 0,    /* not annotated: reads, writes, or neither */
  WEIR_ACCESS_READ = 1u << 0,
  WEIR_ACCESS_WRITE = 1u << 1,
  WEIR_ACCESS_SHARED = 1u << 2 /* allows other shared accesses at the same time: atomics, or declared so by the author.
                                * Two shared accesses are no race. */
};

/* Values of weir_touched.bytes: each launch states the part's offset and size, and with a window also which bytes of
 * each row belong to it, such as some columns of a matrix. */
#define WEIR_TOUCHED_RANGE UINT64_MAX
#define WEIR_TOUCHED_WINDOW (UINT64_MAX - 1)

/* A part of an array that launches of a kernel may access. It has no size field and never changes. */
typedef struct weir_touched {
  uint32_t parameter; /* index in the layout's parameters, of a buffer */
  uint32_t access;    /* enum weir_access */
  uint64_t offset;    /* of the part's first byte from the address in the argument block */
  uint64_t bytes;     /* of the part; 0, WEIR_TOUCHED_RANGE or _WINDOW if each launch states it, see get_kernel */
  const char *name;   /* the array's, for messages: "position"; may be null */
} weir_touched;

typedef struct weir_kernel_annotation {
  uint32_t struct_size;
  uint32_t touched_count;
  const weir_touched *touched; /* buffers not listed here are not accessed */
  const char *name;            /* the user's name of the kernel; null for its name in the module */
  const char *source;          /* position in the source, "river.cpp:120", or null */
} weir_kernel_annotation;

typedef struct weir_annotate_table {
  uint32_t struct_size;
  uint32_t reserved;

  /* Like module_get_kernel; `annotation` is copied. Parts add numbers of type uint64_t to the argument blocks
   * of the kernel's launches. A part whose `bytes` is 0 adds its size. A part whose `bytes` is
   * WEIR_TOUCHED_RANGE adds two: an addend for its offset, and its size, which may be 0. A part whose `bytes`
   * is WEIR_TOUCHED_WINDOW adds five: the same two, then pitch, first and width. Counted from the part's
   * `offset` without the addend, only `width` bytes from `first` on belong to it of each `pitch` bytes; all
   * bytes if the pitch is 0, and otherwise first + width <= pitch. The numbers follow the
   * layout.argument_bytes bytes, in the order of the parts. weir_launch.argument_bytes includes them; the
   * layer removes them. */
  weir_result (*get_kernel)(weir_module module, const char *name, const weir_kernel_layout *layout,
                            const weir_kernel_annotation *annotation, weir_kernel *out_kernel, weir_status *status);
} weir_annotate_table;

/* ------------------------------------------------------------------------------ layout, asserted -- */

#ifdef __cplusplus
#define WEIR_ABI_ASSERT(condition) static_assert(condition, #condition)
#else
#define WEIR_ABI_ASSERT(condition) _Static_assert(condition, #condition)
#endif
#if UINTPTR_MAX == UINT64_MAX
WEIR_ABI_ASSERT(sizeof(weir_layer_report) == 40);
WEIR_ABI_ASSERT(sizeof(weir_layer_host) == 40);
WEIR_ABI_ASSERT(sizeof(weir_layer) == 40);
WEIR_ABI_ASSERT(sizeof(weir_touched) == 32);
WEIR_ABI_ASSERT(sizeof(weir_kernel_annotation) == 32);
WEIR_ABI_ASSERT(sizeof(weir_annotate_table) == 16);
#endif
#undef WEIR_ABI_ASSERT

#ifdef __cplusplus
}
#endif

#endif /* WEIR_LAYER_H */
