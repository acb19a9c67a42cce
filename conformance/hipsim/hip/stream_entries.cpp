// SPDX-License-Identifier: Apache-2.0
// Streams, events and host functions.
#include "hip/entry.hpp"

namespace weir::hipsim {
namespace {

constexpr unsigned event_disable_timing = 2, event_flags = 0x7 | 0xc0000000u, stream_non_blocking = 1;

hipError_t create_stream(const char* name, hipStream_t* out, unsigned flags, int priority) {
  return device_entry(name, [&](Runtime& r, Device& d) {
    if (!out || flags > stream_non_blocking) return hipErrorInvalidValue;
    const int within = priority < -1 ? -1 : priority > 1 ? 1 : priority;
    *out = r.streams.add<hipStream_t>(d.create_stream(flags, within));
    return hipSuccess;
  });
}

hipError_t create_event(const char* name, hipEvent_t* out, unsigned flags) {
  return device_entry(name, [&](Runtime& r, Device& d) {
    if (!out || (flags & ~event_flags)) return hipErrorInvalidValue;
    auto event = std::make_shared<Event>();
    event->flags = flags;
    event->device = d.index;
    *out = r.events.add<hipEvent_t>(std::move(event));
    return hipSuccess;
  });
}

std::shared_ptr<Marker> marker_of(Event& event) {
  const std::scoped_lock lock(event.mutex);
  return event.marker;
}

hipError_t error_of(Runtime& r, int device) {
  return r.devices[std::size_t(device)]->error();
}

}  // namespace

HIPSIM_EXPORT hipError_t hipStreamCreate(hipStream_t* out) {
  return create_stream("hipStreamCreate", out, 0, 0);
}
HIPSIM_EXPORT hipError_t hipStreamCreateWithFlags(hipStream_t* out, unsigned flags) {
  return create_stream("hipStreamCreateWithFlags", out, flags, 0);
}
HIPSIM_EXPORT hipError_t hipStreamCreateWithPriority(hipStream_t* out, unsigned flags, int priority) {
  return create_stream("hipStreamCreateWithPriority", out, flags, priority);
}
HIPSIM_EXPORT hipError_t hipStreamDestroy(hipStream_t handle) {
  return entry("hipStreamDestroy", [&](Runtime& r) {
    const auto stream = r.streams.remove(handle);
    if (!stream) return hipErrorInvalidHandle;
    r.devices[std::size_t(stream->device)]->remove_stream(stream);
    return hipSuccess;
  });
}
HIPSIM_EXPORT hipError_t hipStreamSynchronize(hipStream_t handle) {
  return entry("hipStreamSynchronize", [&](Runtime& r) {
    if (r.devices.empty()) return hipErrorNoDevice;
    const auto stream = stream_of(r, handle);
    if (!stream) return hipErrorInvalidHandle;
    Device& d = *r.devices[std::size_t(stream->device)];
    if (handle) {
      stream->synchronize();
    } else {
      const auto marker = std::make_shared<Marker>();  // also after the work of the blocking streams
      d.enqueue(stream, marker);
      marker->wait();
    }
    return d.error();
  });
}
HIPSIM_EXPORT hipError_t hipStreamQuery(hipStream_t handle) {
  return entry("hipStreamQuery", [&](Runtime& r) {
    if (r.devices.empty()) return hipErrorNoDevice;
    const auto stream = stream_of(r, handle);
    if (!stream) return hipErrorInvalidHandle;
    if (!stream->idle()) return hipErrorNotReady;
    return error_of(r, stream->device);
  });
}
HIPSIM_EXPORT hipError_t hipStreamGetPriority(hipStream_t handle, int* priority) {
  return entry("hipStreamGetPriority", [&](Runtime& r) {
    const auto stream = stream_of(r, handle);
    if (!stream) return hipErrorInvalidHandle;
    if (!priority) return hipErrorInvalidValue;
    *priority = stream->priority;
    return hipSuccess;
  });
}
HIPSIM_EXPORT hipError_t hipStreamGetFlags(hipStream_t handle, unsigned* flags) {
  return entry("hipStreamGetFlags", [&](Runtime& r) {
    const auto stream = stream_of(r, handle);
    if (!stream) return hipErrorInvalidHandle;
    if (!flags) return hipErrorInvalidValue;
    *flags = stream->flags;
    return hipSuccess;
  });
}
HIPSIM_EXPORT hipError_t hipStreamGetDevice(hipStream_t handle, hipDevice_t* device) {
  return entry("hipStreamGetDevice", [&](Runtime& r) {
    const auto stream = stream_of(r, handle);
    if (!stream) return hipErrorInvalidHandle;
    if (!device) return hipErrorInvalidValue;
    *device = stream->device;
    return hipSuccess;
  });
}
HIPSIM_EXPORT hipError_t hipStreamWaitEvent(hipStream_t handle, hipEvent_t event_handle, unsigned flags) {
  return entry("hipStreamWaitEvent", [&](Runtime& r) {
    if (r.devices.empty()) return hipErrorNoDevice;
    const auto stream = stream_of(r, handle);
    const auto event = r.events.find(event_handle);
    if (!stream || !event) return hipErrorInvalidHandle;
    if (flags > 1) return hipErrorInvalidValue;
    const auto marker = marker_of(*event);
    if (marker && !marker->reached())
      r.devices[std::size_t(stream->device)]->enqueue(stream, [marker] { marker->wait(); });
    return hipSuccess;
  });
}
HIPSIM_EXPORT hipError_t hipLaunchHostFunc(hipStream_t handle, hipHostFn_t function, void* data) {
  return entry("hipLaunchHostFunc", [&](Runtime& r) {
    if (r.devices.empty()) return hipErrorNoDevice;
    const auto stream = stream_of(r, handle);
    if (!stream) return hipErrorInvalidHandle;
    if (!function) return hipErrorInvalidValue;
    enqueue(r, stream, HostWork{function, data});
    return hipSuccess;
  });
}
HIPSIM_EXPORT hipError_t hipStreamAddCallback(hipStream_t handle, hipStreamCallback_t callback, void* data,
                                              unsigned flags) {
  return entry("hipStreamAddCallback", [&](Runtime& r) {
    if (r.devices.empty()) return hipErrorNoDevice;
    const auto stream = stream_of(r, handle);
    if (!stream) return hipErrorInvalidHandle;
    if (!callback || flags != 0) return hipErrorInvalidValue;
    Device& d = *r.devices[std::size_t(stream->device)];
    d.enqueue(stream, [&d, handle, callback, data] { callback(handle, d.error(), data); });
    return hipSuccess;
  });
}

HIPSIM_EXPORT hipError_t hipEventCreate(hipEvent_t* out) {
  return create_event("hipEventCreate", out, 0);
}
HIPSIM_EXPORT hipError_t hipEventCreateWithFlags(hipEvent_t* out, unsigned flags) {
  return create_event("hipEventCreateWithFlags", out, flags);
}
HIPSIM_EXPORT hipError_t hipEventDestroy(hipEvent_t handle) {
  return entry("hipEventDestroy",
               [&](Runtime& r) { return r.events.remove(handle) ? hipSuccess : hipErrorInvalidHandle; });
}
HIPSIM_EXPORT hipError_t hipEventRecord(hipEvent_t handle, hipStream_t stream_handle) {
  return entry("hipEventRecord", [&](Runtime& r) {
    if (r.devices.empty()) return hipErrorNoDevice;
    const auto event = r.events.find(handle);
    const auto stream = stream_of(r, stream_handle);
    if (!event || !stream || event->device != stream->device) return hipErrorInvalidHandle;
    const auto marker = std::make_shared<Marker>();
    {
      const std::scoped_lock lock(event->mutex);
      event->marker = marker;
    }
    r.devices[std::size_t(stream->device)]->enqueue(stream, marker);
    return hipSuccess;
  });
}
HIPSIM_EXPORT hipError_t hipEventQuery(hipEvent_t handle) {
  return entry("hipEventQuery", [&](Runtime& r) {
    const auto event = r.events.find(handle);
    if (!event) return hipErrorInvalidHandle;
    const auto marker = marker_of(*event);
    if (marker && !marker->reached()) return hipErrorNotReady;
    return error_of(r, event->device);
  });
}
HIPSIM_EXPORT hipError_t hipEventSynchronize(hipEvent_t handle) {
  return entry("hipEventSynchronize", [&](Runtime& r) {
    const auto event = r.events.find(handle);
    if (!event) return hipErrorInvalidHandle;
    if (const auto marker = marker_of(*event)) marker->wait();
    return error_of(r, event->device);
  });
}
HIPSIM_EXPORT hipError_t hipEventElapsedTime(float* milliseconds, hipEvent_t first_handle,
                                             hipEvent_t last_handle) {
  return entry("hipEventElapsedTime", [&](Runtime& r) {
    const auto first = r.events.find(first_handle), last = r.events.find(last_handle);
    if (!milliseconds) return hipErrorInvalidValue;
    if (!first || !last || ((first->flags | last->flags) & event_disable_timing))
      return hipErrorInvalidHandle;
    const auto start = marker_of(*first), end = marker_of(*last);
    if (!start || !end) return hipErrorInvalidHandle;
    if (!start->reached() || !end->reached()) return hipErrorNotReady;
    *milliseconds = float(double(end->time() - start->time()) * 1e-6);
    return hipSuccess;
  });
}

}  // namespace weir::hipsim
