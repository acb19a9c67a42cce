// SPDX-License-Identifier: Apache-2.0
#include "driver/registry.hpp"

#include <fmt/format.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <memory>
#include <weir/error.hpp>

#include "driver/discovery/discovery.hpp"
#include "driver/discovery/search_path.hpp"
#include "driver/environment.hpp"

namespace weir {
namespace {

namespace fs = std::filesystem;

struct LetOthers {
  void operator()(std::atomic<pid_t>* looking) const noexcept {
    looking->store(0);
    looking->notify_all();
  }
};
using Look = std::unique_ptr<std::atomic<pid_t>, LetOthers>;

// The process's candidates of each kind. Never destroyed, because handles that outlive main still use their
// driver.
constinit std::array<std::atomic<Discovery*>, 2> discoveries{};

std::atomic<Discovery*>& discovery(PluginKind kind) {
  return discoveries[static_cast<std::size_t>(kind)];
}

// The process with a thread that is searching, or 0. Stored as a process id, because a child that is forked
// during the search inherits the lock without the thread.
constinit std::atomic<pid_t> looking{0};

// Other threads of this process wait here until the result is destroyed.
Look begin_to_look() {
  const pid_t self = getpid();
  for (pid_t other = 0; !looking.compare_exchange_strong(other, self); other = 0) {
    if (other != self)
      throw Error(
          ErrorCode::system,
          "this process was forked while another thread looked for drivers, which do not work in the child; "
          "start the child with exec, or open a device before the fork or only after it");
    looking.wait(self);
  }
  return Look(&looking);
}

// Must be called by the searching thread.
Discovery& process_discovery(PluginKind kind) {
  std::atomic<Discovery*>& found = discovery(kind);
  if (!found.load(std::memory_order_relaxed))
    found.store(
        new Discovery(plugin_search_path(kind), current_probe_policy(), Discovery::Purpose::use, kind),
        std::memory_order_release);
  return *found.load(std::memory_order_relaxed);
}

const std::vector<Candidate>& plugins(PluginKind kind) {
  if (const Discovery* known = discovery(kind).load(std::memory_order_acquire); known && known->all_known())
    return known->candidates();
  const Look lock = begin_to_look();
  Discovery& mine = process_discovery(kind);
  mine.examine();
  return mine.candidates();
}

const Candidate* find_plugin(PluginKind kind, std::string_view name) {
  if (const Discovery* known = discovery(kind).load(std::memory_order_acquire))
    if (const auto plugin = known->known(name)) return *plugin;
  const Look lock = begin_to_look();
  Discovery& mine = process_discovery(kind);
  mine.examine(name);
  return mine.known(name).value_or(nullptr);
}

}  // namespace

std::string_view to_string(DriverStatus status) noexcept {
  switch (status) {
    case DriverStatus::usable:
      return "usable";
    case DriverStatus::no_device:
      return "no device";
    case DriverStatus::no_vendor_library:
      return "vendor library missing";
    case DriverStatus::wrong_architecture:
      return "wrong architecture";
    case DriverStatus::abi_refused:
      return "ABI refused";
    case DriverStatus::untrusted:
      return "not trusted";
    case DriverStatus::shadowed:
      return "shadowed";
    case DriverStatus::wrong_setting:
      return "wrong setting";
    case DriverStatus::broken:
      return "broken";
  }
  return "broken";
}

std::vector<Candidate> find_drivers(std::span<const fs::path> folders, const ProbePolicy& policy,
                                    PluginKind kind) {
  Discovery discovery(folders, policy, Discovery::Purpose::use, kind);
  discovery.examine();
  return std::move(discovery).take();
}

std::vector<Candidate> inspect_drivers(std::span<const fs::path> folders, const ProbePolicy& policy,
                                       PluginKind kind) {
  Discovery discovery(folders, policy, Discovery::Purpose::inspect, kind);
  discovery.examine();
  return std::move(discovery).take();
}

std::vector<Candidate> inspect_drivers() try {
  return inspect_drivers(driver_search_path(), current_probe_policy());
} catch (...) {
  detail::rethrow_as_error();
}

std::vector<Candidate> inspect_communicators() try {
  constexpr PluginKind kind = PluginKind::communicator;
  return inspect_drivers(plugin_search_path(kind), current_probe_policy(), kind);
} catch (...) {
  detail::rethrow_as_error();
}

std::string forget_probes() try {
  const fs::path file = current_probe_policy().verdicts;
  if (file.empty() || unlink(file.c_str()) == 0 || errno == ENOENT || errno == ENOTDIR) return {};
  return fmt::format("{} cannot be removed: {}", file.string(), strerrordesc_np(errno));
} catch (...) {
  detail::rethrow_as_error();
}

const std::vector<Candidate>& drivers() try { return plugins(PluginKind::driver); } catch (...) {
  detail::rethrow_as_error();
}

const Candidate* find_driver(std::string_view name) {
  return find_plugin(PluginKind::driver, name);
}

const std::vector<Candidate>& communicators() try { return plugins(PluginKind::communicator); } catch (...) {
  detail::rethrow_as_error();
}

const Candidate* find_communicator(std::string_view name) {
  return find_plugin(PluginKind::communicator, name);
}

// Only examine() changes candidates, and it changes neither names nor variables.
std::vector<LaunchedCommunicator> launched_communicators() {
  constexpr PluginKind kind = PluginKind::communicator;
  const Discovery* known = discovery(kind).load(std::memory_order_acquire);
  if (!known) {
    const Look lock = begin_to_look();
    known = &process_discovery(kind);
  }
  std::vector<LaunchedCommunicator> launched;
  for (const Candidate& candidate : known->candidates()) {
    if (std::ranges::any_of(launched, [&](const auto& one) { return one.name == candidate.name; })) continue;
    for (const std::string& variable : candidate.launched_by)
      if (std::string ranks = secure_environment(variable.c_str()); !ranks.empty() && ranks != "1") {
        launched.push_back({candidate.name, variable, std::move(ranks)});
        break;
      }
  }
  return launched;
}

}  // namespace weir
