// SPDX-License-Identifier: Apache-2.0
#include "stream/stream.hpp"

#include <new>
#include <utility>

#include "functions.hpp"
#include "graph/graph.hpp"
#include "memory.hpp"
#include "stream/callbacks.hpp"
#include "stream/event.hpp"
#include "stream/futex.hpp"

namespace weir::cpu {

void Stream::drop_reference() noexcept {
  if (references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  while (spare) delete std::exchange(spare, spare->next);
  spare_operations = 0;
  Pool<Stream>::of().give(*this);
}

Stream& take_stream(Device& device) {
  Stream& stream = Pool<Stream>::of().take();
  stream.device = &device;
  stream.error.store(WEIR_OK, std::memory_order_relaxed);
  stream.abandoned = false;  // may be set from its earlier use
  stream.host_habit = {};
  stream.references.store(1, std::memory_order_relaxed);
  return stream;
}

Operation* take_operation(Stream& stream) {
  if (!stream.spare) return new Operation;
  --stream.spare_operations;
  return std::exchange(stream.spare, stream.spare->next);
}

void reserve_operations(Stream& stream, std::uint32_t count) {
  for (; stream.spare_operations < count; ++stream.spare_operations) {
    auto* operation = new Operation;
    operation->next = std::exchange(stream.spare, operation);
  }
}

void release_contents(Operation& operation) noexcept {
  switch (operation.kind) {
    case Operation::Kind::blocks:
      if (operation.owns_arguments)
        ::operator delete (const_cast<void*>(operation.work.arguments), std::align_val_t{16});
      break;
    case Operation::Kind::wait:
      operation.wait.stream->drop_reference();
      break;
    case Operation::Kind::stamp:
      operation.stamp.event->drop_reference();
      break;
    case Operation::Kind::callback:
      break;
    case Operation::Kind::release:
      release_pending(*operation.allocation);
      break;
    case Operation::Kind::graph:
      operation.graph.graph->drop_reference();
      break;
    case Operation::Kind::help:
      operation.help.graph->drop_reference();
      break;
  }
}

void check_stream(const Stream& stream) {
  if (weir_result error = stream.error.load(std::memory_order_relaxed); error != WEIR_OK) [[unlikely]]
    fail(
        error,
        "the stream failed earlier: no memory for the shared bytes of a kernel's blocks; destroy the stream");
}

weir_result stream_create(weir_device device_handle, const weir_stream_options* options,
                          weir_stream* out_stream, weir_status* status) {
  return guarded(status, [&] {
    Device& device = live<Device>(device_handle, "device");
    if (options) read_struct(options, "options");
    weir_stream& out = output(out_stream, "out_stream");
    Scheduler::get().start();
    Stream& stream = take_stream(device);
    stream.kind.store(Kind::stream, std::memory_order_release);
    out = handle_of<weir_stream>(stream);
  });
}

weir_result stream_destroy(weir_stream handle, weir_status* status) {
  return guarded(status, [&] {
    Stream& stream = live<Stream>(handle, "stream");
    retire(stream, "stream");
    std::atomic<std::uint32_t>& unfinished = stream.device->unfinished;
    unfinished.fetch_add(1, std::memory_order_relaxed);
    {
      std::lock_guard lock(stream.mutex);
      stream.abandoned = stream.state != Stream::State::idle;
      if (stream.abandoned) return;
    }
    // The last close may have seen this count.
    if (unfinished.fetch_sub(1, std::memory_order_acq_rel) == 1) futex_wake_all(unfinished);
    stream.drop_reference();
  });
}

weir_result stream_flush(weir_stream handle, weir_status* status) {
  return guarded(status, [&] { Scheduler::get().flush(live<Stream>(handle, "stream")); });
}

weir_result stream_query(weir_stream handle, weir_status* status) {
  return guarded(status, [&]() -> weir_result {
    Stream& stream = live<Stream>(handle, "stream");
    const bool done = stream.reached(stream.submitted.load(std::memory_order_acquire));
    check_stream(stream);
    return done ? WEIR_OK : WEIR_NOT_READY;
  });
}

weir_result stream_synchronize(weir_stream handle, weir_status* status) {
  return guarded(status, [&] {
    Stream& stream = live<Stream>(handle, "stream");
    Scheduler::get().wait(stream, stream.submitted.load(std::memory_order_acquire));
    check_stream(stream);
  });
}

weir_result stream_wait_event(weir_stream handle, weir_event event_handle, weir_status* status) {
  return guarded(status, [&] {
    Stream& stream = live<Stream>(handle, "stream");
    Event& event = live<Event>(event_handle, "event");
    check_stream(stream);
    Stream* other = nullptr;
    std::uint64_t mark = 0;
    {
      std::lock_guard lock(event.mutex);
      if (event.stream && event.stream != &stream && !event.stream->reached(event.mark)) {
        other = event.stream;
        mark = event.mark;
        other->add_reference();
      }
    }
    if (!other) return;  // no mark, already reached, or ordered by this stream
    try {
      submit(stream, Weight::light, [&](Operation& operation) {
        operation.kind = Operation::Kind::wait;
        operation.wait = {other, mark};
      });
    } catch (...) {
      other->drop_reference();
      throw;
    }
  });
}

weir_result stream_host_callback(weir_stream handle, weir_host_callback callback, void* user,
                                 weir_status* status) {
  return guarded(status, [&] {
    Stream& stream = live<Stream>(handle, "stream");
    if (!callback) fail(WEIR_ERROR_INVALID, "callback is null; expected a function to call");
    Callbacks::get();  // created here, where a lack of memory can be reported, unlike in a worker
    submit(stream, Weight::heavy, [&](Operation& operation) {
      operation.kind = Operation::Kind::callback;
      operation.callback = {callback, user};
    });
  });
}

weir_result stream_wrap(weir_device, void*, weir_stream*, weir_status* status) {
  report(status, WEIR_ERROR_UNSUPPORTED, "the CPU driver has no native streams to wrap");
  return WEIR_ERROR_UNSUPPORTED;
}

weir_result stream_get_native(weir_stream, void**, weir_status* status) {
  report(status, WEIR_ERROR_UNSUPPORTED, "streams of the CPU driver have no native handle");
  return WEIR_ERROR_UNSUPPORTED;
}

}  // namespace weir::cpu
