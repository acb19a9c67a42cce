// SPDX-License-Identifier: Apache-2.0
#include "group.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <string>
#include <vector>

namespace weir::mpi {
namespace {

using sdk::format_text;

void copy_bytes(void* to, const void* from, std::uint64_t size) {
  if (size != 0 && to != from) std::memmove(to, from, size);
}

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
  Engine::get().leave(*ranks_);
}

// The first operation of every group: all ranks have joined, with equal options.
void Group::meet(const weir_group_options& options, Clock::time_point until) {
  ranks_->begin("joining the group", Channel::collective, until);
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

void Group::begin(Stream stream, const char* name, std::uint64_t size, std::uint32_t type,
                  std::uint32_t reduction, std::uint32_t root) {
  sdk::refuse_stream(stream);
  ranks_->begin(name, Channel::collective);
  if (!validate_) return;
  Call mine{"", size, type, reduction, root, 1};
  std::snprintf(mine.name, sizeof mine.name, "%s", name);
  compare(mine);
}

void Group::compare(const Call& mine) {
  std::vector<Call> calls(size());
  calls[rank()] = mine;
  gather_bytes(reinterpret_cast<std::byte*>(calls.data()), sizeof(Call));
  const auto words = [&](std::uint32_t of) {
    const Call& call = calls[of];
    return sdk::describe_call(of, {call.name, strnlen(call.name, sizeof call.name)}, call.size, call.type,
                              call.reduction, call.root);
  };
  for (std::uint32_t other = 1; other < size(); ++other)
    if (std::memcmp(&calls[other], &calls[0], sizeof(Call)) != 0)
      ranks_->fail(static_cast<int>(other),
                   "calls differ: " + words(0) + "; " + words(other) + "; all ranks must make the same call");
}

void Group::exchange(std::span<const weir_transfer> transfers, Stream stream) {
  sdk::refuse_stream(stream);
  std::vector<Part> parts;
  std::deque<Part> to_self;
  for (const weir_transfer& transfer : transfers) {
    const Part part{transfer.peer, host_bytes(transfer.memory, "the memory of a transfer"), transfer.size,
                    transfer.receive != 0};
    if (transfer.peer != rank())
      parts.push_back(part);
    else if (!part.receive)
      to_self.push_back(part);
  }
  ranks_->begin("exchange", Channel::exchange);
  for (const weir_transfer& transfer : transfers) {
    if (transfer.peer != rank() || !transfer.receive) continue;
    const std::uint64_t sent = to_self.empty() ? 0 : to_self.front().size;
    if (to_self.empty() || sent != transfer.size)
      ranks_->fail(
          static_cast<int>(rank()),
          format_text("rank %u receives %llu bytes from itself, which sent %llu; both must be equal", rank(),
                      static_cast<unsigned long long>(transfer.size), static_cast<unsigned long long>(sent)));
    copy_bytes(transfer.memory.address, to_self.front().address, sent);
    to_self.pop_front();
  }
  if (!to_self.empty())
    ranks_->fail(static_cast<int>(rank()), format_text("rank %u sends to itself without a receive", rank()));
  ranks_->transfer(parts);
}

void Group::broadcast(const weir_memory& memory, std::uint64_t size, std::uint32_t root, Stream stream) {
  std::byte* const mine = host_bytes(memory, "memory");
  begin(stream, "broadcast", size, 0, 0, root);
  broadcast_bytes(mine, size, root);
}

// Along a binomial tree: a rank receives from the one without its lowest bit, and sends to those with lower
// bits.
void Group::broadcast_bytes(std::byte* memory, std::uint64_t size, std::uint32_t root) {
  const std::uint32_t n = this->size(), place = (rank() + n - root) % n;
  std::uint32_t bit = 1;
  for (; bit < n && !(place & bit); bit <<= 1) {
  }
  if (place != 0) {
    const Part from{(place - bit + root) % n, memory, size, true};
    ranks_->transfer({&from, 1});
  }
  std::vector<Part> parts;
  for (bit >>= 1; bit; bit >>= 1)
    if (place + bit < n) parts.push_back({(place + bit + root) % n, memory, size, false});
  ranks_->transfer(parts);
}

void Group::all_gather(const weir_memory& to, const weir_memory& from, std::uint64_t size, Stream stream) {
  std::byte* const all = host_bytes(to, "destination");
  const std::byte* const mine = host_bytes(from, "source");
  begin(stream, "all_gather", size);
  if (size != 0) copy_bytes(all + rank() * size, mine, size);
  gather_bytes(all, size);
}

// Small parts in as many steps as the number of ranks has bits (Bruck), large ones in one step.
void Group::gather_bytes(std::byte* all, std::uint64_t size) {
  constexpr std::uint64_t small = 1 << 18;
  const std::uint32_t n = this->size();
  if (size > small / n) {
    std::vector<Part> parts;
    for (std::uint32_t step = 1; step < n; ++step) {
      const std::uint32_t to = (rank() + step) % n, from = (rank() + n - step) % n;
      parts.push_back({to, all + rank() * size, size, false});
      parts.push_back({from, all + from * size, size, true});
    }
    return ranks_->transfer(parts);
  }
  std::vector<std::byte> turned(n * size);  // part i is that of rank + i
  if (size != 0) std::memcpy(turned.data(), all + rank() * size, size);
  for (std::uint32_t have = 1; have < n; have *= 2) {
    const std::uint64_t bytes = std::min(have, n - have) * size;
    const Part parts[] = {{(rank() + n - have) % n, turned.data(), bytes, false},
                          {(rank() + have) % n, turned.data() + have * size, bytes, true}};
    ranks_->transfer(parts);
  }
  for (std::uint32_t i = 0; i < n && size != 0; ++i)
    std::memcpy(all + (rank() + i) % n * size, turned.data() + i * size, size);
}

void Group::all_to_all(const weir_memory& to, const weir_memory& from, std::uint64_t size, Stream stream) {
  std::byte* const mixed = host_bytes(to, "destination");
  std::byte* const mine = host_bytes(from, "source");
  begin(stream, "all_to_all", size);
  const std::uint32_t n = this->size();
  if (size != 0) copy_bytes(mixed + rank() * size, mine + rank() * size, size);
  std::vector<Part> parts;
  for (std::uint32_t step = 1; step < n; ++step) {
    const std::uint32_t peer = (rank() + step) % n, source = (rank() + n - step) % n;
    parts.push_back({peer, mine + peer * size, size, false});
    parts.push_back({source, mixed + source * size, size, true});
  }
  ranks_->transfer(parts);
}

// Dissemination: after step k each rank has heard of 2^k others.
void Group::barrier(Stream stream) {
  begin(stream, "barrier", 0);
  const std::uint32_t n = this->size();
  for (std::uint32_t distance = 1; distance < n; distance *= 2) {
    const Part parts[] = {{(rank() + distance) % n, nullptr, 0, false},
                          {(rank() + n - distance) % n, nullptr, 0, true}};
    ranks_->transfer(parts);
  }
}

}  // namespace weir::mpi
