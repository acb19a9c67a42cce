// SPDX-License-Identifier: Apache-2.0
#include "launch.hpp"

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <weir/sdk/status.hpp>

namespace weir::mpi {
namespace {

std::optional<std::uint32_t> number(const char* variable) {
  const char* text = secure_getenv(variable);
  if (!text || !*text) return std::nullopt;
  std::uint32_t value = 0;
  const char* end = text + std::strlen(text);
  if (const auto [rest, error] = std::from_chars(text, end, value); error != std::errc() || rest != end)
    sdk::fail(WEIR_ERROR_INVALID, "%s is '%.64s'; expected a number, as a launcher sets it", variable, text);
  return value;
}

std::string text_of(const char* variable) {
  const char* text = secure_getenv(variable);
  return text ? text : "";
}

/// A launcher's variables for the rank and the number of ranks.
struct Variables {
  const char *rank, *size;
  bool serves_open_mpi;
};
// srun sets the number of a step's tasks; mpirun in a Slurm job inherits it from its own step and sets its
// own variables. PMI_* are those of MPICH and of its relatives.
constexpr Variables launchers[] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", true},
                                   {"PMIX_RANK", "SLURM_STEP_NUM_TASKS", true},
                                   {"PMI_RANK", "PMI_SIZE", false},
                                   {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", false}};

}  // namespace

Launch read_launch() {
  Launch launch;
  for (const Variables& launcher : launchers) {
    const auto rank = number(launcher.rank), size = number(launcher.size);
    if (!rank || !size) continue;
    launch = {*rank, *size, sdk::format_text("%s=%u, %s=%u", launcher.rank, *rank, launcher.size, *size), {}};
    launch.usable = launcher.serves_open_mpi || *size == 1;
    break;
  }
  if (launch.size == 0) return {};
  if (launch.rank >= launch.size)
    sdk::fail(WEIR_ERROR_INVALID, "the environment has %s; expected a rank below the number of ranks",
              launch.by.c_str());
  if (const std::string job = text_of("PMIX_NAMESPACE"); !job.empty())
    launch.job = job + "/" + text_of("PMIX_SERVER_URI2");
  launch.one_machine = !launch.job.empty() && number("OMPI_COMM_WORLD_LOCAL_SIZE") == launch.size;
  return launch;
}

}  // namespace weir::mpi
