// SPDX-License-Identifier: Apache-2.0
#include "driver/probe/probe_communicator.hpp"

#include <fmt/ranges.h>

#include "driver/communicator_plugin.hpp"
#include "driver/probe/probe_steps.hpp"

namespace weir {
namespace {

constexpr PluginKind kind = PluginKind::communicator;
constexpr std::uint64_t known_capabilities =
    WEIR_COMMUNICATOR_STREAM_ORDER | WEIR_COMMUNICATOR_THREADS | WEIR_COMMUNICATOR_PROCESSES;

weir_communicator_info describe(const CommunicatorPlugin& communicator, const Manifest& manifest) {
  weir_communicator_info info{};
  info.struct_size = sizeof info;
  Status status;
  const weir_result result = call_plugin(kind, "communicator_get_info", [&] {
    return communicator.table().communicator_get_info(&info, &status);
  });
  if (result == WEIR_ERROR_NO_LIBRARY)
    refuse(DriverStatus::no_vendor_library, describe_failure(result, status),
           manifest.vendor_libraries.empty()
               ? "install the vendor's library to use this communicator"
               : fmt::format("install the package that provides {} to use this communicator",
                             fmt::join(manifest.vendor_libraries, " or ")));
  if (result != WEIR_OK) refuse_failure(kind, "it cannot describe itself", result, status);
  terminate_texts(info);
  if (info.direct_count > WEIR_MAX_DIRECT_DRIVERS)
    refuse(DriverStatus::broken,
           fmt::format("it takes the memory of {} drivers directly; at most {} are expected",
                       info.direct_count, WEIR_MAX_DIRECT_DRIVERS),
           tell_author(kind));
  if (!(info.capabilities & known_capabilities & ~std::uint64_t{WEIR_COMMUNICATOR_STREAM_ORDER}))
    refuse(DriverStatus::broken, "its ranks can be neither threads nor processes; one of the two is expected",
           tell_author(kind));
  return info;
}

}  // namespace

void terminate_texts(weir_communicator_info& info) {
  terminate(info.library_version);
  terminate(info.notes);
  for (auto& driver : info.direct) terminate(driver);
}

void take_communicator(Candidate& candidate, const Manifest& manifest, void* entry,
                       const std::function<void(ProbeStep)>& begin) {
  candidate.communicator = take_table<CommunicatorPlugin, weir_communicator_table>(kind, entry);
  const CommunicatorPlugin& communicator = *candidate.communicator;
  check_name(kind, communicator, manifest);
  candidate.identity = {communicator.version(), communicator.vendor(), communicator.abi_version(), {}};
  begin(ProbeStep::describe);
  candidate.communicator_info = describe(communicator, manifest);
}

}  // namespace weir
