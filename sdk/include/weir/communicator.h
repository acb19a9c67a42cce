/* SPDX-License-Identifier: Apache-2.0
 *
 * The Weir communicator interface, version 1.1.
 *
 * A communicator moves data between ranks: threads or processes that run one program together. It is a shared
 * object that exports one symbol, `weir_communicator_entry`. The host (libweir) finds, checks, tries and loads it
 * as it does a driver. A communicator needs only this header and <weir/driver.h>, both plain C11.
 *
 * Its manifest is in one of the communicator folders that `weir info` lists. It is that of a driver (see
 * <weir/driver.h>) with the additional key "kind": "communicator". "abi" is the range of versions of this
 * interface. "launched_by" lists the environment variables in which the communicator's launcher gives each
 * process the number of ranks.
 *
 * Rules that hold for every function in the table
 *
 *  - The rules of <weir/driver.h> for results, status, structs, strings, exceptions, output and process exit.
 *    An exit handler may wait for the launcher's other ranks if the launcher demands it (MPI_Finalize), after
 *    a failure at most 10 s.
 *  - Ranks of a group are numbered from 0. Calls that name a rank of the group's size or more return
 *    WEIR_ERROR_INVALID.
 *  - The calls from `exchange` to `barrier` are the operations of a group. Every rank makes the same sequence of
 *    operations, with the same type, count, reduction and root. `exchange` is the exception: it involves only the
 *    ranks that its transfers name. One thread at a time makes operations of one group on one rank.
 *  - Without a stream, an operation returns when it is complete on this rank: its sources may be changed, its
 *    destinations hold the result. On another rank it is complete when that rank's call has returned.
 *  - With a stream (WEIR_COMMUNICATOR_STREAM_ORDER), an operation submits to it and returns. It begins after the
 *    stream's earlier work, and later work of the stream begins after it. The stream is of the device that the rank
 *    joined with, and all memory of the operation is that device's. It counts as waiting when the stream has
 *    reached it. If the group fails, the stream continues, and destinations are undefined.
 *  - If the vendor's library lacks an operation with a stream, such as a reduction of a type, the call
 *    returns WEIR_ERROR_UNSUPPORTED at once on every rank, without effect. The host then moves the data
 *    through host memory.
 *  - No call waits for other ranks longer than the group's limit, which may begin again when a part of a message
 *    is sent or received. Then it returns WEIR_ERROR_RANK. The same code reports a rank that ended, left or
 *    aborted, and, in validating groups, one that made another call. The message names the rank. The group has then
 *    failed, and every later operation on it returns the same error at once.
 *  - group_leave, group_abort and group_get_info may be called from any thread, also during an operation.
 *  - Counts are in elements, offsets and sizes in bytes, times in nanoseconds.
 */
#ifndef WEIR_COMMUNICATOR_H
#define WEIR_COMMUNICATOR_H

#include <weir/driver.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEIR_COMMUNICATOR_CURRENT WEIR_ABI_VERSION(1, 1)

/* Results in addition to enum weir_result_code. */
enum weir_communicator_result_code {
  WEIR_ERROR_RANK = 15 /* another rank ended, aborted, did not answer or made another call; the message names it */
};

/* Opaque to the host: this rank's membership in a group of ranks. */
typedef struct weir_group_t *weir_group;

enum weir_communicator_capability {
  WEIR_COMMUNICATOR_STREAM_ORDER = 1u << 0, /* operations accept a stream of the drivers in `direct` */
  WEIR_COMMUNICATOR_THREADS = 1u << 1,      /* ranks may be threads of one process */
  WEIR_COMMUNICATOR_PROCESSES = 1u << 2     /* ranks may be processes */
};

#define WEIR_MAX_DIRECT_DRIVERS 8

/* Properties of a communicator. Filled up to the struct_size that the caller sets. */
typedef struct weir_communicator_info {
  uint32_t struct_size;
  uint32_t direct_count;       /* of `direct` */
  uint64_t capabilities;       /* enum weir_communicator_capability */
  char library_version[128];   /* of the vendor's library, as the vendor writes it; or "" */
  char direct[WEIR_MAX_DIRECT_DRIVERS][32]; /* drivers whose device memory operations take. Host memory is always
                                              * taken; the host copies other memory to the host first */
  uint32_t launched_rank;      /* of this process, if a launcher started it (mpirun); else 0 */
  uint32_t launched_size;      /* the number of ranks that the launcher started; 0 without a launcher */
  char notes[512];             /* one per line, for `weir info`; or "" */
} weir_communicator_info;

/* A driver's stream, for communicators with WEIR_COMMUNICATOR_STREAM_ORDER. */
typedef struct weir_communicator_stream {
  uint32_t struct_size;
  const char *driver; /* name */
  void *native;       /* as stream_get_native returns it */
} weir_communicator_stream;

/* How this rank joins a group. */
typedef struct weir_group_options {
  uint32_t struct_size;
  uint32_t rank;       /* of the caller */
  uint32_t size;       /* number of ranks, at least 1. 0: rank and size are the launcher's */
  uint32_t validate;   /* 1: every operation compares kind, type, count, reduction and root over all ranks first */
  uint64_t limit;      /* the longest wait for other ranks; 0: 10 s */
  const char *address; /* names the group: equal on its ranks, different for groups that live at the same time. With
                        * WEIR_COMMUNICATOR_THREADS any text. Null: the launcher's group */
  const weir_communicator_stream *device; /* (1.1) any stream of the device whose memory and streams the operations
                        * take; read during the call. Its driver is in `direct`; the ranks have different devices, of
                        * one driver, or all give null. Null: operations take host memory and no streams */
} weir_group_options;

/* The state of a group. Filled up to the struct_size that the caller sets. */
typedef struct weir_group_info {
  uint32_t struct_size;
  uint32_t rank;
  uint32_t size;
  int32_t failed_rank; /* the rank that a failure was traced to; -1 without a failure or if it is not known */
} weir_group_info;

enum weir_scalar_type {
  WEIR_I8 = 0, WEIR_I16 = 1, WEIR_I32 = 2, WEIR_I64 = 3,
  WEIR_U8 = 4, WEIR_U16 = 5, WEIR_U32 = 6, WEIR_U64 = 7,
  WEIR_F16 = 8, WEIR_F32 = 9, WEIR_F64 = 10
};

/* Integers wrap. WEIR_MIN and WEIR_MAX of floats ignore NaN unless all values are NaN. */
enum weir_reduction { WEIR_SUM = 0, WEIR_PRODUCT = 1, WEIR_MIN = 2, WEIR_MAX = 3 };

/* Memory that an operation reads or writes. Never changes, since exchange takes arrays of structs with it. */
typedef struct weir_memory {
  const char *driver;         /* name of the driver of `allocation`; null for host memory */
  weir_allocation allocation; /* null for host memory */
  uint64_t offset;            /* of the first byte in the allocation; 0 for host memory */
  void *address;              /* of the first byte: on the host if driver is null, else on the device */
} weir_memory;

/* One send or receive of `exchange`. Never changes. */
typedef struct weir_transfer {
  uint32_t peer;    /* the other rank; may be the caller's own */
  uint32_t receive; /* 0: send from `memory`, 1: receive into it */
  uint64_t size;    /* in bytes, equal on both sides */
  weir_memory memory;
} weir_transfer;

/* A null slot or a slot past struct_size is missing. All slots are required; a communicator without one of them is
 * refused, and the message names the slot. `stream` is null for an operation that returns when it is complete. */
typedef struct weir_communicator_table {
  uint32_t struct_size;
  uint32_t abi_version; /* the version in use: inside the host's range */
  const char *name;     /* "mpi"; as a driver's name */
  const char *version;  /* of the communicator itself */
  const char *vendor;   /* the communicator's author */

  /* WEIR_ERROR_NO_LIBRARY is an ordinary result; `weir info` prints its message. Must not start the vendor's
   * runtime, but may open the vendor's library and query its version. */
  weir_result (*communicator_get_info)(weir_communicator_info *info, weir_status *status);

  /* Joins a group; returns when all its ranks have joined. After the limit it returns WEIR_ERROR_RANK with
   * the missing ranks. Every rank must give the same size, validate and limit, else all fail with
   * WEIR_ERROR_INVALID. */
  weir_result (*group_join)(const weir_group_options *options, weir_group *out_group, weir_status *status);

  /* Leaves the group and destroys the handle. Operations of other ranks that need this rank fail. No operation of this
   * rank may be in progress. Does not wait for other ranks longer than the limit. */
  weir_result (*group_leave)(weir_group group, weir_status *status);

  /* Makes the group fail on all ranks with WEIR_ERROR_RANK and a message that holds this rank and `reason` (UTF-8, cut
   * at 512 bytes). Does not wait. The first abort wins. */
  weir_result (*group_abort)(weir_group group, const char *reason, weir_status *status);

  weir_result (*group_get_info)(weir_group group, weir_group_info *info, weir_status *status);

  /* Sends and receives as one step: no transfer waits for another one in the list. The n-th send from rank a
   * to rank b meets the n-th receive of b from a. Their sizes must be equal, else the receiver's call, or
   * both, fail. Memory of the transfers must not overlap. */
  weir_result (*exchange)(weir_group group, uint32_t count, const weir_transfer *transfers,
                          const weir_communicator_stream *stream, weir_status *status);

  /* `size` bytes of `root`'s memory replace those of the others. */
  weir_result (*broadcast)(weir_group group, const weir_memory *memory, uint64_t size, uint32_t root,
                           const weir_communicator_stream *stream, weir_status *status);

  /* `size` bytes of each rank; `destination` has room for all, in the order of ranks. The source may be this rank's
   * part of the destination; it must not overlap it otherwise. */
  weir_result (*all_gather)(weir_group group, const weir_memory *destination, const weir_memory *source, uint64_t size,
                            const weir_communicator_stream *stream, weir_status *status);

  /* Reduces arrays of count times the group's size, and gives rank r the r-th part of `count` elements. */
  weir_result (*reduce_scatter)(weir_group group, const weir_memory *destination, const weir_memory *source,
                                uint64_t count, uint32_t type, uint32_t reduction,
                                const weir_communicator_stream *stream, weir_status *status);

  /* Element i of `destination` is the reduction of element i of all sources, with the same bits on all ranks. The
   * order of the reduction is the communicator's. The source may be the destination. */
  weir_result (*all_reduce)(weir_group group, const weir_memory *destination, const weir_memory *source, uint64_t count,
                            uint32_t type, uint32_t reduction, const weir_communicator_stream *stream,
                            weir_status *status);

  /* Part p of `size` bytes of the source goes to rank p; part p of the destination comes from rank p. */
  weir_result (*all_to_all)(weir_group group, const weir_memory *destination, const weir_memory *source, uint64_t size,
                            const weir_communicator_stream *stream, weir_status *status);

  /* Returns, or lets the stream continue, after every rank has called it. Without a stream it first waits until this
   * rank's operations of streams are complete. */
  weir_result (*barrier)(weir_group group, const weir_communicator_stream *stream, weir_status *status);
} weir_communicator_table;

#define WEIR_COMMUNICATOR_ENTRY_NAME "weir_communicator_entry"

/* The one symbol that a communicator exports; as weir_driver_entry. `host` holds the range of versions of this
 * interface. */
typedef weir_result (*weir_communicator_entry_function)(const weir_host *host, const weir_communicator_table **out_table,
                                                        weir_status *status);
WEIR_DRIVER_EXPORT weir_result weir_communicator_entry(const weir_host *host, const weir_communicator_table **out_table,
                                                       weir_status *status);

#ifdef __cplusplus
#define WEIR_COMMUNICATOR_ASSERT(condition) static_assert(condition, #condition)
#else
#define WEIR_COMMUNICATOR_ASSERT(condition) _Static_assert(condition, #condition)
#endif
#if UINTPTR_MAX == UINT64_MAX
WEIR_COMMUNICATOR_ASSERT(sizeof(weir_communicator_info) == 920);
WEIR_COMMUNICATOR_ASSERT(sizeof(weir_group_options) == 40);
WEIR_COMMUNICATOR_ASSERT(sizeof(weir_group_info) == 16);
WEIR_COMMUNICATOR_ASSERT(sizeof(weir_memory) == 32);
WEIR_COMMUNICATOR_ASSERT(sizeof(weir_communicator_stream) == 24);
WEIR_COMMUNICATOR_ASSERT(sizeof(weir_transfer) == 48);
WEIR_COMMUNICATOR_ASSERT(sizeof(weir_communicator_table) == 32 + 12 * sizeof(void *));
#endif
#undef WEIR_COMMUNICATOR_ASSERT

#ifdef __cplusplus
}
#endif

#endif /* WEIR_COMMUNICATOR_H */
