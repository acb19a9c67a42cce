// SPDX-License-Identifier: Apache-2.0
// Holds submitted work back, as driver.h allows, until the host flushes or waits, or a bounded time has
// passed. Work of independent streams may then be submitted to the driver in another order.
//
// Each stream has a queue of calls. A wait for an event names the event's record at the time of the wait, and
// is submitted after that record. Each record has a driver event of its own, because the host may record an
// event again while earlier waits are still held.
#pragma once

#include <weir/driver.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <unordered_map>

namespace weir::fault {

class Held {
 public:
  Held(const weir_driver_table& next, std::uint64_t milliseconds, std::optional<std::uint64_t> seed);
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

  /// Submits everything, so that the next call finds the driver as if nothing had been held.
  void start_all();
  /// The number of calls that are held now.
  std::uint64_t count() const;

  // Same contracts as the slots of these names.
  weir_result stream_destroy(weir_stream stream, weir_status* status);
  weir_result stream_flush(weir_stream stream, weir_status* status);
  weir_result stream_query(weir_stream stream, weir_status* status);
  weir_result stream_synchronize(weir_stream stream, weir_status* status);
  weir_result stream_wait_event(weir_stream stream, weir_event event, weir_status* status);
  weir_result stream_host_callback(weir_stream stream, weir_host_callback callback, void* user,
                                   weir_status* status);
  weir_result event_create(weir_device device, std::uint32_t flags, weir_event* out, weir_status* status);
  weir_result event_destroy(weir_event event, weir_status* status);
  weir_result event_record(weir_event event, weir_stream stream, weir_status* status);
  weir_result event_query(weir_event event, weir_status* status);
  weir_result event_synchronize(weir_event event, weir_status* status);
  weir_result event_elapsed(weir_event start, weir_event end, double* out, weir_status* status);
  weir_result memory_allocate_async(weir_stream stream, const weir_memory_options* options,
                                    weir_allocation* out, weir_status* status);
  weir_result memory_free_async(weir_stream stream, weir_allocation allocation, weir_status* status);
  weir_result copy_to_device(weir_stream stream, weir_allocation to, std::uint64_t at, const void* from,
                             std::uint64_t size, weir_status* status);
  weir_result copy_to_host(weir_stream stream, void* to, weir_allocation from, std::uint64_t at,
                           std::uint64_t size, weir_status* status);
  weir_result copy_on_device(weir_stream stream, weir_allocation to, std::uint64_t to_at,
                             weir_allocation from, std::uint64_t from_at, std::uint64_t size,
                             weir_status* status);
  weir_result copy_peer(weir_stream stream, weir_allocation to, std::uint64_t to_at, weir_allocation from,
                        std::uint64_t from_at, std::uint64_t size, weir_status* status);
  weir_result fill(weir_stream stream, weir_allocation to, std::uint64_t at, std::uint64_t size,
                   const void* pattern, std::uint32_t pattern_size, weir_status* status);
  weir_result kernel_launch(weir_stream stream, const weir_launch* launch, weir_status* status);
  weir_result graph_launch(weir_graph graph, weir_stream stream, weir_status* status);

 private:
  using Clock = std::chrono::steady_clock;
  struct Mark;
  using Call = std::function<weir_result(weir_status*)>;
  struct Operation {
    std::uint64_t number;  // in the order of submission, over all streams
    Call call;
    std::shared_ptr<Mark> after;   // a record that must be started before
    std::shared_ptr<Mark> record;  // the record that this call performs
  };
  struct Queue {
    weir_stream stream = nullptr;
    std::deque<Operation> operations;
    weir_result failure = WEIR_OK;  // of a call that was submitted late
    std::string words;
  };
  /// One record of an event.
  struct Mark {
    explicit Mark(const weir_driver_table& next_) : next(next_) {}
    Mark(const Mark&) = delete;
    Mark& operator=(const Mark&) = delete;
    ~Mark() {
      if (event) next.event_destroy(event, nullptr);
    }
    const weir_driver_table& next;
    weir_event event = nullptr;
    std::shared_ptr<Queue> queue;
    std::uint64_t number = 0;
    bool started = false;
  };
  struct Event {
    weir_device device;
    std::uint32_t flags;
    weir_event real;  // never recorded; used until the event's first record
    std::shared_ptr<Mark> last;
  };

  static Event& real(weir_event event) { return *reinterpret_cast<Event*>(event); }
  std::shared_ptr<Queue> queue_of(weir_stream stream);
  weir_result hold(weir_stream stream, Call call, weir_status* status, std::shared_ptr<Mark> after = {},
                   std::shared_ptr<Mark> record = {});
  weir_result late_failure(Queue& queue, weir_status* status);
  void start(Queue& queue, std::uint64_t up_to);
  void start_in_some_order();
  void start_for(weir_stream stream);
  std::shared_ptr<Mark> last_mark(weir_event event);
  void watch();

  const weir_driver_table next_;
  const Clock::duration most_;
  const bool reorder_;

  std::mutex order_;         // held while calls are submitted, which never block, so that their order is kept
  std::minstd_rand random_;  // guarded by order_

  mutable std::mutex mutex_;  // guards the members below; never held during a call
  std::condition_variable submitted_;
  std::unordered_map<weir_stream, std::shared_ptr<Queue>> queues_;
  std::uint64_t next_number_ = 1, held_ = 0;
  Clock::time_point oldest_{};
  bool watched_ = false;
};

}  // namespace weir::fault
