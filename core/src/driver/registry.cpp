// SPDX-License-Identifier: Apache-2.0
#include "driver/registry.hpp"

#include <fmt/format.h>
#include <string.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <memory>
#include <weir/error.hpp>

#include "driver/discovery.hpp"

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

// The process's candidates. Never destroyed, because handles that outlive main still use their driver.
constinit std::atomic<Discovery*> discovery{nullptr};
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
Discovery& process_discovery() {
  if (!discovery.load(std::memory_order_relaxed))
    discovery.store(new Discovery(driver_search_path(), current_probe_policy()), std::memory_order_release);
  return *discovery.load(std::memory_order_relaxed);
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
    case DriverStatus::broken:
      return "broken";
  }
  return "broken";
}

std::vector<Candidate> find_drivers(std::span<const fs::path> folders, const ProbePolicy& policy) {
  Discovery discovery(folders, policy);
  discovery.examine();
  return std::move(discovery).take();
}

std::vector<Candidate> inspect_drivers(std::span<const fs::path> folders, const ProbePolicy& policy) {
  Discovery discovery(folders, policy, Discovery::Purpose::inspect);
  discovery.examine();
  return std::move(discovery).take();
}

std::vector<Candidate> inspect_drivers() try {
  return inspect_drivers(driver_search_path(), current_probe_policy());
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

const std::vector<Candidate>& drivers() try {
  if (const Discovery* known = discovery.load(std::memory_order_acquire); known && known->all_known())
    return known->candidates();
  const Look lock = begin_to_look();
  Discovery& mine = process_discovery();
  mine.examine();
  return mine.candidates();
} catch (...) {
  detail::rethrow_as_error();
}

const Candidate* find_driver(std::string_view name) {
  if (const Discovery* known = discovery.load(std::memory_order_acquire))
    if (const auto driver = known->known(name)) return *driver;
  const Look lock = begin_to_look();
  Discovery& mine = process_discovery();
  mine.examine(name);
  return mine.known(name).value_or(nullptr);
}

}  // namespace weir
