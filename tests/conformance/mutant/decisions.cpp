// SPDX-License-Identifier: Apache-2.0
// Faults in matters that driver.h once left open.
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "mutant.hpp"

namespace mutant {
namespace {

const pid_t first_process = getpid();

/// The number of device_close calls that run.
std::atomic<int> closing{0};

weir_result count_closing(weir_device device, Status* e) {
  ++closing;
  const weir_result result = real().device_close(device, e);
  --closing;
  return result;
}

weir_result open_and_note(std::uint32_t index, weir_device* out, Status* e) {
  const weir_result result = real().device_open(index, out, e);
  if (result == WEIR_OK) opened_device() = *out;
  return result;
}

/// A graph_create that removes repeated dependencies. `adjacent`: those that are not next to each other only.
template <bool adjacent>
weir_result create_without_repetitions(weir_device d, std::uint32_t count,
                                       const weir_graph_node* const* nodes, weir_graph* out, Status* e) {
  std::vector<weir_graph_node> changed(count);
  std::vector<std::vector<std::uint32_t>> lists(count);
  std::vector<const weir_graph_node*> given(nodes, nodes + count);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (!nodes[i] || !nodes[i]->dependencies || nodes[i]->dependency_count > 1000) continue;
    std::vector<std::uint32_t>& list = lists[i];
    list.assign(nodes[i]->dependencies, nodes[i]->dependencies + nodes[i]->dependency_count);
    if (adjacent && std::ranges::adjacent_find(list) != list.end()) continue;
    std::ranges::sort(list);
    const auto repeated = std::ranges::unique(list);
    list.erase(repeated.begin(), repeated.end());
    changed[i] = *nodes[i];
    changed[i].dependencies = list.data();
    changed[i].dependency_count = static_cast<std::uint32_t>(list.size());
    given[i] = &changed[i];
  }
  return real().graph_create(d, count, count ? given.data() : nodes, out, e);
}

}  // namespace

std::span<const Mutant> decision_mutants() {
  static const Mutant mutants[] = {
      {"device-open-refused-while-it-closes", "a device that is closing can be opened again",
       [](Table& t) {
         t.device_close = count_closing;
         t.device_open = [](std::uint32_t index, weir_device* out, Status* e) {
           return closing ? refuse(e, WEIR_ERROR_SYSTEM, "the device is being closed")
                          : open_and_note(index, out, e);
         };
       }},
      {"device-opened-while-it-closes-has-no-memory", "a device that is closing can be opened again",
       [](Table& t) {
         static std::atomic<bool> opened_late{false};
         t.device_close = count_closing;
         t.device_open = [](std::uint32_t index, weir_device* out, Status* e) {
           opened_late = closing != 0;
           return open_and_note(index, out, e);
         };
         t.memory_allocate = [](weir_device d, const weir_memory_options* options, Memory* out, Status* e) {
           return opened_late ? refuse(e, WEIR_ERROR_OUT_OF_MEMORY, "the device's heap has ended")
                              : real().memory_allocate(d, options, out, e);
         };
       }},
      {"fork-stream-query-not-ready", "a query in a forked child returns an error",
       [](Table& t) {
         t.stream_query = [](Stream s, Status* e) {
           return getpid() == first_process ? real().stream_query(s, e) : weir_result{WEIR_NOT_READY};
         };
       }},
      {"fork-event-query-not-ready", "a query in a forked child returns an error",
       [](Table& t) {
         t.event_query = [](Event event, Status* e) {
           return getpid() == first_process ? real().event_query(event, e) : weir_result{WEIR_NOT_READY};
         };
       }},
      {"fork-event-query-ok", "a query in a forked child returns an error",
       [](Table& t) {
         t.event_query = [](Event event, Status* e) {
           return getpid() == first_process ? real().event_query(event, e) : weir_result{WEIR_OK};
         };
       }},
      {"event-synchronize-polls-the-last-mark", "event_synchronize waits for the mark at the call",
       [](Table& t) {
         t.event_synchronize = [](Event event, Status* e) {
           weir_result result = WEIR_NOT_READY;
           while ((result = real().event_query(event, e)) == WEIR_NOT_READY) sched_yield();
           return result;
         };
       }},
      {"event-synchronize-waits-for-later-marks", "event_synchronize waits for the mark at the call",
       [](Table& t) {
         t.event_synchronize = [](Event event, Status* e) {
           weir_result result = WEIR_OK;
           do result = real().event_synchronize(event, e);
           while (result == WEIR_OK && real().event_query(event, e) == WEIR_NOT_READY);
           return result;
         };
       }},
      {"exit-handler-prints", "exit handlers print nothing",
       [](Table& t) {
         t.device_open = [](std::uint32_t index, weir_device* out, Status* e) {
           static const int registered = std::atexit([] { std::fputs("all devices are closed\n", stderr); });
           (void)registered;
           return open_and_note(index, out, e);
         };
       }},
      {"wrap-to-the-end-of-addresses", "an address and a size of 2^64 together are invalid",
       [](Table& t) {
         t.memory_wrap = [](weir_device d, const weir_external_memory* given, Memory* out, Status* e) {
           if (!given || given->address == 0 || given->size == 0 || given->address + given->size != 0)
             return real().memory_wrap(d, given, out, e);
           weir_external_memory shorter = *given;
           --shorter.size;
           return real().memory_wrap(d, &shorter, out, e);
         };
       }},
      {"async-free-of-pinned-memory-at-once", "memory is freed in the order of its stream",
       [](Table& t) {
         t.memory_free_async = [](Stream s, Memory m, Status* e) {
           return is_pinned(m) ? real().memory_free(m, e) : real().memory_free_async(s, m, e);
         };
       }},
      {"graph-repeated-dependencies-accepted", "no dependency is listed twice",
       [](Table& t) { t.graph_create = create_without_repetitions<false>; }},
      {"graph-distant-repetitions-accepted", "no dependency is listed twice",
       [](Table& t) { t.graph_create = create_without_repetitions<true>; }},
      {"fill-of-nothing-with-a-null-pattern", "the pattern is checked also if the size is 0",
       [](Table& t) {
         t.fill = [](Stream s, Memory m, Size at, Size n, const void* pattern, std::uint32_t width,
                     Status* e) {
           static const std::uint8_t zeros[16] = {};
           return real().fill(s, m, at, n, n == 0 && !pattern ? zeros : pattern, width, e);
         };
       }},
      {"graph-fill-of-nothing-with-a-null-pattern", "the pattern is checked also if the size is 0",
       [](Table& t) {
         t.graph_create = [](weir_device d, std::uint32_t count, const weir_graph_node* const* nodes,
                             weir_graph* out, Status* e) {
           static const std::uint8_t zeros[16] = {};
           if (count != 1 || !nodes || !nodes[0] || nodes[0]->kind != WEIR_GRAPH_FILL ||
               nodes[0]->size != 0 || nodes[0]->pattern)
             return real().graph_create(d, count, nodes, out, e);
           weir_graph_node changed = *nodes[0];
           changed.pattern = zeros;
           const weir_graph_node* const given = &changed;
           return real().graph_create(d, 1, &given, out, e);
         };
       }},
      {"arguments-rounded-down", "arguments have any alignment",
       [](Table& t) {
         t.kernel_launch = [](Stream s, const weir_launch* launch, Status* e) {
           weir_launch changed = *launch;
           changed.arguments = reinterpret_cast<const void*>(
               reinterpret_cast<std::uintptr_t>(launch->arguments) & ~std::uintptr_t{3});
           return real().kernel_launch(s, &changed, e);
         };
       }},
  };
  return mutants;
}

}  // namespace mutant
