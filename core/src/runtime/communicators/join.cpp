// SPDX-License-Identifier: Apache-2.0
// Groups of ranks: by name and address, or as the environment says.
#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <exception>
#include <limits>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>
#include <weir/communicator.hpp>

#include "driver/environment.hpp"
#include "driver/registry.hpp"
#include "runtime/communicators/group_state.hpp"

namespace weir {
namespace {

constexpr std::uint32_t max_ranks = detail::max_thread_ranks;

/// A thread of run_ranks().
struct Seat {
  std::uint32_t rank = 0, size = 0;
  std::uint64_t run = 0;
  std::uint64_t joined = 0;  ///< groups, which are numbered alike on all ranks
};
thread_local Seat* seat = nullptr;

/// Names a group of threads. Some communicators look for its ranks on the whole machine, where other
/// processes, also those forked from this one, may run groups too.
std::uint64_t random_number() {
  std::uint64_t number = 0;
  if (getrandom(&number, sizeof number, 0) != sizeof number)
    throw Error(ErrorCode::system,
                fmt::format("join: getrandom() is expected to name a group, but failed: {}",
                            std::generic_category().message(errno)));
  return number;
}

/// The number in an environment variable; nothing when it is empty.
std::optional<std::uint32_t> number_in(const char* variable, std::uint32_t least, std::uint32_t most) {
  const std::string text = secure_environment(variable);
  if (text.empty()) return std::nullopt;
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < least || number > most)
    refuse_environment(variable, text, fmt::format("a number from {} to {}", least, most));
  return number;
}

std::uint32_t wanted_ranks() {
  return number_in("WEIR_RANKS", 1, max_ranks).value_or(1);
}

std::string communicator_report() {
  std::string text;
  for (const Candidate& candidate : communicators()) {
    text += fmt::format("\n  {}: {}", candidate.name, to_string(candidate.status));
    if (!candidate.reason.empty()) text += fmt::format(": {}", candidate.reason);
    if (!candidate.remedy.empty()) text += fmt::format("; remedy: {}", candidate.remedy);
  }
  return text.empty() ? " none; `weir info` lists the folders that are searched" : text;
}

}  // namespace

namespace {

const Candidate& usable_communicator(const std::string& name) {
  if (const Candidate* const candidate = find_communicator(name)) return *candidate;
  throw Error(
      ErrorCode::not_found,
      fmt::format("no communicator '{}': no usable communicator has that name. The communicators are:{}",
                  name, communicator_report()));
}

std::unique_ptr<detail::GroupState> join_group(const JoinOptions& options) {
  return std::make_unique<detail::GroupState>(*usable_communicator(options.communicator).communicator,
                                              options);
}

}  // namespace

Communicator join(const JoinOptions& options) try { return Communicator(join_group(options)); } catch (...) {
  detail::rethrow_as_error();
}

namespace {

/// The communicator whose launcher started this process, if there is one.
std::optional<LaunchedCommunicator> launched() {
  std::vector<LaunchedCommunicator> found = launched_communicators();
  if (found.empty()) return std::nullopt;
  const std::string wanted = secure_environment("WEIR_COMMUNICATOR");
  if (found.size() > 1) {  // one launcher may serve several, such as those of two vendors' GPUs
    const auto keep = [&](auto usable) {
      if (std::ranges::any_of(found, usable))
        std::erase_if(found, [&](const auto& one) { return !usable(one); });
    };
    if (!wanted.empty())
      keep([&](const auto& one) { return one.name == wanted; });
    else
      keep([&](const auto& one) { return find_communicator(one.name) != nullptr; });
  }
  const auto& [name, variable, ranks] = found.front();
  if (const std::uint32_t threads = wanted_ranks(); threads != 1)
    throw Error(
        ErrorCode::invalid,
        fmt::format("WEIR_RANKS is {}, which asks for ranks as threads, and {} is {}, which says that a "
                    "launcher of the communicator {} started this process; unset WEIR_RANKS",
                    threads, variable, ranks, name));
  if (found.size() > 1 && found[0].variable != found[1].variable && wanted.empty())
    throw Error(
        ErrorCode::invalid,
        fmt::format("launchers of several communicators started this process: {} is {} (communicator {}), "
                    "and {} is {} (communicator {}); name one with WEIR_COMMUNICATOR or join(options)",
                    variable, ranks, name, found[1].variable, found[1].ranks, found[1].name));
  return std::move(found.front());
}

}  // namespace

namespace {

/// Whether each rank has a device, all of one driver, and no two the same. Two devices of a driver may share
/// a GPU.
bool are_different(std::span<const std::optional<Device>> devices) {
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (!devices[i] || devices[i]->driver() != devices[0]->driver()) return false;
    const std::string& location = devices[i]->info().location;
    for (std::size_t before = 0; before < i; ++before)
      if (*devices[before] == *devices[i] ||
          (!location.empty() && devices[before]->info().location == location))
        return false;
  }
  return true;
}

/// The first communicator for threads that takes the memory of all devices; null without one.
const Candidate* communicator_of(std::span<const std::optional<Device>> devices) {
  for (const Candidate& candidate : communicators())
    if (candidate.status == DriverStatus::usable && candidate.communicator && candidate.communicator_info &&
        (candidate.communicator_info->capabilities & WEIR_COMMUNICATOR_THREADS) &&
        std::ranges::all_of(devices, [&](const auto& device) {
          return detail::takes_memory(*candidate.communicator, *device);
        }))
      return &candidate;
  return nullptr;
}

/// The threads of run_ranks() join `local`. All of them find the same devices there, and so the same better
/// communicator.
Communicator join_threads(JoinOptions options) {
  std::unique_ptr<detail::GroupState> local = join_group(options);
  const auto& devices = local->devices();
  if (devices.size() < 2 || !are_different(devices) ||
      !devices[0]->info().has(Capability::native_stream))  // saves the search: no communicator takes them
    return Communicator(std::move(local));
  const Candidate* const better = communicator_of(devices);
  if (!better) return Communicator(std::move(local));
  options.communicator = better->name;
  try {
    return join(options);
  } catch (const Error& error) {
    throw Error(
        error.code(),
        fmt::format("{}; with WEIR_COMMUNICATOR=local, arrays pass through the host instead", error.what()));
  }
}

/// Joins the group of all ranks.
Communicator join_all(JoinOptions options) {
  constexpr std::uint32_t max_seconds = 86400;
  const std::string limit = secure_environment("WEIR_RANK_LIMIT");
  options.limit = parse_seconds("WEIR_RANK_LIMIT", limit, max_seconds).value_or(options.limit);
  const std::string wanted = secure_environment("WEIR_COMMUNICATOR");
  if (!wanted.empty()) options.communicator = wanted;
  if (seat) {
    options.rank = seat->rank;
    options.size = seat->size;
    options.address = fmt::format("weir ranks {:x}, group {}", seat->run, seat->joined++);
    return wanted.empty() ? join_threads(std::move(options)) : join(options);
  }
  if (const auto by = launched()) {
    if (wanted.empty()) options.communicator = by->name;
    options.size = 0;
    return join(options);
  }
  if (const std::uint32_t ranks = wanted_ranks(); ranks != 1)
    throw Error(
        ErrorCode::invalid,
        fmt::format(
            "WEIR_RANKS is {}, but run_ranks() did not start this thread; call join() in the function "
            "that run_ranks() runs, or unset WEIR_RANKS",
            ranks));
  options.address = fmt::format("weir ranks {:x}, alone", random_number());
  return join(options);
}

}  // namespace

Communicator join() try { return join_all({}); } catch (...) {
  detail::rethrow_as_error();
}

Communicator join(const Device& device) try {
  JoinOptions options;
  options.device = device;
  return join_all(options);
} catch (...) {
  detail::rethrow_as_error();
}

Communicator join(const Device& device, std::chrono::milliseconds limit) try {
  JoinOptions options;
  options.device = device;
  options.limit = limit;
  return join_all(options);
} catch (...) {
  detail::rethrow_as_error();
}

Communicator join(std::chrono::milliseconds limit) try {
  JoinOptions options;
  options.limit = limit;
  return join_all(options);
} catch (...) {
  detail::rethrow_as_error();
}

namespace {

/// Whether the exception being handled says only that another rank failed.
bool is_of_another_rank() {
  try {
    throw;
  } catch (const Error& error) {
    return error.code() == ErrorCode::rank;
  } catch (...) {
    return false;
  }
}

}  // namespace

namespace {

std::uint32_t size_of(const LaunchedCommunicator& by) {
  std::uint32_t ranks = 0;
  std::from_chars(by.ranks.data(), by.ranks.data() + by.ranks.size(), ranks);
  return ranks;
}

/// Runs `rank` in `size` threads.
void run_threads(std::uint32_t size, const std::function<void()>& rank) {
  const std::uint64_t run = random_number();
  std::mutex mutex;
  std::exception_ptr first, consequence;  // of the rank that failed, and of one that learned of it
  const auto body = [&](std::uint32_t number) {
    Seat mine{number, size, run};
    seat = &mine;
    try {
      rank();
    } catch (...) {
      const std::lock_guard lock(mutex);
      std::exception_ptr& kept = is_of_another_rank() ? consequence : first;
      if (!kept) kept = std::current_exception();
    }
    seat = nullptr;
  };
  std::vector<std::jthread> threads;
  threads.reserve(size);
  for (std::uint32_t number = 0; number < size; ++number) threads.emplace_back(body, number);
  threads.clear();
  if (first || consequence) std::rethrow_exception(first ? first : consequence);
}

}  // namespace

void run_ranks(const std::function<void()>& rank) try {
  if (launched()) return rank();
  run_threads(wanted_ranks(), rank);
} catch (...) {
  detail::rethrow_as_error();
}

void run_ranks(std::uint32_t ranks, const std::function<void()>& rank) try {
  if (ranks == 0 || ranks > max_ranks)
    throw Error(ErrorCode::invalid,
                fmt::format("run_ranks: {} ranks are asked for, expected 1 to {}", ranks, max_ranks));
  const auto by = launched();
  if (!by) return run_threads(ranks, rank);
  if (size_of(*by) != ranks)
    throw Error(
        ErrorCode::invalid,
        fmt::format("run_ranks: {} ranks are asked for, and {} is {}: a launcher started this process "
                    "as one of as many; ask for the same number, or for none",
                    ranks, by->variable, by->ranks));
  rank();
} catch (...) {
  detail::rethrow_as_error();
}

namespace {

/// The launchers' variables for the number of ranks, and for this rank's number among those of its machine.
constexpr std::pair<std::string_view, const char*> local_ranks[] = {
    {"WORLD_SIZE", "LOCAL_RANK"},
    {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
    {"SLURM_STEP_NUM_TASKS", "SLURM_LOCALID"}};

/// This process's number among the ranks of its machine; its rank if the launcher does not give it.
std::uint32_t rank_on_machine() {
  const auto by = launched();
  if (!by) return 0;
  for (const auto& [size, local_rank] : local_ranks)
    if (by->variable == size)
      if (const auto number = number_in(local_rank, 0, std::numeric_limits<std::uint32_t>::max()))
        return *number;
  const std::string wanted = secure_environment("WEIR_COMMUNICATOR");
  const Candidate& candidate = usable_communicator(wanted.empty() ? by->name : wanted);
  return candidate.communicator_info ? candidate.communicator_info->launched_rank : 0;
}

}  // namespace

Device open_for_rank(std::string_view name) try {
  const Device first = name.empty() ? open() : open(name);
  const std::uint32_t rank = seat ? seat->rank : rank_on_machine();
  const std::string given = name.empty() ? secure_environment("WEIR_DEVICE") : std::string(name);
  if (rank == 0 || given.find(':') != std::string::npos) return first;
  const std::uint64_t count = find_driver(first.driver())->devices.size();
  return open(fmt::format("{}:{}", first.driver(), (std::uint64_t{first.index()} + rank) % count));
} catch (...) {
  detail::rethrow_as_error();
}

std::uint32_t requested_ranks() try {
  const auto by = launched();
  return by ? size_of(*by) : wanted_ranks();
} catch (...) {
  detail::rethrow_as_error();
}

}  // namespace weir
