// SPDX-License-Identifier: Apache-2.0
#include "driver/discovery/discovery.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <iterator>
#include <memory>
#include <new>

#include "driver/layers.hpp"
#include "driver/probe/probe_steps.hpp"
#include "folder_names.hpp"

namespace weir {
namespace {

namespace fs = std::filesystem;

// The paths are sorted, so that the result does not depend on the file system.
std::vector<fs::path> manifests_in(const fs::path& folder) {
  std::vector<fs::path> manifests;
  for_each_name(folder, [&](std::string_view name) {
    if (name.ends_with(".json") && name.front() != '.') manifests.push_back(folder / name);
  });
  std::sort(manifests.begin(), manifests.end());
  return manifests;
}

// Searches each folder once. Paths keep their spelling, because trust also checks the links in them.
std::vector<fs::path> manifests_in(std::span<const fs::path> folders) {
  std::vector<fs::path> manifests, searched;
  for (const fs::path& folder : folders) {
    std::error_code error;
    const fs::path real = fs::canonical(folder, error);
    if (error == std::errc::not_enough_memory) throw std::bad_alloc();
    if (error || std::find(searched.begin(), searched.end(), real) != searched.end()) continue;
    searched.push_back(real);
    std::ranges::copy(manifests_in(folder), std::back_inserter(manifests));
  }
  return manifests;
}

// Limits the number of concurrent trials.
constexpr std::size_t max_trials = 8;

// Uses the findings of the driver's trial instead of loading it in this process.
void take_findings(Candidate& candidate, Findings findings) {
  candidate.identity = std::move(findings.identity);
  if (!findings.layers_problem.empty()) throw LayersError(findings.layers_problem);
  if (findings.refusal) throw *findings.refusal;
  candidate.devices = std::move(findings.devices);
  candidate.communicator_info = findings.communicator;
}

}  // namespace

Discovery::Discovery(std::span<const fs::path> folders, const ProbePolicy& policy, Purpose purpose,
                     PluginKind kind)
    : purpose_(purpose), kind_(kind), prober_(policy, purpose == Purpose::inspect) {
  for (const fs::path& manifest : manifests_in(folders)) {
    Candidate& candidate = candidates_.emplace_back();
    candidate.kind = kind;
    candidate.name = manifest.stem().string();
    candidate.manifest = manifest;
  }
  examinations_ = std::vector<Examination>(candidates_.size());
  for (std::size_t i = 0; i < candidates_.size(); ++i)
    take_step(i, [&] {
      examinations_[i].manifest = check_manifest(candidates_[i], kind_);
      candidates_[i].launched_by = examinations_[i].manifest.launched_by;
    });
}

// An error that interrupts `step` becomes the status of the candidate.
template <class Step>
void Discovery::take_step(std::size_t number, Step step) {
  if (examinations_[number].refused) return;
  const auto refuse = [&](const Refusal& refusal) {
    const bool no_descriptor = errno == EMFILE || errno == ENFILE;
    Candidate& candidate = candidates_[number];
    examinations_[number].refused = true;
    candidate.status = refusal.status;
    candidate.reason = refusal.reason;
    candidate.remedy =
        no_descriptor ? "close files, or raise the limit of open files (ulimit -n)" : refusal.remedy;
    candidate.devices.clear();
    candidate.communicator_info.reset();
  };
  errno = 0;
  try {
    step();
  } catch (const LayersError&) {
    if (errno == ENOMEM) throw std::bad_alloc();
    throw;
  } catch (const std::bad_alloc&) {  // no statement about the driver
    throw;
  } catch (const Refusal& refusal) {
    // The loader, files and drivers report a lack of host memory, or of descriptors, in their own words;
    // errno identifies it.
    if (errno == ENOMEM) throw std::bad_alloc();
    refuse(refusal);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::out_of_memory) throw;
    refuse({DriverStatus::broken, fmt::format("examining it failed: {}", error.what()), reinstall(kind_)});
  } catch (const std::exception& error) {
    refuse({DriverStatus::broken, fmt::format("examining it failed: {}", error.what()), reinstall(kind_)});
  }
}

// The first earlier candidate of the same name that may still become usable, or null.
const Candidate* Discovery::find_namesake(std::size_t number) const {
  for (std::size_t i = 0; i < number; ++i)
    if (!examinations_[i].refused && candidates_[i].name == candidates_[number].name) return &candidates_[i];
  return nullptr;
}

void Discovery::try_out(std::size_t number) {
  check_library(candidates_[number]);
  examinations_[number].trial = prober_.begin(candidates_[number], examinations_[number].manifest);
}

// Runs the steps that do not wait. A driver that an earlier one of its name may shadow is not tried yet.
void Discovery::begin(std::size_t number) {
  take_step(number, [&] {
    if (!find_namesake(number)) try_out(number);
  });
}

// Requires that all earlier candidates of the same name are finished.
void Discovery::finish(std::size_t number) {
  Candidate& candidate = candidates_[number];
  Examination& examination = examinations_[number];
  take_step(number, [&] {
    if (const Candidate* first = find_namesake(number))
      throw Refusal{DriverStatus::shadowed,
                    fmt::format("the {} of the same name from {} comes first", terms_of(kind_).name,
                                first->manifest.string()),
                    fmt::format("nothing, unless this one is wanted: then put its folder first in {}",
                                terms_of(kind_).path_variable)};
    if (!examination.trial) try_out(number);
    std::optional<Findings> findings = prober_.admit(candidate, *examination.trial);
    if (purpose_ == Purpose::inspect && findings) {
      take_findings(candidate, std::move(*findings));
    } else {
      load_plugin(candidate, examination.manifest);
      if (kind_ == PluginKind::driver) add_layers(candidate);
    }
    candidate.status = DriverStatus::usable;
  });
}

void Discovery::examine(std::optional<std::string_view> name) {
  std::vector<std::size_t> round, open;  // open: not decided by the manifest alone
  std::vector<Candidate*> examined;
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    if (examinations_[i].done.load(std::memory_order_relaxed)) continue;
    if (name && candidates_[i].name != *name) continue;
    round.push_back(i);
    examined.push_back(&candidates_[i]);
    if (!examinations_[i].refused) open.push_back(i);
  }
  std::size_t begun = 0;
  try {
    for (std::size_t i = 0; i < round.size(); ++i) {
      while (begun < std::min(round.size(), i + max_trials)) begin(round[begun++]);
      finish(round[i]);
    }
  } catch (...) {
    // Restores the state before the round, because incomplete results must not be used.
    for (const std::size_t number : open) {
      Candidate& candidate = candidates_[number];
      examinations_[number].trial.reset();
      examinations_[number].refused = false;
      candidate.status = DriverStatus::broken;
      candidate.probed = ProbePlace::nowhere;
      for (std::string* words : {&candidate.reason, &candidate.remedy, &candidate.note}) words->clear();
      candidate.devices.clear();
      candidate.effects.clear();
      candidate.identity.reset();
      candidate.driver.reset();
      candidate.communicator.reset();
      candidate.communicator_info.reset();
    }
    throw;
  }
  prober_.finish(examined);
  for (const std::size_t number : round) examinations_[number].done.store(true, std::memory_order_release);
}

std::optional<const Candidate*> Discovery::known(std::string_view name) const noexcept {
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    if (candidates_[i].name != name) continue;
    if (!examinations_[i].done.load(std::memory_order_acquire)) return std::nullopt;
    if (candidates_[i].status == DriverStatus::usable) return &candidates_[i];
  }
  return nullptr;
}

bool Discovery::all_known() const noexcept {
  return std::ranges::all_of(examinations_, [](const Examination& examination) {
    return examination.done.load(std::memory_order_acquire);
  });
}

}  // namespace weir
