// SPDX-License-Identifier: Apache-2.0
#include "runtime/runtime.hpp"

#include <algorithm>
#include <cstdio>
#include <thread>

namespace weir::hipsim {
namespace {

Config config_or_none() {
  try {
    return load_config();
  } catch (const std::exception& error) {
    // An invalid configuration must not look like a working machine.
    std::fprintf(stderr, "hipsim: %s; there are no devices\n", error.what());
    Config none;
    none.devices.clear();
    return none;
  }
}

}  // namespace

Runtime& Runtime::instance() {
  static Runtime& runtime = *new Runtime(config_or_none());
  return runtime;
}

Runtime::Runtime(const Config& c) : config(c), memory(c.quarantine_bytes) {
  for (std::size_t n = 0; n < c.devices.size(); ++n)
    devices.push_back(std::make_unique<Device>(int(n), c.devices[n], memory));
  for (const FailureConfig& failure : c.failures) schedule_failure(failure);
  const unsigned threads = c.threads ? c.threads : std::max(1u, std::thread::hardware_concurrency());
  set_worker_count(threads - 1);
}

int& Runtime::current_index() {
  thread_local int index = 0;
  return index;
}

Device& Runtime::current() {
  return *devices[std::size_t(current_index())];
}

void Runtime::schedule_failure(const FailureConfig& failure) {
  const std::scoped_lock lock(mutex_);
  scheduled_.push_back({failure, 0});
}

Runtime::Failure Runtime::scheduled_failure(const std::string& call) {
  if (std::find(config.missing.begin(), config.missing.end(), call) != config.missing.end())
    return {hipErrorNotSupported};
  const std::scoped_lock lock(mutex_);
  for (Scheduled& s : scheduled_) {
    if (s.failure.call != call) continue;
    ++s.seen;
    if (s.seen >= s.failure.nth && (s.failure.times == 0 || s.seen < s.failure.nth + s.failure.times))
      return {hipError_t(s.failure.error), s.failure.late};
  }
  return {};
}

std::unique_lock<std::recursive_mutex> Runtime::lock_call(std::string_view call) {
  static std::recursive_mutex& mutex = *new std::recursive_mutex;  // outlives every call
  if (!config.one_lock || call.ends_with("Synchronize")) return {};
  return std::unique_lock(mutex);
}

void Runtime::report(const std::string& text) {
  const std::scoped_lock lock(mutex_);
  if (reports_.size() == max_reports) reports_.erase(reports_.begin());
  reports_.push_back(text);
  if (config.report == "none") return;
  std::FILE* file = config.report == "stderr" ? stderr : std::fopen(config.report.c_str(), "a");
  if (!file) file = stderr;
  std::fprintf(file, "hipsim: %s\n", text.c_str());
  if (file != stderr) std::fclose(file);
}

std::vector<std::string> Runtime::reports() const {
  const std::scoped_lock lock(mutex_);
  return reports_;
}

void Runtime::clear_reports() {
  const std::scoped_lock lock(mutex_);
  reports_.clear();
  scheduled_.clear();
}

}  // namespace weir::hipsim
