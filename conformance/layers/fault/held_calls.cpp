// SPDX-License-Identifier: Apache-2.0
// The calls that are held back, with copies of their arguments, and the calls that submit held work.
#include <cstring>
#include <vector>
#include <weir/sdk/status.hpp>

#include "held.hpp"

namespace weir::fault {

// -- streams

weir_result Held::stream_destroy(weir_stream stream, weir_status* status) {
  const std::shared_ptr<Queue> queue = queue_of(stream);
  const std::lock_guard order(order_);
  start(*queue, ~std::uint64_t{0});
  {
    const std::lock_guard lock(mutex_);
    queues_.erase(stream);
  }
  return next_.stream_destroy(stream, status);
}

weir_result Held::stream_flush(weir_stream stream, weir_status* status) {
  start_for(stream);
  return next_.stream_flush(stream, status);
}

weir_result Held::stream_query(weir_stream stream, weir_status* status) {
  const std::shared_ptr<Queue> queue = queue_of(stream);
  if (const weir_result failure = late_failure(*queue, status); failure != WEIR_OK) return failure;
  {
    const std::lock_guard lock(mutex_);
    if (!queue->operations.empty()) return WEIR_NOT_READY;
  }
  // A call that another thread is submitting now is in no queue and not in the driver yet.
  const std::lock_guard order(order_);
  return next_.stream_query(stream, status);
}

weir_result Held::stream_synchronize(weir_stream stream, weir_status* status) {
  start_for(stream);
  const weir_result result = next_.stream_synchronize(stream, status);
  const weir_result failure = late_failure(*queue_of(stream), status);
  return failure != WEIR_OK ? failure : result;
}

weir_result Held::stream_host_callback(weir_stream stream, weir_host_callback callback, void* user,
                                       weir_status* status) {
  return hold(
      stream, [=, this](weir_status* e) { return next_.stream_host_callback(stream, callback, user, e); },
      status);
}

// -- events

weir_result Held::event_create(weir_device device, std::uint32_t flags, weir_event* out,
                               weir_status* status) {
  auto event = std::make_unique<Event>(Event{device, flags, nullptr, {}});
  const weir_result result = next_.event_create(device, flags, &event->real, status);
  if (result == WEIR_OK) *out = reinterpret_cast<weir_event>(event.release());
  return result;
}

weir_result Held::event_destroy(weir_event handle, weir_status* status) {
  const std::unique_ptr<Event> event(&real(handle));
  return next_.event_destroy(event->real, status);
}

std::shared_ptr<Held::Mark> Held::last_mark(weir_event event) {
  const std::lock_guard lock(mutex_);
  return real(event).last;
}

weir_result Held::event_record(weir_event handle, weir_stream stream, weir_status* status) {
  Event& event = real(handle);
  const auto mark = std::make_shared<Mark>(next_);
  if (const weir_result result = next_.event_create(event.device, event.flags, &mark->event, status);
      result != WEIR_OK)
    return result;
  const weir_result result = hold(
      stream, [=, this](weir_status* e) { return next_.event_record(mark->event, stream, e); }, status, {},
      mark);
  if (result != WEIR_OK) return result;
  std::shared_ptr<Mark> before;  // released after the lock: its destructor calls the driver
  const std::lock_guard lock(mutex_);
  before = std::exchange(event.last, mark);
  return WEIR_OK;
}

weir_result Held::stream_wait_event(weir_stream stream, weir_event event, weir_status* status) {
  const std::shared_ptr<Mark> mark = last_mark(event);
  if (!mark)
    return next_.stream_wait_event(stream, real(event).real, status);  // no effect, but checks the arguments
  return hold(
      stream, [=, this](weir_status* e) { return next_.stream_wait_event(stream, mark->event, e); }, status,
      mark);
}

weir_result Held::event_query(weir_event event, weir_status* status) {
  const std::shared_ptr<Mark> mark = last_mark(event);
  if (!mark) return next_.event_query(real(event).real, status);
  {
    const std::lock_guard lock(mutex_);
    if (!mark->started) return WEIR_NOT_READY;
  }
  return next_.event_query(mark->event, status);
}

weir_result Held::event_synchronize(weir_event event, weir_status* status) {
  const std::shared_ptr<Mark> mark = last_mark(event);
  if (!mark) return next_.event_synchronize(real(event).real, status);
  {
    const std::lock_guard order(order_);
    if (reorder_) start_in_some_order();
    start(*mark->queue, mark->number);
  }
  return next_.event_synchronize(mark->event, status);
}

weir_result Held::event_elapsed(weir_event start_event, weir_event end_event, double* out,
                                weir_status* status) {
  const std::shared_ptr<Mark> first = last_mark(start_event), last = last_mark(end_event);
  {
    const std::lock_guard lock(mutex_);
    if (first && last && (!first->started || !last->started)) return WEIR_NOT_READY;
  }
  return next_.event_elapsed(first ? first->event : real(start_event).real,
                             last ? last->event : real(end_event).real, out, status);
}

// -- memory

weir_result Held::memory_allocate_async(weir_stream stream, const weir_memory_options* options,
                                        weir_allocation* out, weir_status* status) {
  weir_result result = next_.memory_allocate_async(stream, options, out, status);
  if (result != WEIR_ERROR_OUT_OF_MEMORY) return result;
  start_all();  // memory that the program has freed may still be waiting in a queue
  return next_.memory_allocate_async(stream, options, out, status);
}

weir_result Held::memory_free_async(weir_stream stream, weir_allocation allocation, weir_status* status) {
  return hold(
      stream, [=, this](weir_status* e) { return next_.memory_free_async(stream, allocation, e); }, status);
}

// -- copies and fills

weir_result Held::copy_to_device(weir_stream stream, weir_allocation to, std::uint64_t at, const void* from,
                                 std::uint64_t size, weir_status* status) {
  return hold(
      stream, [=, this](weir_status* e) { return next_.copy_to_device(stream, to, at, from, size, e); },
      status);
}

weir_result Held::copy_to_host(weir_stream stream, void* to, weir_allocation from, std::uint64_t at,
                               std::uint64_t size, weir_status* status) {
  return hold(
      stream, [=, this](weir_status* e) { return next_.copy_to_host(stream, to, from, at, size, e); },
      status);
}

weir_result Held::copy_on_device(weir_stream stream, weir_allocation to, std::uint64_t to_at,
                                 weir_allocation from, std::uint64_t from_at, std::uint64_t size,
                                 weir_status* status) {
  return hold(
      stream,
      [=, this](weir_status* e) { return next_.copy_on_device(stream, to, to_at, from, from_at, size, e); },
      status);
}

weir_result Held::copy_peer(weir_stream stream, weir_allocation to, std::uint64_t to_at, weir_allocation from,
                            std::uint64_t from_at, std::uint64_t size, weir_status* status) {
  return hold(
      stream,
      [=, this](weir_status* e) { return next_.copy_peer(stream, to, to_at, from, from_at, size, e); },
      status);
}

weir_result Held::fill(weir_stream stream, weir_allocation to, std::uint64_t at, std::uint64_t size,
                       const void* pattern, std::uint32_t pattern_size, weir_status* status) {
  if (!pattern || pattern_size > 16) return next_.fill(stream, to, at, size, pattern, pattern_size, status);
  std::array<std::byte, 16> bytes{};
  std::memcpy(bytes.data(), pattern, pattern_size);
  return hold(
      stream,
      [=, this](weir_status* e) { return next_.fill(stream, to, at, size, bytes.data(), pattern_size, e); },
      status);
}

// -- kernels and graphs

weir_result Held::kernel_launch(weir_stream stream, const weir_launch* launch, weir_status* status) {
  if (!launch) return next_.kernel_launch(stream, launch, status);
  const weir_launch copy = sdk::read_struct(launch, "launch");
  if (copy.argument_bytes && !copy.arguments) return next_.kernel_launch(stream, launch, status);
  // 16 bytes at a time, so that the copy has the alignment of the arguments.
  struct alignas(16) Unit {
    std::byte bytes[16];
  };
  std::vector<Unit> arguments((copy.argument_bytes + sizeof(Unit) - 1) / sizeof(Unit));
  if (copy.argument_bytes) std::memcpy(arguments.data(), copy.arguments, copy.argument_bytes);
  return hold(
      stream,
      [this, stream, copy, arguments = std::move(arguments)](weir_status* e) {
        weir_launch held = copy;
        held.struct_size = sizeof held;
        held.arguments = copy.arguments ? arguments.data() : nullptr;
        return next_.kernel_launch(stream, &held, e);
      },
      status);
}

weir_result Held::graph_launch(weir_graph graph, weir_stream stream, weir_status* status) {
  return hold(
      stream, [=, this](weir_status* e) { return next_.graph_launch(graph, stream, e); }, status);
}

}  // namespace weir::fault
