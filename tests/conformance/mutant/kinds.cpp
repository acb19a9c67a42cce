// SPDX-License-Identifier: Apache-2.0
// Faults with one kind of object only: pinned memory, memory of a stream, events of destroyed streams,
// structs of newer hosts.
#include <map>
#include <mutex>

#include "mutant.hpp"

namespace mutant {
namespace {

std::mutex kinds_mutex;

/// The stream of the last record of each event.
std::map<Event, Stream>& streams_of_events() {
  static std::map<Event, Stream> all;
  return all;
}

weir_result record_and_note(Event event, Stream s, Status* e) {
  const std::lock_guard lock(kinds_mutex);
  streams_of_events()[event] = s;
  return real().event_record(event, s, e);
}

/// Whether the stream of the event's last record was destroyed.
bool lost_its_stream(Event event) {
  const std::lock_guard lock(kinds_mutex);
  const auto found = streams_of_events().find(event);
  return found != streams_of_events().end() && !found->second;
}

weir_result destroy_and_note(Stream s, Status* e) {
  const std::lock_guard lock(kinds_mutex);
  for (auto& [event, stream] : streams_of_events())
    if (stream == s) stream = nullptr;
  return real().stream_destroy(s, e);
}

/// The stream that allocated each allocation of memory_allocate_async.
std::map<Memory, Stream>& owners() {
  static std::map<Memory, Stream> all;
  return all;
}

}  // namespace

std::span<const Mutant> kind_mutants() {
  static const Mutant mutants[] = {
      {"pinned-memory-is-not-filled", "all functions take pinned memory",
       [](Table& t) {
         t.fill = [](Stream s, Memory m, Size at, Size n, const void* pattern, std::uint32_t width,
                     Status* e) {
           return is_pinned(m) ? weir_result{WEIR_OK} : real().fill(s, m, at, n, pattern, width, e);
         };
       }},
      {"pinned-memory-is-no-source", "all functions take pinned memory",
       [](Table& t) {
         t.copy_on_device = [](Stream s, Memory to, Size at, Memory from, Size from_at, Size n, Status* e) {
           return is_pinned(from) ? refuse(e, WEIR_ERROR_INVALID, "source is host memory; use copy_to_device")
                                  : real().copy_on_device(s, to, at, from, from_at, n, e);
         };
       }},
      {"pinned-memory-has-offset-0-only", "copies begin at their offset",
       [](Table& t) {
         t.copy_on_device = [](Stream s, Memory to, Size at, Memory from, Size from_at, Size n, Status* e) {
           return real().copy_on_device(s, to, is_pinned(to) ? 0 : at, from, is_pinned(from) ? 0 : from_at, n,
                                        e);
         };
         t.fill = [](Stream s, Memory m, Size at, Size n, const void* pattern, std::uint32_t width,
                     Status* e) {
           return real().fill(s, m, is_pinned(m) && at + n <= size_of(m) ? 0 : at, n, pattern, width, e);
         };
       }},
      {"event-query-needs-its-stream", "an event outlives its stream",
       [](Table& t) {
         t.event_record = record_and_note;
         t.stream_destroy = destroy_and_note;
         t.event_query = [](Event event, Status* e) {
           return lost_its_stream(event) ? refuse(e, WEIR_ERROR_INVALID, "the event's stream was destroyed")
                                         : real().event_query(event, e);
         };
       }},
      {"event-synchronize-needs-its-stream", "an event outlives its stream",
       [](Table& t) {
         t.event_record = record_and_note;
         t.stream_destroy = destroy_and_note;
         t.event_synchronize = [](Event event, Status* e) {
           return lost_its_stream(event) ? refuse(e, WEIR_ERROR_INVALID, "the event's stream was destroyed")
                                         : real().event_synchronize(event, e);
         };
       }},
      {"event-wait-of-its-own-stream-refused", "a stream waits for an event of its own",
       [](Table& t) {
         t.event_record = record_and_note;
         t.stream_wait_event = [](Stream s, Event event, Status* e) {
           {
             const std::lock_guard lock(kinds_mutex);
             const auto found = streams_of_events().find(event);
             if (found != streams_of_events().end() && found->second == s)
               return refuse(e, WEIR_ERROR_INVALID, "the stream would wait for itself");
           }
           return real().stream_wait_event(s, event, e);
         };
       }},
      {"async-memory-belongs-to-its-stream", "other streams use memory after an event",
       [](Table& t) {
         t.memory_allocate_async = [](Stream s, const weir_memory_options* options, Memory* out, Status* e) {
           const weir_result result = real().memory_allocate_async(s, options, out, e);
           const std::lock_guard lock(kinds_mutex);
           if (result == WEIR_OK) owners()[*out] = s;
           return result;
         };
         t.memory_allocate = [](weir_device d, const weir_memory_options* options, Memory* out, Status* e) {
           const weir_result result = real().memory_allocate(d, options, out, e);
           const std::lock_guard lock(kinds_mutex);
           if (result == WEIR_OK) owners().erase(*out);
           return result;
         };
         t.fill = [](Stream s, Memory m, Size at, Size n, const void* pattern, std::uint32_t width,
                     Status* e) {
           {
             const std::lock_guard lock(kinds_mutex);
             const auto found = owners().find(m);
             if (found != owners().end() && found->second != s)
               return refuse(e, WEIR_ERROR_INVALID, "the memory is of another stream");
           }
           return real().fill(s, m, at, n, pattern, width, e);
         };
         t.copy_to_host = [](Stream s, void* to, Memory m, Size at, Size n, Status* e) {
           {
             const std::lock_guard lock(kinds_mutex);
             const auto found = owners().find(m);
             if (found != owners().end() && found->second != s)
               return refuse(e, WEIR_ERROR_INVALID, "the memory is of another stream");
           }
           return real().copy_to_host(s, to, m, at, n, e);
         };
       }},
      {"stream-options-of-newer-hosts-refused", "a struct_size larger than its own is accepted",
       [](Table& t) {
         t.stream_create = [](weir_device d, const weir_stream_options* options, Stream* out, Status* e) {
           return options && options->struct_size > sizeof *options
                      ? refuse(e, WEIR_ERROR_INVALID, "options.struct_size is unknown")
                      : real().stream_create(d, options, out, e);
         };
       }},
      {"device-info-of-newer-hosts-refused", "a struct_size larger than its own is accepted",
       [](Table& t) {
         t.device_get_info = [](std::uint32_t index, weir_device_info* info, Status* e) {
           return info && info->struct_size > sizeof *info
                      ? refuse(e, WEIR_ERROR_INVALID, "info.struct_size is unknown")
                      : real().device_get_info(index, info, e);
         };
       }},
      {"nodes-of-newer-hosts-refused", "a struct_size larger than its own is accepted",
       [](Table& t) {
         t.graph_create = [](weir_device d, std::uint32_t count, const weir_graph_node* const* nodes,
                             weir_graph* out, Status* e) {
           for (std::uint32_t i = 0; nodes && i < count; ++i)
             if (nodes[i] && nodes[i]->struct_size > sizeof **nodes)
               return refuse(e, WEIR_ERROR_INVALID, "node.struct_size is unknown");
           return real().graph_create(d, count, nodes, out, e);
         };
       }},
  };
  return mutants;
}

}  // namespace mutant
