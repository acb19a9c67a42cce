/* SPDX-License-Identifier: Apache-2.0
 *
 * The Weir layer interface, version 1.0.
 *
 * A layer stands between the host (libweir) and a driver. It takes the driver's table and gives out another one of
 * the same shape, whose functions do something of their own and call the driver's. It is a shared object
 * `libweir-layer-NAME.so` that exports one symbol, `weir_layer_entry`, and lies in a layer folder: `layers`
 * beside each folder of drivers that `weir info` lists, and what WEIR_LAYER_PATH names. Plain C11; it needs
 * nothing but this header and driver.h, whose rules hold for every function here too.
 *
 * The host loads a layer once and calls its entry once for each driver that it is put over. Handles, allocations and
 * argument blocks pass through a layer as it likes, as long as the host sees a driver that keeps driver.h's rules.
 * Layers are for looking, testing and counting: one that is not asked for is not loaded and costs nothing.
 */
#ifndef WEIR_LAYER_H
#define WEIR_LAYER_H

#include <weir/driver.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------------------- reports -- */

/* What a layer has found. Strings are UTF-8, read before `report` returns. */
typedef struct weir_layer_report {
  uint32_t struct_size;
  uint32_t reserved;
  const char *layer;   /* its name */
  const char *driver;  /* the name in the driver's table */
  const char *rule;    /* one word that never changes, such as "race"; the layer's docs list them */
  const char *message; /* what was found, what was expected, what to do */
} weir_layer_report;

/* Called on the thread whose call is at fault, at times on a thread of the driver; must not call the driver. */
typedef void (*weir_layer_report_function)(void *user, const weir_layer_report *report);

/* ------------------------------------------------------------------------------------ the entry -- */

/* What the host gives a layer. Valid during the call of the entry; what the pointers name is valid for the life of the
 * process, but for `options`. */
typedef struct weir_layer_host {
  uint32_t struct_size;
  uint32_t abi_version;          /* of driver.h, that the host speaks */
  const weir_driver_table *next; /* what to call: the driver's table, or that of the layer below */
  const char *options;           /* what follows the layer's name in WEIR_LAYERS: "call=fill:nth=2", or "" */
  weir_layer_report_function report;
  void *user; /* to be passed to `report` */
} weir_layer_host;

/* What a layer gives back. Filled by the entry up to the struct_size that the host sets. */
typedef struct weir_layer {
  uint32_t struct_size;
  uint32_t reserved;
  const weir_driver_table *table; /* name, version, vendor and abi_version are those of `next`; slots that are null
                                   * there are null here; valid for the life of the process */
  void *self;                     /* to be passed to the functions below */

  /* Replaces the options while the layer is in use. May be null. WEIR_ERROR_INVALID changes nothing; the message
   * names the word that is wrong. Thread-safe. */
  weir_result (*configure)(void *self, const char *options, weir_status *status);

  /* A number that the layer keeps, by name; WEIR_ERROR_NOT_FOUND lists the names. May be null. Thread-safe. */
  weir_result (*get)(void *self, const char *name, uint64_t *out, weir_status *status);
} weir_layer;

#define WEIR_LAYER_ENTRY_NAME "weir_layer_entry"

/* The one symbol that a layer exports. Calls no function of `next`. WEIR_ERROR_ABI when the host speaks a newer
 * driver.h than the layer knows, WEIR_ERROR_INVALID naming the option that is wrong. */
typedef weir_result (*weir_layer_entry_function)(const weir_layer_host *host, weir_layer *out_layer,
                                                 weir_status *status);
WEIR_DRIVER_EXPORT weir_result weir_layer_entry(const weir_layer_host *host, weir_layer *out_layer,
                                                weir_status *status);

/* ------------------------------------------------------------------- the extension weir.annotate -- */

/* driver.h says where a kernel's arrays stand in its argument block, and not what the kernel does to them. A layer that
 * wants to know has this extension, version 1, which get_extension gives out as a weir_annotate_table. A host that finds
 * it looks kernels up with get_kernel below instead of module_get_kernel. */
#define WEIR_ANNOTATE_EXTENSION "weir.annotate"
#define WEIR_ANNOTATE_VERSION 1u

enum weir_access {
  WEIR_ACCESS_UNKNOWN = 0,    /* reads, writes, or neither: nobody said */
  WEIR_ACCESS_READ = 1u << 0,
  WEIR_ACCESS_WRITE = 1u << 1,
  WEIR_ACCESS_SHARED = 1u << 2 /* in a way that allows others to do the same at the same time: atomics, or because
                                * the author said so; two shared accesses are no race */
};

/* A part of an array that launches of a kernel may touch. Has no size of its own and never changes. */
typedef struct weir_touched {
  uint32_t parameter; /* index in the layout's parameters, of a buffer */
  uint32_t access;    /* enum weir_access */
  uint64_t offset;    /* of the part's begin, from the address in the argument block */
  uint64_t bytes;     /* of the part; 0 when each launch says it, see get_kernel */
  const char *name;   /* the array's, for messages: "position"; may be null */
} weir_touched;

typedef struct weir_kernel_annotation {
  uint32_t struct_size;
  uint32_t touched_count;
  const weir_touched *touched; /* buffers that are not named here are not touched */
  const char *name;            /* what users call the kernel; null for its name in the module */
  const char *source;          /* where it was written, "river.cpp:120", or null */
} weir_kernel_annotation;

typedef struct weir_annotate_table {
  uint32_t struct_size;
  uint32_t reserved;

  /* As module_get_kernel; `annotation` is copied. For each part whose `bytes` is 0, in order, the argument blocks of
   * the kernel's launches have a uint64_t with that number behind their layout.argument_bytes bytes, which
   * weir_launch.argument_bytes counts too; the layer takes them off. */
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
