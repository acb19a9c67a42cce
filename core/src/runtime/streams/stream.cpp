// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <weir/current_stream.hpp>
#include <weir/stream.hpp>

#include "runtime/devices/device_state.hpp"
#include "runtime/errors/stream_errors.hpp"
#include "runtime/streams/host_callback.hpp"
#include "runtime/streams/submission.hpp"

namespace weir {

using detail::DeviceState;
using detail::EventState;
using detail::live;
using detail::StreamState;

bool StreamRef::alive() const noexcept {
  return state_ && state_->generation.load(std::memory_order_acquire) == generation_;
}

Stream::~Stream() {
  if (alive()) state_->device.streams.destroy(state_);
}

Device StreamRef::device() const try { return Device(&live(*this).device); } catch (...) {
  detail::rethrow_as_error();
}

void StreamRef::synchronize() const try {
  StreamState& stream = live(*this);
  stream.device.streams.synchronize(stream);
  stream.device.memory.collect_pending();
} catch (...) {
  detail::rethrow_as_error();
}

bool StreamRef::query() const try {
  StreamState& stream = live(*this);
  return stream.device.streams.query(stream);
} catch (...) {
  detail::rethrow_as_error();
}

void StreamRef::flush() const try {
  StreamState& stream = live(*this);
  const detail::StreamPin pinned(stream);
  stream.unflushed.store(false, std::memory_order_release);
  stream.device.call("flush a stream", [&](weir_status* status) {
    return stream.device.table().stream_flush(stream.stream, status);
  });
} catch (...) {
  detail::rethrow_as_error();
}

LaunchReport StreamRef::last_launch() const try { return live(*this).last_launch.get(); } catch (...) {
  detail::rethrow_as_error();
}

void StreamRef::wait(const EventRef& event) const try {
  StreamState& stream = live(*this);
  EventState& mark = live(event);
  detail::throw_failure(stream);
  if (!mark.recorded.load(std::memory_order_acquire)) return;
  DeviceState& device = stream.device;
  if (&device.driver() != &mark.device.driver())
    throw Error(ErrorCode::unsupported, "a stream of " + device.device_name() +
                                            " cannot wait for an event of " + mark.device.device_name() +
                                            ", which another driver serves; wait for it on the host instead");
  if (&device != &mark.device) detail::waits_across_devices.store(true, std::memory_order_release);
  const detail::Submission submission(stream);
  device.call("wait for an event", [&](weir_status* status) {
    return device.table().stream_wait_event(stream.stream, mark.event, status);
  });
  stream.note_submission();
} catch (...) {
  detail::rethrow_as_error();
}

void StreamRef::wait(const StreamRef& other) const try {
  StreamState& stream = live(*this);
  detail::throw_failure(stream);
  stream.device.streams.wait(stream, live(other));
} catch (...) {
  detail::rethrow_as_error();
}

void StreamRef::call_host(std::function<void()> callback) const try {
  StreamState& stream = live(*this);
  DeviceState& device = stream.device;
  if (!callback) throw Error(ErrorCode::invalid, "call_host: the callback is empty; pass a function");
  if (!device.has(Capability::host_callback))
    throw Error(ErrorCode::unsupported,
                "device " + device.device_name() +
                    " cannot call the host from a stream; synchronize and call from the host");
  detail::throw_failure(stream);
  auto owned = std::make_unique<detail::HostCallback>(std::move(callback), &stream);
  const detail::Submission submission(stream);
  device.call("submit a host callback", [&](weir_status* status) {
    return device.table().stream_host_callback(stream.stream, &detail::HostCallback::call, owned.get(),
                                               status);
  });
  owned.release();
  stream.note_submission();
} catch (...) {
  detail::rethrow_as_error();
}

int StreamRef::priority() const try { return live(*this).priority; } catch (...) {
  detail::rethrow_as_error();
}

void* StreamRef::native_handle() const try {
  StreamState& stream = live(*this);
  void* native = nullptr;
  const detail::StreamPin pinned(stream);
  stream.device.call("get the vendor's stream", [&](weir_status* status) {
    return stream.device.table().stream_get_native(stream.stream, &native, status);
  });
  return native;
} catch (...) {
  detail::rethrow_as_error();
}

namespace {
thread_local const CurrentStream* innermost = nullptr;
}

CurrentStream::CurrentStream(const StreamRef& stream) try : stream_(stream), previous_(innermost) {
  live(stream);
  innermost = this;
} catch (...) {
  detail::rethrow_as_error();
}

CurrentStream::~CurrentStream() {
  for (const CurrentStream** link = &innermost; *link; link = &(*link)->previous_) {
    if (*link != this) continue;
    *link = previous_;
    return;
  }
}

StreamRef current_stream(const Device& device) try {
  for (const CurrentStream* scope = innermost; scope; scope = scope->previous_)
    if (&scope->stream_.state()->device == device.state()) return scope->stream_;
  return device.default_stream();
} catch (...) {
  detail::rethrow_as_error();
}

}  // namespace weir
