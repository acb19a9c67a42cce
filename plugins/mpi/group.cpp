// SPDX-License-Identifier: Apache-2.0
#include "group.hpp"

#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace weir::mpi {
namespace {

/// The launcher's ranks, or a group of one without a launcher.
Launch place_of(const weir_group_options& options) {
  Launch launch = read_launch();
  if (launch.size == 0) {
    if (options.size > 1)
      sdk::fail(
          WEIR_ERROR_INVALID,
          "options.size is %u, but no launcher started this process: the environment has none of "
          "OMPI_COMM_WORLD_SIZE, PMIX_RANK and SLURM_STEP_NUM_TASKS; start the program with mpirun -np %u",
          options.size, options.size);
    launch.size = 1;
    return launch;
  }
  if (options.size != 0 && (options.size != launch.size || options.rank != launch.rank))
    sdk::fail(
        WEIR_ERROR_INVALID,
        "options name rank %u of %u; the launcher started this process as rank %u of %u (%s). Expected its "
        "numbers, or a size of 0",
        options.rank, options.size, launch.rank, launch.size, launch.by.c_str());
  if (!launch.usable)
    sdk::fail(WEIR_ERROR_INVALID,
              "a launcher that does not serve Open MPI started this process (%s); start the program with "
              "Open MPI's "
              "mpirun, or with srun --mpi=pmix",
              launch.by.c_str());
  return launch;
}

}  // namespace

std::shared_ptr<Group> Group::join(const weir_group_options& options) {
  const Launch launch = place_of(options);
  const std::chrono::nanoseconds limit(options.limit);
  const auto until = Clock::now() + limit;
  if (launch.size > 1) Engine::get().start(launch, until, static_cast<double>(options.limit) * 1e-9);
  auto ranks = std::make_shared<Membership>(launch.rank, launch.size, limit);
  Engine::get().enter(ranks);
  auto group = std::make_shared<Group>(ranks, options.validate != 0);
  try {
    group->meet(options, until);
  } catch (...) {
    Engine::get().leave(*ranks);
    throw;
  }
  return group;
}

void Group::leave() {
  Engine::get().leave(*membership_);
}

// The first operation of every group: all ranks have joined, with equal options.
void Group::meet(const weir_group_options& options, Clock::time_point until) {
  membership_->begin("joining the group", sdk::Channel::collective, until);
  struct Options {
    std::uint64_t limit, address;
    std::uint32_t validate, reserved;
  };
  const std::string address = options.address ? options.address : "";
  std::vector<Options> all(size());
  all[rank()] = {options.limit, std::hash<std::string>{}(address), options.validate != 0 ? 1u : 0u, 0};
  gather_bytes(reinterpret_cast<std::byte*>(all.data()), sizeof(Options));
  for (std::uint32_t other = 1; other < size(); ++other)
    if (std::memcmp(&all[other], &all[0], sizeof(Options)) != 0)
      sdk::fail(WEIR_ERROR_INVALID,
                "rank %u joins with limit %g s and validate %u; rank 0 with limit %g s and validate %u%s. "
                "All ranks "
                "must give the same",
                other, static_cast<double>(all[other].limit) * 1e-9, all[other].validate,
                static_cast<double>(all[0].limit) * 1e-9, all[0].validate,
                all[other].address != all[0].address ? ", and another address" : "");
}

}  // namespace weir::mpi
