// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <weir/current_stream.hpp>
#include <weir/device.hpp>
#include <weir/event.hpp>
#include <weir/layers.hpp>
#include <weir/stream.hpp>

#include "runtime/devices/device_state.hpp"

namespace weir {

const std::string& Device::driver() const noexcept {
  return state_->driver().name();
}
std::uint32_t Device::index() const noexcept {
  return state_->index;
}
std::string Device::name() const try { return state_->device_name(); } catch (...) {
  detail::rethrow_as_error();
}
const DeviceInfo& Device::info() const noexcept {
  return state_->info;
}

MemorySize Device::memory() const try {
  MemorySize size;
  const weir_device handle = state_->handle();
  state_->call("ask how much memory is free", [&](weir_status* status) {
    return state_->table().device_get_memory(handle, &size.free, &size.total, status);
  });
  return size;
} catch (...) {
  detail::rethrow_as_error();
}

Stream Device::create_stream(int priority) const try {
  const DeviceInfo& info = state_->info;
  const int highest = std::max(info.min_priority, info.max_priority),
            lowest = std::min(info.min_priority, info.max_priority);
  detail::StreamState* stream = state_->streams.create(std::clamp(priority, lowest, highest));
  return Stream(stream, stream->generation.load(std::memory_order_relaxed));
} catch (...) {
  detail::rethrow_as_error();
}

Stream Device::wrap_stream(void* native) const try {
  detail::StreamState* stream = state_->streams.wrap(native);
  return Stream(stream, stream->generation.load(std::memory_order_relaxed));
} catch (...) {
  detail::rethrow_as_error();
}

StreamRef Device::default_stream() const try {
  detail::StreamState* stream = state_->streams.default_stream();
  return StreamRef(stream, stream->generation.load(std::memory_order_relaxed));
} catch (...) {
  detail::rethrow_as_error();
}

Event Device::create_event() const try {
  detail::EventState* event = state_->events.acquire(false);
  return Event(event, event->generation.load(std::memory_order_relaxed));
} catch (...) {
  detail::rethrow_as_error();
}

TimedEvent Device::create_timed_event() const try {
  if (!state_->has(Capability::timed_events))
    throw Error(ErrorCode::unsupported,
                "device " + name() + " has no timed events; use create_event() where no times are needed");
  detail::EventState* event = state_->events.acquire(true);
  return TimedEvent(event, event->generation.load(std::memory_order_relaxed));
} catch (...) {
  detail::rethrow_as_error();
}

void Device::synchronize() const try {
  state_->check_not_forked();
  state_->streams.synchronize_all();
  state_->memory.collect_pending();
} catch (...) {
  detail::rethrow_as_error();
}

std::uint64_t Device::trim_memory() const try {
  state_->check_not_forked();
  const std::uint64_t bytes = state_->memory.trim() + state_->pinned.trim();
  state_->streams.trim();
  state_->events.trim();
  return bytes;
} catch (...) {
  detail::rethrow_as_error();
}

MemoryStatistics Device::memory_statistics() const noexcept {
  return state_->memory.statistics();
}

StreamStatistics Device::stream_statistics() const noexcept {
  StreamStatistics result;
  result.streams_created = state_->streams.created();
  result.streams_leased = state_->streams.leased();
  result.lease_limit = state_->streams.lease_limit();
  result.events_created = state_->events.created();
  return result;
}

std::vector<Layer> layers(const Device& device) try {
  std::vector<Layer> found;
  for (const auto& layer : device.state()->driver().layers()) found.emplace_back(layer.get());
  return found;
} catch (...) {
  detail::rethrow_as_error();
}

}  // namespace weir
