// SPDX-License-Identifier: Apache-2.0
// In-order queues. Every command is flushed at once. Otherwise a queue could wait for an event whose command
// is still in the host's buffer.
#include "driver.hpp"

namespace opencl {

using namespace std::string_view_literals;

/// `enqueue(event)` submits one command. Returns its event.
template <class Enqueue>
Owned<cl_event> Stream::submit(std::string_view doing, Enqueue&& enqueue) {
  Owned<cl_event> done, before;
  {
    std::lock_guard lock(mutex_);
    answer_failure();
    if (const cl_int code = enqueue(done.out()); code != CL_SUCCESS) [[unlikely]]
      raise(code, std::string(doing));
    before = std::exchange(last_, share(done));
    last_doing_ = doing;
  }
  check(api.clFlush(queue.get()), "start the work of a queue");
  return done;
}

/// Throws the error of the stream's last work, once. The mutex must be held.
void Stream::answer_failure() {
  if (!last_) return;
  try {
    if (is_reached(last_.get(), last_doing_)) last_.reset();
  } catch (...) {
    last_.reset();
    throw;
  }
}

Owned<cl_event> Stream::last() {
  std::lock_guard lock(mutex_);
  answer_failure();
  return share(last_);
}

Stream& Device::create_stream(std::int32_t) {
  sdk::Fresh<Stream> stream;
  stream->device = this;
  stream->queue = create_queue();
  return stream.publish();
}

/// OpenCL releases a queue after its work is done.
void Stream::destroy() noexcept {
  {
    std::lock_guard lock(mutex_);
    last_.reset();
  }
  queue.reset();
  sdk::Pool<Stream>::of().give(*this);
}

void Stream::flush() {
  check(api.clFlush(queue.get()), "start the work of a queue");
}

bool Stream::query() {
  return !last();
}

void Stream::synchronize() {
  const Owned<cl_event> end = last();
  if (!end) return;
  const cl_int code = outcome_of(end.get());
  std::lock_guard lock(mutex_);
  if (last_.get() == end.get()) last_.reset();
  if (code != CL_SUCCESS) raise(code, "finish the stream's work, last of it: " + last_doing_);
}

void Stream::wait(Event& event) {
  if (event.device != device)
    sdk::fail(
        WEIR_ERROR_UNSUPPORTED,
        "the event is of device %u and the stream of device %u; OpenCL orders queues of one context only",
        event.device->index, device->index);
  const Owned<cl_event> mark = event.mark();
  if (!mark) return;
  const cl_event list[] = {mark.get()};
  submit("wait for an event"sv,
         [&](cl_event* done) { return api.clEnqueueBarrierWithWaitList(queue.get(), 1, list, done); });
}

/// The event of the last command serves as the mark. Timed events need a command of their own, because the
/// last one may have ended long ago.
void Stream::record(Event& event) {
  if (!event.timed) return event.set_mark(last());
  event.set_mark(submit("mark the time"sv, [&](cl_event* done) {
    return api.clEnqueueMarkerWithWaitList(queue.get(), 0, nullptr, done);
  }));
}

void Stream::host_callback(weir_host_callback callback, void* user) {
  cl_int code = CL_SUCCESS;
  auto call = std::make_unique<Callbacks::Call>();
  call->owner = &device->callbacks;
  call->function = callback;
  call->user = user;
  call->held = Owned<cl_event>(api.clCreateUserEvent(device->context.get(), &code));
  check(code, "make an event for a host callback");
  device->callbacks.start();
  const cl_event held[] = {call->held.get()};
  Owned<cl_event> reached;
  submit("wait for a host callback"sv, [&](cl_event* done) {
    code = api.clEnqueueMarkerWithWaitList(queue.get(), 0, nullptr, reached.out());
    if (code != CL_SUCCESS) return code;
    return api.clEnqueueBarrierWithWaitList(queue.get(), 1, held, done);
  });
  device->callbacks.call_after(reached, std::move(call));
}

void Stream::copy_to_device(Allocation& to, std::uint64_t offset, const void* from, std::uint64_t size) {
  submit("copy to the device"sv, [&](cl_event* done) {
    return api.clEnqueueWriteBuffer(queue.get(), to.buffer.get(), CL_FALSE, offset, size, from, 0, nullptr,
                                    done);
  });
}

void Stream::copy_to_host(void* to, Allocation& from, std::uint64_t offset, std::uint64_t size) {
  submit("copy to the host"sv, [&](cl_event* done) {
    return api.clEnqueueReadBuffer(queue.get(), from.buffer.get(), CL_FALSE, offset, size, to, 0, nullptr,
                                   done);
  });
}

void Stream::copy_on_device(Allocation& to, std::uint64_t to_offset, Allocation& from,
                            std::uint64_t from_offset, std::uint64_t size) {
  submit("copy on the device"sv, [&](cl_event* done) {
    return api.clEnqueueCopyBuffer(queue.get(), from.buffer.get(), to.buffer.get(), from_offset, to_offset,
                                   size, 0, nullptr, done);
  });
}

void Stream::fill(Allocation& to, std::uint64_t offset, std::uint64_t size, const sdk::Pattern& pattern) {
  submit("fill memory"sv, [&](cl_event* done) {
    return api.clEnqueueFillBuffer(queue.get(), to.buffer.get(), pattern.bytes, pattern.size, offset, size, 0,
                                   nullptr, done);
  });
}

void Stream::launch(Kernel& kernel, const weir_launch& launch) {
  const Kernel::Lease lease(kernel);
  const Kernel::Views views = kernel.bind(lease, launch);
  std::size_t threads[3], block[3];
  for (int i = 0; i < 3; ++i) {
    block[i] = launch.block[i];
    threads[i] = block[i] * launch.grid[i];
  }
  submit(sdk::format_text("run kernel '%.128s'", kernel.name.c_str()), [&](cl_event* done) {
    return api.clEnqueueNDRangeKernel(queue.get(), lease.get(), 3, nullptr, threads, block, 0, nullptr, done);
  });
}

}  // namespace opencl
