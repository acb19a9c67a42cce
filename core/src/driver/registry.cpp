// SPDX-License-Identifier: Apache-2.0
#include "driver/registry.hpp"

#include <fmt/format.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <exception>
#include <iterator>
#include <memory>
#include <optional>
#include <weir/error.hpp>

#include "driver/layers.hpp"
#include "driver/manifest.hpp"
#include "driver/probe.hpp"
#include "driver/prober.hpp"

namespace weir {
namespace {

namespace fs = std::filesystem;

// Sorted, so that the result does not depend on the file system.
std::vector<fs::path> manifests_in(const fs::path& folder) {
  std::vector<fs::path> manifests;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const fs::path name = entry->path().filename();
    if (name.extension() == ".json" && name.native().front() != '.') manifests.push_back(entry->path());
  }
  std::sort(manifests.begin(), manifests.end());
  return manifests;
}

// How many processes try drivers at the same time.
constexpr std::size_t most_trials = 8;

// One candidate on its way from its manifest over a trial, which may be running, to its driver.
struct Examination {
  Candidate candidate;
  Manifest manifest;
  std::optional<Trial> trial;
  bool refused = false;
};

// What keeps `step` from its end becomes the candidate's fate.
template <class Step>
void take(Examination& examination, Step step) {
  if (examination.refused) return;
  Candidate& candidate = examination.candidate;
  const auto refuse = [&](const Refusal& refusal) {
    examination.refused = true;
    candidate.fate = refusal.fate;
    candidate.reason = refusal.reason;
    candidate.remedy = refusal.remedy;
    candidate.devices.clear();
  };
  try {
    step();
  } catch (const LayersError&) {
    throw;
  } catch (const Refusal& refusal) {
    refuse(refusal);
  } catch (const std::exception& error) {
    refuse(
        {DriverFate::broken, fmt::format("examining it failed: {}", error.what()), "reinstall the driver"});
  }
}

// The first of `earlier` that is called `name` and may yet be used, or null.
const Examination* find_namesake(std::span<const Examination> earlier, const std::string& name) {
  const auto found = std::find_if(earlier.begin(), earlier.end(), [&](const Examination& other) {
    return !other.refused && other.candidate.name == name;
  });
  return found == earlier.end() ? nullptr : &*found;
}

void try_out(Examination& examination, Prober& prober) {
  check_library(examination.candidate);
  examination.trial = prober.begin(examination.candidate, examination.manifest);
}

// Does what needs no waiting. A driver that another of its name may keep out is not tried yet.
Examination begin(const fs::path& manifest_file, std::span<const Examination> earlier, Prober& prober) {
  Examination examination;
  examination.candidate.name = manifest_file.stem().string();
  examination.candidate.manifest = manifest_file;
  take(examination, [&] {
    examination.manifest = check_manifest(examination.candidate);
    if (!find_namesake(earlier, examination.candidate.name)) try_out(examination, prober);
  });
  return examination;
}

// All of `earlier` are at their end.
void finish(Examination& examination, std::span<const Examination> earlier, Prober& prober) {
  take(examination, [&] {
    Candidate& candidate = examination.candidate;
    if (const Examination* first = find_namesake(earlier, candidate.name))
      throw Refusal{
          DriverFate::shadowed,
          fmt::format("the driver of the same name from {} comes first", first->candidate.manifest.string()),
          "nothing, unless this one is wanted: then put its folder first in WEIR_DRIVER_PATH"};
    if (!examination.trial) try_out(examination, prober);
    prober.admit(candidate, *examination.trial);
    load_driver(candidate, examination.manifest);
    put_layers(*candidate.driver);
    candidate.fate = DriverFate::usable;
  });
}

// Of all folders, each of which is searched once.
std::vector<fs::path> manifests_in(std::span<const fs::path> folders) {
  std::vector<fs::path> manifests, searched;
  for (const fs::path& folder : folders) {
    std::error_code error;
    const fs::path real = fs::canonical(folder, error);
    if (error || std::find(searched.begin(), searched.end(), real) != searched.end()) continue;
    searched.push_back(real);
    std::ranges::copy(manifests_in(real), std::back_inserter(manifests));
  }
  return manifests;
}

struct LetOthers {
  void operator()(std::atomic<pid_t>* looking) const noexcept {
    looking->store(0);
    looking->notify_all();
  }
};

}  // namespace

std::string_view to_string(DriverFate fate) noexcept {
  switch (fate) {
    case DriverFate::usable:
      return "usable";
    case DriverFate::no_device:
      return "no device";
    case DriverFate::no_vendor_library:
      return "vendor library missing";
    case DriverFate::wrong_architecture:
      return "wrong architecture";
    case DriverFate::abi_refused:
      return "ABI refused";
    case DriverFate::untrusted:
      return "not trusted";
    case DriverFate::shadowed:
      return "shadowed";
    case DriverFate::broken:
      return "broken";
  }
  return "broken";
}

std::vector<Candidate> find_drivers(std::span<const fs::path> folders, const ProbePolicy& policy) {
  Prober prober(policy);
  const std::vector<fs::path> manifests = manifests_in(folders);
  std::vector<Examination> examinations;
  for (std::size_t i = 0; i < manifests.size(); ++i) {
    while (examinations.size() < std::min(manifests.size(), i + most_trials))
      examinations.push_back(begin(manifests[examinations.size()], examinations, prober));
    finish(examinations[i], std::span(examinations).first(i), prober);
  }
  std::vector<Candidate> candidates;
  for (Examination& examination : examinations) candidates.push_back(std::move(examination.candidate));
  prober.finish(candidates);
  return candidates;
}

std::string forget_probes() {
  const fs::path file = current_probe_policy().verdicts;
  if (file.empty() || unlink(file.c_str()) == 0 || errno == ENOENT || errno == ENOTDIR) return {};
  return fmt::format("{} cannot be removed: {}", file.string(), strerrordesc_np(errno));
}

const std::vector<Candidate>& drivers() {
  // Never destroyed: handles that outlive main still reach their driver.
  static constinit std::atomic<const std::vector<Candidate>*> found{nullptr};
  // The process in which a thread is looking, or 0. A lock that knows whose it is: a child that was forked
  // meanwhile has that thread's lock, and not the thread.
  static constinit std::atomic<pid_t> looking{0};

  const pid_t self = getpid();
  for (;;) {
    if (const auto* known = found.load(std::memory_order_acquire)) return *known;
    pid_t other = 0;
    if (looking.compare_exchange_strong(other, self)) break;
    if (other != self)
      throw Error(
          ErrorCode::system,
          "this process was forked while another thread looked for drivers, which do not work in the child; "
          "start the child with exec, or open a device before the fork or only after it");
    looking.wait(self);
  }
  const std::unique_ptr<std::atomic<pid_t>, LetOthers> lock(&looking);
  if (const auto* known = found.load(std::memory_order_acquire)) return *known;
  const auto* mine = new std::vector<Candidate>(find_drivers(driver_search_path(), current_probe_policy()));
  found.store(mine, std::memory_order_release);
  return *mine;
}

}  // namespace weir
