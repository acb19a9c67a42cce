// SPDX-License-Identifier: Apache-2.0
#include "library.hpp"

#include <cstring>
#include <weir/sdk/library.hpp>

namespace weir::mpi {
namespace {

using sdk::EntryPoint;

#define FUNCTION(member, symbol) \
  { offsetof(Api, member), symbol, 3, symbol }
constexpr EntryPoint entry_points[] = {
    FUNCTION(get_library_version, "MPI_Get_library_version"),
    FUNCTION(init_thread, "MPI_Init_thread"),
    FUNCTION(initialized, "MPI_Initialized"),
    FUNCTION(finalized, "MPI_Finalized"),
    FUNCTION(finalize, "MPI_Finalize"),
    FUNCTION(query_thread, "MPI_Query_thread"),
    FUNCTION(comm_dup, "MPI_Comm_dup"),
    FUNCTION(comm_rank, "MPI_Comm_rank"),
    FUNCTION(comm_size, "MPI_Comm_size"),
    FUNCTION(comm_set_errhandler, "MPI_Comm_set_errhandler"),
    FUNCTION(comm_create_keyval, "MPI_Comm_create_keyval"),
    FUNCTION(comm_set_attr, "MPI_Comm_set_attr"),
    FUNCTION(isend, "MPI_Isend"),
    FUNCTION(irecv, "MPI_Irecv"),
    FUNCTION(test, "MPI_Test"),
    FUNCTION(cancel, "MPI_Cancel"),
    FUNCTION(get_count, "MPI_Get_count"),
    FUNCTION(error_string, "MPI_Error_string"),
    // Handles of Open MPI are addresses of the library's objects.
    FUNCTION(world, "ompi_mpi_comm_world"),
    FUNCTION(self, "ompi_mpi_comm_self"),
    FUNCTION(byte, "ompi_mpi_byte"),
    FUNCTION(errors_return, "ompi_mpi_errors_return"),
};
#undef FUNCTION

Api open_library() {
  sdk::Library library = [] {
    try {
      return sdk::Library::open("WEIR_MPI_LIBRARY", std::array{"libmpi.so.40"});
    } catch (const sdk::Failure& failure) {
      sdk::fail(WEIR_ERROR_NO_LIBRARY, "%s; Debian's package libopenmpi3 provides libmpi.so.40",
                failure.message.c_str());
    }
  }();
  Api api{};
  const EntryPoint* missing = sdk::fill_entry_points(
      api, entry_points, [&](const EntryPoint& row) { return library.symbol(row.symbol); });
  if (missing)
    sdk::fail(WEIR_ERROR_NO_LIBRARY,
              "%s has no symbol %s; expected Open MPI 3, 4 or 5 (Debian's package libopenmpi3)",
              library.path().c_str(), missing->symbol);
  return api;
}

}  // namespace

const Api& api() {
  static const Api opened = open_library();
  return opened;
}

std::string library_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  check(api().get_library_version(text, &length), "MPI_Get_library_version");
  text[std::strcspn(text, ",\n")] = '\0';
  return text;
}

void check(int result, const char* function) {
  if (result == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  api().error_string(result, text, &length);
  throw sdk::Failure{WEIR_ERROR_SYSTEM, sdk::format_text("%s failed: %s", function, text), result, text};
}

}  // namespace weir::mpi
