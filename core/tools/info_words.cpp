// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <weir/communicator.h>
#include <weir/driver.h>

#include <algorithm>
#include <system_error>

#include "driver/discovery/plugin_kind.hpp"
#include "folder_names.hpp"
#include "info_report.hpp"

namespace weir::tool {
namespace {

constexpr CapabilityWords capabilities[] = {
    {WEIR_CAP_CONCURRENT_STREAMS, "concurrent_streams", "run streams concurrently"},
    {WEIR_CAP_GRAPHS, "graphs", "run graphs"},
    {WEIR_CAP_STREAM_ORDERED_ALLOCATION, "stream_ordered_allocation", "allocate in stream order"},
    {WEIR_CAP_TIMED_EVENTS, "timed_events", "time events"},
    {WEIR_CAP_STREAM_PRIORITY, "stream_priority", "rank streams by priority"},
    {WEIR_CAP_HOST_CALLBACK, "host_callback", "call the host from a stream"},
    {WEIR_CAP_PINNED_MEMORY, "pinned_memory", "pin host memory"},
    {WEIR_CAP_PEER_COPY, "peer_copy", "copy between its devices"},
    {WEIR_CAP_DEVICE_ADDRESS, "device_address", "give device addresses"},
    {WEIR_CAP_NATIVE_STREAM, "native_stream", "share streams with other libraries"},
    {WEIR_CAP_EXTERNAL_MEMORY, "external_memory", "use memory of other libraries"},
    {WEIR_CAP_CODE_COMPILE, "code_compile", "keep compiled code"},
    {WEIR_CAP_COOPERATIVE_LAUNCH, "cooperative_launch", "cooperative launches"},
};

constexpr CapabilityWords communicator_capabilities[] = {
    {WEIR_COMMUNICATOR_THREADS, "threads", "join threads of a process"},
    {WEIR_COMMUNICATOR_PROCESSES, "processes", "join processes"},
    {WEIR_COMMUNICATOR_STREAM_ORDER, "stream_order", "submit to a driver's streams"},
};

}  // namespace

std::span<const CapabilityWords> all_capabilities() {
  return capabilities;
}

std::span<const CapabilityWords> all_communicator_capabilities() {
  return communicator_capabilities;
}

bool any_usable(std::span<const Candidate> candidates) {
  return std::any_of(candidates.begin(), candidates.end(), [](const Candidate& candidate) {
    return candidate.kind == PluginKind::driver && candidate.status == DriverStatus::usable;
  });
}

std::string folder_state(const SearchFolder& folder, std::span<const Candidate> candidates) {
  if (!folder.ignored.empty()) return "ignored: " + folder.ignored;
  if (std::string why = why_unreadable(folder.path); !why.empty()) return why;
  const auto count = std::count_if(candidates.begin(), candidates.end(), [&](const Candidate& candidate) {
    return candidate.manifest.parent_path() == folder.path;
  });
  const PluginTerms& terms = terms_of(folder.kind);
  if (count == 0) return fmt::format("no {}", terms.plural);
  return fmt::format("{} {}", count, count == 1 ? terms.name : terms.plural);
}

const char* status_key(DriverStatus status) {
  switch (status) {
    case DriverStatus::usable:
      return "usable";
    case DriverStatus::no_device:
      return "no_device";
    case DriverStatus::no_vendor_library:
      return "no_vendor_library";
    case DriverStatus::wrong_architecture:
      return "wrong_architecture";
    case DriverStatus::abi_refused:
      return "abi_refused";
    case DriverStatus::untrusted:
      return "untrusted";
    case DriverStatus::shadowed:
      return "shadowed";
    case DriverStatus::wrong_setting:
      return "wrong_setting";
    case DriverStatus::broken:
      return "broken";
  }
  return "broken";
}

const char* probe_key(ProbePlace place) {
  switch (place) {
    case ProbePlace::nowhere:
      return "no";
    case ProbePlace::child:
      return "in_child";
    case ProbePlace::before:
      return "before";
    case ProbePlace::this_process:
      return "in_process";
  }
  return "no";
}

const char* kind_word(std::uint32_t kind) {
  switch (kind) {
    case WEIR_DEVICE_CPU:
      return "CPU";
    case WEIR_DEVICE_INTEGRATED:
      return "integrated GPU";
    case WEIR_DEVICE_DISCRETE:
      return "GPU";
    default:
      return "other device";
  }
}

}  // namespace weir::tool
