// SPDX-License-Identifier: Apache-2.0
#include "pending_operations.hpp"

#include <algorithm>

#include "vendor.hpp"

namespace weir::collectives {

PendingOperations::Entry* PendingOperations::take_unused() {
  const std::lock_guard lock(mutex_);
  if (unused_.empty()) return nullptr;
  Entry* const entry = unused_.back();
  unused_.pop_back();
  return entry;
}

PendingOperations::Entry* PendingOperations::take() {
  if (Entry* const entry = take_unused()) return entry;
  if (all_.size() >= unqueried) {
    // If the watch queries events now, new events are created, up to the limit.
    if (std::unique_lock querying(querying_, std::try_to_lock); querying) collect_ended();
    if (Entry* const entry = take_unused()) return entry;
    if (all_.size() == max_pending) return nullptr;
  }
  auto made = std::make_unique<Entry>();
  all_.reserve(max_pending);
  made->begin = create_event();
  try {
    made->end = create_event();
  } catch (...) {
    destroy_event(made->begin);
    throw;
  }
  all_.push_back(std::move(made));
  return all_.back().get();
}

void PendingOperations::submitted(Entry* entry, void* stream) {
  entry->begun = entry->asked = false;
  const std::lock_guard lock(mutex_);
  streams_[stream].push_back(entry);
}

void PendingOperations::withdraw(Entry* entry) {
  const std::lock_guard lock(mutex_);
  unused_.push_back(entry);
}

std::size_t PendingOperations::count_ended(std::span<Entry* const> entries) {
  bool failed = false;
  const auto has_ended = [&](const Entry* entry) {
    const EventState state = query_event(entry->end);
    failed |= state == EventState::failed;
    return state != EventState::pending;
  };
  if (!has_ended(entries.front())) return 0;
  const auto last = entries.end() - 1;
  const auto pending = entries.size() == 1 || has_ended(*last)
                           ? entries.end()
                           : std::partition_point(entries.begin() + 1, last, has_ended);
  const auto ended = static_cast<std::size_t>(pending - entries.begin());
  for (std::size_t i = 0; failed && i < ended; ++i) {
    if (query_event(entries[i]->end) != EventState::failed) continue;
    failed_ = entries[i]->operation.name;
    break;
  }
  return ended;
}

std::vector<PendingOperations::Entry*> PendingOperations::collect_ended() {
  std::vector<std::pair<void*, std::vector<Entry*>>> streams;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [stream, entries] : streams_) streams.emplace_back(stream, entries);
  }
  std::vector<Entry*> first;
  for (const auto& [stream, entries] : streams) {
    const std::size_t ended = count_ended(entries);
    {
      const std::lock_guard lock(mutex_);
      unused_.insert(unused_.end(), entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(ended));
      const auto at = streams_.find(stream);
      at->second.erase(at->second.begin(), at->second.begin() + static_cast<std::ptrdiff_t>(ended));
      if (at->second.empty()) streams_.erase(at);
    }
    if (ended == entries.size()) continue;
    Entry* const entry = entries[ended];
    if (!entry->begun && query_event(entry->begin) != EventState::pending) {
      entry->begun = true;
      entry->since = Clock::now();
    }
    first.push_back(entry);
  }
  return first;
}

bool PendingOperations::collect() {
  const std::lock_guard querying(querying_);
  return collect_ended().empty();
}

PendingOperations::Report PendingOperations::look(std::chrono::nanoseconds limit,
                                                  std::chrono::nanoseconds question) {
  const std::lock_guard querying(querying_);
  const std::vector<Entry*> first = collect_ended();
  Report report;
  report.failed = std::exchange(failed_, nullptr);
  const auto now = Clock::now();
  for (Entry* const entry : first) {
    if (!entry->begun) continue;
    const Operation& operation = entry->operation;
    if (operation.peers.empty()) report.begun.emplace_back(operation.name, entry->number);
    if (!entry->asked && now - entry->since >= limit - question) report.ask = entry->asked = true;
    if (now - entry->since >= limit && !report.late) report.late.emplace(operation, entry->number);
  }
  const std::lock_guard lock(mutex_);
  for (const auto& [stream, entries] : streams_)
    report.waiting += static_cast<std::uint64_t>(std::ranges::count_if(
        entries, [](const Entry* entry) { return !entry->begun && entry->operation.peers.empty(); }));
  return report;
}

void PendingOperations::destroy_events() noexcept {
  for (const auto& entry : all_) {
    destroy_event(entry->begin);
    destroy_event(entry->end);
  }
}

}  // namespace weir::collectives
