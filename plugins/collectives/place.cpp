// SPDX-License-Identifier: Apache-2.0
#include "place.hpp"

#include <unistd.h>

#include <atomic>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <optional>
#include <string_view>
#include <weir/sdk/status.hpp>

namespace weir::collectives {
namespace {

using sdk::format_text;

std::string text_of(const char* variable) {
  const char* text = secure_getenv(variable);
  return text ? text : "";
}

std::optional<std::uint32_t> number(const char* variable) {
  const std::string text = text_of(variable);
  if (text.empty()) return std::nullopt;
  std::uint32_t value = 0;
  const char* end = text.data() + text.size();
  if (const auto [rest, error] = std::from_chars(text.data(), end, value);
      error != std::errc() || rest != end)
    sdk::fail(WEIR_ERROR_INVALID, "%s is '%.64s'; expected a number, as a launcher sets it", variable,
              text.c_str());
  return value;
}

/// A name in the abstract namespace of Unix sockets, which has no files that could remain. Only processes of
/// this user are accepted there.
std::string unix_meeting(std::string_view text) {
  return format_text("unix:weir-ranks/%u/%zx", static_cast<unsigned>(getuid()),
                     std::hash<std::string_view>{}(text));
}

struct Launcher {
  const char *rank, *size, *local_size;  ///< local_size: ranks on this machine
  std::string job;
};

/// WEIR_RENDEZVOUS and JoinOptions::address have this form. Other texts name a group of one machine.
std::string meeting_of(const std::string& address, const char* source) {
  for (const auto& [scheme, kind] : {std::pair{"tcp://", "tcp:"}, std::pair{"file://", "file:"}}) {
    if (!address.starts_with(scheme)) continue;
    const std::string rest = address.substr(std::strlen(scheme));
    const std::size_t colon = rest.rfind(':');
    unsigned port = 0;
    if (std::string_view(kind) == "tcp:" &&
        (colon == 0 || colon == rest.npos ||
         std::from_chars(rest.data() + colon + 1, rest.data() + rest.size(), port).ptr !=
             rest.data() + rest.size() ||
         port == 0 || port > 65535))
      sdk::fail(WEIR_ERROR_INVALID, "%s is '%.200s'; expected tcp://HOST:PORT with a port from 1 to 65535",
                source, address.c_str());
    if (std::string_view(kind) == "file:" && !rest.starts_with('/'))
      sdk::fail(WEIR_ERROR_INVALID, "%s is '%.200s'; expected file:///PATH, a path that all ranks can read",
                source, address.c_str());
    return kind + rest;
  }
  return unix_meeting(address);
}

}  // namespace

Place read_launch() {
  const std::string port = text_of("MASTER_PORT");
  const Launcher launchers[] = {
      {"RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", text_of("TORCHELASTIC_RUN_ID") + "/" + port},
      {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE",
       text_of("PMIX_NAMESPACE") + "/" + text_of("PMIX_SERVER_URI2")},
      {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_STEP_TASKS_PER_NODE",
       text_of("SLURM_JOB_ID") + "/" + text_of("SLURM_STEP_ID")}};
  for (const Launcher& launcher : launchers) {
    const auto rank = number(launcher.rank), size = number(launcher.size);
    if (!rank || !size) continue;
    Place place;
    place.rank = *rank;
    place.size = *size;
    place.by = format_text("%s=%u, %s=%u", launcher.rank, *rank, launcher.size, *size);
    if (*rank >= *size)
      sdk::fail(WEIR_ERROR_INVALID, "the environment has %s; expected a rank below the number of ranks",
                place.by.c_str());
    if (const std::string given = text_of("WEIR_RENDEZVOUS"); !given.empty())
      place.meeting = meeting_of(given, "WEIR_RENDEZVOUS");
    else if (text_of(launcher.local_size) == std::to_string(*size))
      place.meeting = unix_meeting(launcher.job);
    else if (const std::string host = text_of("MASTER_ADDR"); !host.empty() && !port.empty())
      // torchrun's own store may listen on MASTER_PORT.
      place.meeting = meeting_of("tcp://" + host + ":" + std::to_string(number("MASTER_PORT").value() + 1),
                                 "MASTER_ADDR and MASTER_PORT");
    return place;
  }
  return {};
}

Place place_of(const weir_group_options& options) {
  static std::atomic<std::uint32_t> groups{0};
  const bool of_launcher = options.size == 0 || !options.address;
  Place place = of_launcher ? read_launch() : Place{};
  if (!of_launcher) {
    place.rank = options.rank;
    place.size = options.size;
    place.meeting = meeting_of(options.address, "the group's address");
    return place;
  }
  if (place.size == 0) {
    if (options.size > 1)
      sdk::fail(
          WEIR_ERROR_INVALID,
          "options.size is %u, without an address, and no launcher started this process: the environment "
          "has none of WORLD_SIZE, OMPI_COMM_WORLD_SIZE and SLURM_STEP_NUM_TASKS. Start the program with "
          "torchrun, mpirun or srun, or give an address",
          options.size);
    place.size = 1;
  } else if (options.size != 0 && (options.size != place.size || options.rank != place.rank)) {
    sdk::fail(WEIR_ERROR_INVALID,
              "options name rank %u of %u; the launcher started this process as rank %u of %u (%s). Expected "
              "its numbers, or a size of 0",
              options.rank, options.size, place.rank, place.size, place.by.c_str());
  }
  if (options.address && *options.address) place.meeting = meeting_of(options.address, "the group's address");
  if (place.size > 1 && place.meeting.empty())
    sdk::fail(WEIR_ERROR_INVALID,
              "the ranks run on several machines (%s), and the launcher gives no address at which they meet; "
              "set WEIR_RENDEZVOUS=tcp://HOST:PORT with the host of rank 0, or file:///PATH on a shared disk",
              place.by.c_str());
  place.number = ++groups;
  return place;
}

}  // namespace weir::collectives
