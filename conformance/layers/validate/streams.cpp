// SPDX-License-Identifier: Apache-2.0
#include "validate.hpp"

namespace weir::validate {

/// Registers a stream, if the driver has created it.
weir_result Validate::put_stream(weir_result made, const std::shared_ptr<Stream>& stream,
                                 const std::shared_ptr<Device>& device, weir_stream& out) {
  if (made != WEIR_OK) return made;
  {
    const Lock lock(mutex_);
    const Places::Place place = places_.take(host_);
    stream->place = place.number;
    stream->count = place.count;
  }
  put(stream, device, out, [&] { next.stream_destroy(stream->real, nullptr); });
  return WEIR_OK;
}

weir_result Validate::stream_create(weir_device handle, const weir_stream_options* options, weir_stream* out,
                                    weir_status* status) {
  const std::shared_ptr<Device> device = live<Device>(handle, "device");
  out_argument(out, "out_stream");
  auto stream = std::make_shared<Stream>();
  return put_stream(next.stream_create(device->real, options, &stream->real, status), stream, device, *out);
}

weir_result Validate::stream_wrap(weir_device handle, void* native, weir_stream* out, weir_status* status) {
  const std::shared_ptr<Device> device = live<Device>(handle, "device");
  out_argument(out, "out_stream");
  auto stream = std::make_shared<Stream>();
  return put_stream(next.stream_wrap(device->real, native, &stream->real, status), stream, device, *out);
}

weir_result Validate::stream_get_native(weir_stream handle, void** out, weir_status* status) {
  const std::shared_ptr<Stream> stream = live<Stream>(handle, "stream");
  out_argument(out, "out_native");
  return next.stream_get_native(stream->real, out, status);
}

weir_result Validate::stream_destroy(weir_stream handle, weir_status* status) {
  const std::shared_ptr<Stream> stream = live<Stream>(handle, "stream");
  taken([&] {
    const Lock lock(mutex_);
    objects_.remove(*stream, "stream_destroy");
    places_.give(stream->place, stream->count);
  });
  return next.stream_destroy(stream->real, status);
}

weir_result Validate::stream_flush(weir_stream handle, weir_status* status) {
  return next.stream_flush(live<Stream>(handle, "stream")->real, status);
}

weir_result Validate::stream_query(weir_stream handle, weir_status* status) {
  const std::shared_ptr<Stream> stream = live<Stream>(handle, "stream");
  const Clock before = clock_of(*stream);
  return waited(next.stream_query(stream->real, status), before);
}

weir_result Validate::stream_synchronize(weir_stream handle, weir_status* status) {
  const std::shared_ptr<Stream> stream = live<Stream>(handle, "stream");
  const Clock before = clock_of(*stream);
  return waited(next.stream_synchronize(stream->real, status), before);
}

weir_result Validate::stream_wait_event(weir_stream handle, weir_event event_handle, weir_status* status) {
  const std::shared_ptr<Stream> stream = live<Stream>(handle, "stream");
  const std::shared_ptr<Event> event = live<Event>(event_handle, "event");
  const Clock mark = clock_of(*event);
  const weir_result result = next.stream_wait_event(stream->real, event->real, status);
  if (result != WEIR_OK) return result;
  return taken([&] {
    const Lock lock(mutex_);
    stream->clock.join(mark);
    stream->clock.join(event->clock);  // includes a record that another thread made meanwhile
  });
}

/// A submitted host callback. When it runs, the host joins the clock of its stream.
struct CallbackCall {
  Validate* layer;
  Clock clock;
  weir_host_callback callback;
  void* user;

  static void run(void* opaque) {
    const std::unique_ptr<CallbackCall> call(static_cast<CallbackCall*>(opaque));
    call->layer->taken([&] {
      const Validate::Lock lock(call->layer->mutex_);
      call->layer->done(call->clock);
    });
    const void* const outer = std::exchange(Validate::in_callback, call.get());
    call->callback(call->user);
    Validate::in_callback = outer;
  }
};

weir_result Validate::stream_host_callback(weir_stream handle, weir_host_callback callback, void* user,
                                           weir_status* status) {
  const std::shared_ptr<Stream> stream = live<Stream>(handle, "stream");
  if (!callback) refuse("null", "callback is null; expected a function to call");
  auto call = std::make_unique<CallbackCall>(CallbackCall{this, {}, callback, user});
  {
    const Lock lock(mutex_);
    tick(*stream);
    call->clock = stream->clock;
  }
  const weir_result result = next.stream_host_callback(stream->real, CallbackCall::run, call.get(), status);
  if (result == WEIR_OK) call.release();
  return result;
}

}  // namespace weir::validate
