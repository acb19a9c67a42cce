// SPDX-License-Identifier: Apache-2.0
#include <weir/sdk/library.hpp>

#include "nccl.hpp"
#include "vendor.hpp"

namespace weir::collectives {
namespace {

using sdk::EntryPoint;
constexpr int oldest = 2700;  // 2.7: send and receive

#define FUNCTION(member, symbol, need) \
  { offsetof(NcclApi, member), symbol, oldest, symbol, EntryPoint::need }
constexpr EntryPoint nccl_functions[] = {
    FUNCTION(get_version, "ncclGetVersion", required),
    FUNCTION(get_unique_id, "ncclGetUniqueId", required),
    FUNCTION(get_error_string, "ncclGetErrorString", required),
    FUNCTION(get_last_error, "ncclGetLastError", optional),
    FUNCTION(comm_init_rank, "ncclCommInitRank", required),
    FUNCTION(comm_abort, "ncclCommAbort", required),
    FUNCTION(comm_get_async_error, "ncclCommGetAsyncError", required),
    FUNCTION(all_reduce, "ncclAllReduce", required),
    FUNCTION(broadcast, "ncclBroadcast", required),
    FUNCTION(reduce_scatter, "ncclReduceScatter", required),
    FUNCTION(all_gather, "ncclAllGather", required),
    FUNCTION(send, "ncclSend", required),
    FUNCTION(receive, "ncclRecv", required),
    FUNCTION(group_start, "ncclGroupStart", required),
    FUNCTION(group_end, "ncclGroupEnd", required),
};
#undef FUNCTION

/// NCCL counted 2.8.4 as 2804, and 2.9.6 as 20906.
std::string version_text(int version) {
  const int major = version < 10000 ? 1000 : 10000;
  return sdk::format_text("%d.%d.%d", version / major, version % major / 100, version % 100);
}

NcclApi open_nccl() {
  sdk::Library library = [] {
    try {
      return sdk::Library::open(vendor.variable, vendor.libraries);
    } catch (const sdk::Failure& failure) {
      sdk::fail(WEIR_ERROR_NO_LIBRARY, "%s; %s", failure.message.c_str(), vendor.remedy);
    }
  }();
  NcclApi api{};
  const EntryPoint* missing = sdk::fill_entry_points(
      api, nccl_functions, [&](const EntryPoint& row) { return library.symbol(row.symbol); });
  int version = 0;
  if (api.get_version) api.get_version(&version);
  if (missing || version < oldest)
    sdk::fail(WEIR_ERROR_NO_LIBRARY, "%s is %s %s%s%s; expected %s 2.7 or newer. Install a newer one: %s",
              library.path().c_str(), vendor.product,
              version ? version_text(version).c_str() : "of an unknown version", missing ? " without " : "",
              missing ? missing->symbol : "", vendor.product, vendor.remedy);
  return api;
}

}  // namespace

const NcclApi& nccl() {
  static const NcclApi opened = open_nccl();
  return opened;
}

std::string nccl_version() {
  int version = 0;
  check_nccl(nccl().get_version(&version), "ncclGetVersion");
  return version_text(version);
}

void check_nccl(int result, const char* function, NcclComm comm) {
  if (result == nccl_success || result == nccl_in_progress) return;
  const char* const last = nccl().get_last_error ? nccl().get_last_error(comm) : nullptr;
  throw sdk::Failure{WEIR_ERROR_SYSTEM,
                     sdk::format_text("%s failed: %s%s%s", function, nccl().get_error_string(result),
                                      last && *last ? ": " : "", last ? last : ""),
                     result, ""};
}

}  // namespace weir::collectives
