// SPDX-License-Identifier: Apache-2.0
// The functions and objects of libmpi that the communicator uses.
#pragma once

#define OMPI_SKIP_MPICXX 1
#include <mpi.h>

#include <string>

namespace weir::mpi {

struct Api {
  decltype(&MPI_Get_library_version) get_library_version;
  decltype(&MPI_Init_thread) init_thread;
  decltype(&MPI_Initialized) initialized;
  decltype(&MPI_Finalized) finalized;
  decltype(&MPI_Finalize) finalize;
  decltype(&MPI_Query_thread) query_thread;
  decltype(&MPI_Comm_dup) comm_dup;
  decltype(&MPI_Comm_rank) comm_rank;
  decltype(&MPI_Comm_size) comm_size;
  decltype(&MPI_Comm_set_errhandler) comm_set_errhandler;
  decltype(&MPI_Comm_create_keyval) comm_create_keyval;
  decltype(&MPI_Comm_set_attr) comm_set_attr;
  decltype(&MPI_Isend) isend;
  decltype(&MPI_Irecv) irecv;
  decltype(&MPI_Test) test;
  decltype(&MPI_Cancel) cancel;
  decltype(&MPI_Get_count) get_count;
  decltype(&MPI_Error_string) error_string;
  MPI_Comm world, self;
  MPI_Datatype byte;
  MPI_Errhandler errors_return;
};

/// Opens the library on the first call. Fails with WEIR_ERROR_NO_LIBRARY.
const Api& api();

/// The first line of the library's own description.
std::string library_version();

/// Fails with the library's message if `result` is an error of `function`.
void check(int result, const char* function);

}  // namespace weir::mpi
