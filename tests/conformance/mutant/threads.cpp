// SPDX-License-Identifier: Apache-2.0
// Rules that hold for one thread and little work, but not for many threads or much work.
#include <mutex>
#include <string>
#include <thread>

#include "mutant.hpp"

namespace mutant {
namespace {

weir_status* status_in(weir_status* status) {
  return status;
}
template <class... More>
weir_status* status_in(auto, More... more) {
  return status_in(more...);
}

/// Slots that refuse a call while another thread is inside.
template <auto slot, class Function>
struct OneThread;
template <auto slot, class... A>
struct OneThread<slot, weir_result (*)(A...)> {
  static weir_result call(A... arguments) {
    static std::atomic<bool> busy{false};
    if (busy.exchange(true))
      return refuse(status_in(arguments...), WEIR_ERROR_SYSTEM, "another thread is inside");
    std::this_thread::yield();
    const weir_result result = (real().*slot)(arguments...);
    busy = false;
    return result;
  }
};

template <auto slot>
void for_one_thread(weir_driver_table& table) {
  using Function = std::remove_reference_t<decltype(table.*slot)>;
  table.*slot = OneThread<slot, Function>::call;
}

/// Slots that do nothing after `limit` calls.
template <auto slot, int limit, class Function>
struct Limited;
template <auto slot, int limit, class... A>
struct Limited<slot, limit, weir_result (*)(A...)> {
  static weir_result call(A... arguments) {
    static std::atomic<int> calls{0};
    return ++calls > limit ? weir_result{WEIR_OK} : (real().*slot)(arguments...);
  }
};

template <auto slot, int limit>
void at_most(weir_driver_table& table) {
  using Function = std::remove_reference_t<decltype(table.*slot)>;
  table.*slot = Limited<slot, limit, Function>::call;
}

std::mutex& one_lock() {
  static std::mutex lock;
  return lock;
}

}  // namespace

std::span<const Mutant> thread_mutants() {
  static const Mutant mutants[] = {
      {"threads-fill-alone", "functions are called from many threads at once",
       for_one_thread<&weir_driver_table::fill>},
      {"threads-launch-alone", "functions are called from many threads at once",
       for_one_thread<&weir_driver_table::kernel_launch>},
      {"threads-create-alone", "functions are called from many threads at once",
       for_one_thread<&weir_driver_table::event_create>},
      {"threads-query-alone", "functions are called from many threads at once",
       for_one_thread<&weir_driver_table::event_query>},
      {"threads-share-arguments", "each launch has its own arguments",
       [](weir_driver_table& table) {
         table.kernel_launch = [](weir_stream s, const weir_launch* l, weir_status* e) {
           alignas(16) static char shared[4096];
           if (l->argument_bytes > sizeof shared) return real().kernel_launch(s, l, e);
           std::memcpy(shared, l->arguments, l->argument_bytes);
           std::this_thread::yield();
           weir_launch spoilt = *l;
           spoilt.arguments = shared;
           return real().kernel_launch(s, &spoilt, e);
         };
       }},
      {"threads-wait-under-a-lock", "a thread that waits keeps no other from calling",
       [](weir_driver_table& table) {
         table.stream_synchronize = [](weir_stream s, weir_status* e) {
           const std::lock_guard lock(one_lock());
           return real().stream_synchronize(s, e);
         };
         table.stream_create = [](weir_device d, const weir_stream_options* o, weir_stream* out,
                                  weir_status* e) {
           const std::lock_guard lock(one_lock());
           return real().stream_create(d, o, out, e);
         };
         table.fill = [](weir_stream s, weir_allocation to, std::uint64_t at, std::uint64_t size,
                         const void* pattern, std::uint32_t pattern_size, weir_status* e) {
           const std::lock_guard lock(one_lock());
           return real().fill(s, to, at, size, pattern, pattern_size, e);
         };
       }},
      {"memory-exhausted-for-good", "memory that is freed comes back",
       [](weir_driver_table& table) {
         table.memory_allocate = [](weir_device d, const weir_memory_options* o, weir_allocation* out,
                                    weir_status* e) {
           static std::atomic<bool> exhausted{false};
           if (exhausted) return refuse(e, WEIR_ERROR_OUT_OF_MEMORY, "the memory is exhausted");
           const weir_result result = real().memory_allocate(d, o, out, e);
           if (result == WEIR_ERROR_OUT_OF_MEMORY) exhausted = true;
           return result;
         };
       }},
      {"queue-drops-after-30000-fills", "a stream takes any amount of work",
       at_most<&weir_driver_table::fill, 30000>},
      {"queue-drops-after-15000-launches", "a stream takes any amount of work",
       at_most<&weir_driver_table::kernel_launch, 15000>},
      {"events-limited-to-5000", "there is no small limit to events",
       [](weir_driver_table& table) {
         static std::atomic<int> alive{0};
         table.event_create = [](weir_device d, std::uint32_t flags, weir_event* out, weir_status* e) {
           if (alive >= 5000) return refuse(e, WEIR_ERROR_OUT_OF_MEMORY, "there are 5000 events");
           const weir_result result = real().event_create(d, flags, out, e);
           if (result == WEIR_OK) ++alive;
           return result;
         };
         table.event_destroy = [](weir_event event, weir_status* e) {
           --alive;
           return real().event_destroy(event, e);
         };
       }},
  };
  return mutants;
}

}  // namespace mutant
