// SPDX-License-Identifier: Apache-2.0
#include <weir/sdk/floating_point.hpp>

#include "driver.hpp"

namespace weir::vulkan {

Stream& Device::create_stream(std::int32_t priority) {
  check_present();
  sdk::Fresh<Stream> stream;
  stream->device = this;
  Queue& queue = scheduler.choose(priority < 0);
  try {
    stream->line = std::make_shared<Line>(*this, queue);
  } catch (...) {
    scheduler.release(queue);
    throw;
  }
  return stream.publish();
}

void flush_quietly(Line& line, void (Line::*flush)()) noexcept {
  try {
    std::lock_guard lock(line.recording);
    (line.*flush)();
  } catch (const sdk::Failure&) {
  } catch (const std::exception&) {
  }
}

void Stream::destroy() noexcept {
  flush_quietly(*line);
  device->scheduler.release(line->queue);
  line.reset();
  sdk::Pool<Stream>::of().give(*this);
}

void Stream::flush() {
  std::lock_guard lock(line->recording);
  line->flush();
}

bool Stream::query() {
  Mark end;
  {
    std::lock_guard lock(line->recording);
    end = line->mark();
  }
  if (!end.is_complete()) {
    device->check_present();
    return false;
  }
  device->scheduler.report(*line);
  return true;
}

void Stream::synchronize() {
  Mark end;
  {
    std::lock_guard lock(line->recording);
    end = line->mark();
  }
  device->scheduler.wait_quietly(end);
  device->scheduler.report(*line);
}

void Stream::wait(Event& event) {
  if (event.device != device)
    sdk::fail(WEIR_ERROR_UNSUPPORTED,
              "the event is of device %u and the stream of device %u; Vulkan's semaphores order work of one "
              "device; wait on the host",
              event.device->index, device->index);
  const Mark mark = event.mark();
  std::lock_guard lock(line->recording);
  device->check_present();
  line->wait(mark);
}

void Stream::record(Event& event) {
  std::shared_ptr<Timestamp> time;
  Mark mark;
  {
    std::lock_guard lock(line->recording);
    device->check_present();
    if (event.timed) {
      time = device->timestamps.take();
      VkCommandBuffer commands = line->commands();
      device->timestamps.record(commands, *time);
      line->open().kept.push_back(time);
    }
    mark = line->mark();
  }
  event.set_mark(std::move(mark), std::move(time));
}

void Stream::host_callback(weir_host_callback callback, void* user) {
  std::lock_guard lock(line->recording);
  device->check_present();
  line->append_host([callback, user] {
    const sdk::DefaultFloatingPoint floating_point;
    callback(user);
  });
}

}  // namespace weir::vulkan
