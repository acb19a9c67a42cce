// SPDX-License-Identifier: Apache-2.0
// The part of NCCL's C interface that the communicators use, which RCCL shares: the functions, numbers and
// the unique id of NVIDIA's public documentation "NCCL API", as of NCCL 2.7. No header of NCCL is needed to
// build.
#pragma once

#include <cstddef>
#include <string>

#include "rendezvous.hpp"

namespace weir::collectives {

using NcclComm = struct ncclComm*;

enum NcclResult : int { nccl_success = 0, nccl_remote_error = 6, nccl_in_progress = 7 };

struct NcclUniqueId {
  UniqueId internal;
};
static_assert(sizeof(NcclUniqueId) == 128);

enum NcclType : int {
  nccl_i8 = 0,
  nccl_u8 = 1,
  nccl_i32 = 2,
  nccl_u32 = 3,
  nccl_i64 = 4,
  nccl_u64 = 5,
  nccl_f16 = 6,
  nccl_f32 = 7,
  nccl_f64 = 8
};

enum NcclReduction : int { nccl_sum = 0, nccl_product = 1, nccl_max = 2, nccl_min = 3 };

struct NcclApi {
  int (*get_version)(int* version);
  int (*get_unique_id)(NcclUniqueId* id);
  const char* (*get_error_string)(int result);
  const char* (*get_last_error)(NcclComm comm);  ///< optional, since 2.13
  int (*comm_init_rank)(NcclComm* comm, int ranks, NcclUniqueId id, int rank);
  int (*comm_abort)(NcclComm comm);
  int (*comm_get_async_error)(NcclComm comm, int* result);
  int (*all_reduce)(const void* from, void* to, std::size_t count, int type, int reduction, NcclComm comm,
                    void* stream);
  int (*broadcast)(const void* from, void* to, std::size_t count, int type, int root, NcclComm comm,
                   void* stream);
  int (*reduce_scatter)(const void* from, void* to, std::size_t count, int type, int reduction, NcclComm comm,
                        void* stream);
  int (*all_gather)(const void* from, void* to, std::size_t count, int type, NcclComm comm, void* stream);
  int (*send)(const void* from, std::size_t count, int type, int peer, NcclComm comm, void* stream);
  int (*receive)(void* to, std::size_t count, int type, int peer, NcclComm comm, void* stream);
  int (*group_start)();
  int (*group_end)();
};

/// Opens the vendor's library on the first call. Throws a Failure with WEIR_ERROR_NO_LIBRARY if it is
/// missing, lacks a function, or is older than 2.7.
const NcclApi& nccl();

/// "2.28.9"
std::string nccl_version();

/// Throws a Failure with the library's message if `result` is an error of `function`.
void check_nccl(int result, const char* function, NcclComm comm = nullptr);

}  // namespace weir::collectives
