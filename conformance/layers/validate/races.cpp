// SPDX-License-Identifier: Apache-2.0
// The happens-before order of accesses, and reports of races.
#include <cinttypes>

#include "validate.hpp"

namespace weir::validate {
namespace {

std::string verb(std::uint32_t how) {
  if (how == WEIR_ACCESS_UNKNOWN) return "takes";
  if (how & WEIR_ACCESS_SHARED) return "updates";
  if (how & WEIR_ACCESS_WRITE) return how & WEIR_ACCESS_READ ? "reads and writes" : "writes";
  return "reads";
}

std::string thing(const Access& access) {
  return access.actor->array.empty() ? "it" : "'" + access.actor->array + "'";
}

}  // namespace

void Validate::tick(Stream& stream) {
  stream.clock.set(stream.place, ++stream.count);
}

bool Validate::wanted(const Access& earlier, const Access& later, Conflict sure) const {
  if (options_.races == Options::Races::off) return false;
  if (sure == Conflict::possible && options_.races != Options::Races::all) return false;
  return !options_.ignored.contains(earlier.actor->kernel) && !options_.ignored.contains(later.actor->kernel);
}

void Validate::touch(Stream& stream, std::vector<Use> uses) {
  struct Race {
    std::shared_ptr<Allocation> allocation;
    Access earlier, later;
    Conflict sure;
  };
  std::vector<Race> races;
  {
    const Lock lock(mutex_);
    tick(stream);
    for (Use& use : uses) {
      Access& access = use.access;
      access.place = stream.place;
      access.at = stream.count;
      access.stream = stream.number;
      History& history = use.allocation ? use.allocation->history : host_memory_;
      history.check(access, stream.clock, host_, [&](const Access& earlier, Conflict sure) {
        if (wanted(earlier, access, sure)) races.push_back({use.allocation, earlier, access, sure});
      });
    }
    for (const Use& use : uses)
      (use.allocation ? use.allocation->history : host_memory_).add(use.access, stream.clock, host_);
  }
  for (const Race& race : races) report_race(race.allocation.get(), race.earlier, race.later, race.sure, "");
}

void Validate::report_race(const Allocation* allocation, const Access& earlier, const Access& later,
                           Conflict sure, const std::string& extra) {
  const std::string key = later.actor->what + "|" + later.actor->array + "|" + earlier.actor->what + "|" +
                          earlier.actor->array + "|" + extra;
  {
    const Lock lock(mutex_);
    if (!said_.insert(key).second) {
      ++reports_["race"];
      return;
    }
  }
  const std::string where =
      allocation ? sdk::format_text("%s, bytes %" PRIu64 " to %" PRIu64, describe(*allocation).c_str(),
                                    std::max(earlier.begin, later.begin), std::min(earlier.end, later.end))
                 : sdk::format_text("host memory at 0x%" PRIx64, std::max(earlier.begin, later.begin));
  const char* const maybe = sure == Conflict::possible ? "possible race: " : "";
  std::string text;
  if (earlier.special == Access::Special::birth) {
    text = sdk::format_text(
        "%s%s on stream %" PRIu64 " %s %s before its allocation on stream %" PRIu64
        " is complete; let the stream wait for an event recorded after memory_allocate_async. "
        "Memory: %s",
        maybe, later.actor->what.c_str(), later.stream, verb(later.how).c_str(), thing(later).c_str(),
        earlier.stream, where.c_str());
  } else {
    const std::string order = extra.empty()
                                  ? sdk::format_text("nothing orders them: let stream %" PRIu64
                                                     " wait for an event that is recorded on stream %" PRIu64
                                                     " after the first, or wait on the host",
                                                     later.stream, earlier.stream)
                                  : extra;
    text = sdk::format_text(
        "%s%s on stream %" PRIu64 " %s %s, which %s on stream %" PRIu64 " %s%s%s; %s. Memory: %s", maybe,
        later.actor->what.c_str(), later.stream, verb(later.how).c_str(), thing(later).c_str(),
        earlier.actor->what.c_str(), earlier.stream, verb(earlier.how).c_str(),
        earlier.actor->array.empty() || earlier.actor->array == later.actor->array ? "" : " as ",
        earlier.actor->array.empty() || earlier.actor->array == later.actor->array ? ""
                                                                                   : thing(earlier).c_str(),
        order.c_str(), where.c_str());
  }
  report("race", text);
}

Use Validate::use_of(const std::shared_ptr<Allocation>& allocation, std::uint64_t at, std::uint64_t size,
                     std::uint32_t how, const char* what) const {
  Use use;
  use.allocation = allocation;
  use.access.begin = at;
  use.access.end = at + size;
  use.access.how = how;
  use.access.actor = std::make_shared<const Actor>(Actor{what, {}, {}});
  return use;
}

// Host memory may be an allocation that the host can access, such as pinned memory.
Use Validate::host_use(const Device& device, const void* at, std::uint64_t size, std::uint32_t how,
                       const char* what) const {
  const auto address = reinterpret_cast<std::uint64_t>(at);
  const Lock lock(mutex_);
  auto found = device.by_host_address.upper_bound(address);
  if (found != device.by_host_address.begin())
    if (const auto allocation = std::prev(found)->second.lock();
        allocation && address - allocation->host_address < allocation->size)
      return use_of(allocation, address - allocation->host_address, size, how, what);
  return use_of(nullptr, address, size, how, what);
}

}  // namespace weir::validate
