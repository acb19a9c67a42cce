// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch/executor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>

namespace weir::detail {

std::vector<PlacedTask> place_tasks(std::span<const TaskPlace> places) {
  std::vector<PlacedTask> tasks(places.size());
  std::vector<std::int32_t> seen;
  for (std::size_t begin = 0; begin < places.size();) {
    const std::int32_t region = places[begin].region;
    std::size_t end = begin + 1;
    if (region < 0) {
      begin = end;
      continue;
    }
    if (std::ranges::find(seen, region) != seen.end())
      throw Error(
          ErrorCode::invalid,
          fmt::format(
              "task {} belongs to region {}, which ended before it; tasks of one region must be consecutive",
              begin, region));
    seen.push_back(region);
    while (end < places.size() && places[end].region == region) ++end;
    std::vector<std::int32_t> blocks;  // by branch; the smallest number stays on the caller's stream
    for (std::size_t i = begin; i < end; ++i) {
      if (places[i].block < 0)
        throw Error(ErrorCode::invalid,
                    fmt::format("task {} has block number {}; blocks count from 0", i, places[i].block));
      if (std::ranges::find(blocks, places[i].block) == blocks.end()) blocks.push_back(places[i].block);
    }
    std::ranges::sort(blocks);
    for (std::size_t i = begin; i < end; ++i)
      tasks[i].branch =
          static_cast<std::uint32_t>(std::ranges::find(blocks, places[i].block) - blocks.begin());
    if (blocks.size() > 1) {
      for (std::size_t i = begin; i < end; ++i) tasks[i].region = region;
      tasks[begin].fork = static_cast<std::uint32_t>(blocks.size());
      tasks[end - 1].join = true;
    }
    begin = end;
  }
  return tasks;
}

void StreamFork::fork(std::uint32_t branch_count) {
  DeviceState& device = caller_.device;
  const weir_driver_table& table = device.table();
  while (leased_ < branch_count - 1 && leased_ < leased_streams_.size()) {
    StreamState* leased = device.streams.lease(caller_);
    if (!leased) break;  // other regions hold the rest; branches share the streams that were leased
    leased_streams_[leased_++] = leased;
  }
  if (!leased_) return;
  const KernelOrigin* kernel = caller_.launched_last();
  device.call_for(kernel, "begin a region", [&](weir_status* status) {
    return table.event_record(caller_.mark, caller_.stream, status);
  });
  caller_.note_submission();
  for (std::uint32_t i = 0; i < leased_; ++i) {
    device.call_for(kernel, "begin a block of a region", [&](weir_status* status) {
      return table.stream_wait_event(leased_streams_[i]->stream, caller_.mark, status);
    });
    leased_streams_[i]->note_submission();
  }
}

void StreamFork::join() {
  StreamManager& streams = caller_.device.streams;
  std::exception_ptr first;
  while (leased_) {
    StreamState* leased = leased_streams_[--leased_];
    StreamState* joined = &caller_;
    try {
      streams.join(caller_, *leased);
    } catch (...) {
      // The device cannot order the streams any more. The host waits instead and keeps the caller's
      // submission lock, so nothing runs past the region's end.
      streams.wait_for_all_of(*leased);
      joined = nullptr;
      if (!first) first = std::current_exception();
    }
    streams.give_back(leased, joined);
  }
  if (first) std::rethrow_exception(first);
}

StreamFork::~StreamFork() {
  try {
    join();
  } catch (...) {  // the original error is already being thrown
  }
}

}  // namespace weir::detail
