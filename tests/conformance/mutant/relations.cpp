// SPDX-License-Identifier: Apache-2.0
// Faults in how one submission relates to another of the same stream, the same graph, or a stream that shares
// a resource. Another driver had them, and an earlier suite did not find them.
#include <atomic>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "submissions.hpp"

namespace mutant {
namespace {

std::mutex relations_mutex;

Event new_mark(std::uint32_t flags = WEIR_EVENT_PLAIN) {
  Event mark = nullptr;
  real().event_create(opened_device(), flags, &mark, nullptr);
  return mark;
}

/// What was submitted to a stream.
struct Submitted {
  Size work = 0;            ///< number of submissions
  Event before = nullptr;   ///< the end of the work before a wait that was submitted last
  Stream source = nullptr;  ///< the stream of that wait's event
};
std::map<Stream, Submitted>& submitted_to() {
  static std::map<Stream, Submitted> all;
  return all;
}
struct Record {
  Stream stream = nullptr;
  Size work = 0;  ///< on the stream before it
};
std::map<Event, Record>& marks_of() {
  static std::map<Event, Record> all;
  return all;
}
void note_work(Stream s, Submission) {
  const std::lock_guard lock(relations_mutex);
  Submitted& submitted = submitted_to()[s];
  ++submitted.work;
  submitted.before = nullptr;
  submitted.source = nullptr;
}

/// Counts the submissions of each stream. `graphs`: those of graphs too.
template <bool graphs>
void count_work(Table& t) {
  note_submissions<note_work>(t);
  if (graphs)
    t.graph_launch = [](weir_graph graph, Stream s, Status* e) {
      note_work(s, Submission::none);
      return real().graph_launch(graph, s, e);
    };
  t.event_record = [](Event event, Stream s, Status* e) {
    {
      const std::lock_guard lock(relations_mutex);
      Submitted& submitted = submitted_to()[s];
      submitted.before = nullptr;
      submitted.source = nullptr;
      marks_of()[event] = {s, submitted.work};
    }
    return real().event_record(event, s, e);
  };
}

/// The time between two records on one stream is 0 if no counted work was submitted between them.
template <bool graphs>
void idle_time_is_lost(Table& t) {
  count_work<graphs>(t);
  t.event_elapsed = [](Event start, Event end, double* out, Status* e) {
    const weir_result result = real().event_elapsed(start, end, out, e);
    const std::lock_guard lock(relations_mutex);
    const Record first = marks_of()[start], last = marks_of()[end];
    if (result == WEIR_OK && first.stream == last.stream && first.work == last.work) *out = 0;
    return result;
  };
}

std::map<Stream, std::size_t>& numbers() {
  static std::map<Stream, std::size_t> all;
  return all;
}
constexpr std::size_t lanes = 64;
std::vector<Event>& lane_ends() {
  static std::vector<Event> all(lanes, nullptr);
  return all;
}

}  // namespace

std::span<const Mutant> relation_mutants() {
  static const Mutant mutants[] = {
      {"callback-overtakes-a-wait", "later work begins after the work that an awaited event covered",
       [](Table& t) {
         count_work<true>(t);
         t.stream_wait_event = [](Stream s, Event event, Status* e) {
           const Event before = new_mark();
           real().event_record(before, s, nullptr);
           {
             const std::lock_guard lock(relations_mutex);
             submitted_to()[s].before = before;
           }
           return real().stream_wait_event(s, event, e);
         };
         t.stream_host_callback = [](Stream s, weir_host_callback function, void* user, Status* e) {
           Event before = nullptr;
           {
             const std::lock_guard lock(relations_mutex);
             before = submitted_to()[s].before;
           }
           note_work(s, Submission::callback);
           if (!before) return real().stream_host_callback(s, function, user, e);
           // On a stream of its own, between the work before the wait and that after the callback.
           weir_stream other = nullptr;
           real().stream_create(opened_device(), nullptr, &other, nullptr);
           real().stream_wait_event(other, before, nullptr);
           const weir_result result = real().stream_host_callback(other, function, user, e);
           const Event after = new_mark();
           real().event_record(after, other, nullptr);
           real().stream_wait_event(s, after, nullptr);
           real().event_destroy(after, nullptr);
           real().stream_destroy(other, nullptr);
           return result;
         };
       }},
      {"second-wait-in-a-row-is-dropped", "later work begins after the work that an awaited event covered",
       [](Table& t) {
         count_work<true>(t);
         t.stream_wait_event = [](Stream s, Event event, Status* e) {
           {
             const std::lock_guard lock(relations_mutex);
             const Stream source = marks_of()[event].stream;
             Submitted& submitted = submitted_to()[s];
             if (source && source != s && submitted.source == source) return weir_result{WEIR_OK};
             submitted.source = source;
           }
           return real().stream_wait_event(s, event, e);
         };
       }},
      {"destroyed-while-it-waits", "the work of a destroyed stream completes",
       [](Table& t) {
         count_work<true>(t);
         t.stream_wait_event = [](Stream s, Event event, Status* e) {
           const weir_result result = real().stream_wait_event(s, event, e);
           const std::lock_guard lock(relations_mutex);
           submitted_to()[s].source = marks_of()[event].stream;
           return result;
         };
         // Callbacks after the wait that is submitted last are kept until more is submitted.
         struct Late {
           weir_host_callback function;
           void* user;
         };
         static std::map<Stream, std::vector<Late>> late;
         static const auto submit_late = [](Stream s) {
           std::vector<Late> all;
           {
             const std::lock_guard lock(relations_mutex);
             all.swap(late[s]);
           }
           for (const Late& one : all) (void)real().stream_host_callback(s, one.function, one.user, nullptr);
         };
         t.stream_host_callback = [](Stream s, weir_host_callback function, void* user, Status* e) {
           {
             const std::lock_guard lock(relations_mutex);
             if (function && submitted_to()[s].source) {
               late[s].push_back({function, user});
               return weir_result{WEIR_OK};
             }
           }
           submit_late(s);
           return real().stream_host_callback(s, function, user, e);
         };
         t.stream_synchronize = [](Stream s, Status* e) {
           submit_late(s);
           return real().stream_synchronize(s, e);
         };
         t.event_record = [](Event event, Stream s, Status* e) {
           submit_late(s);
           {
             const std::lock_guard lock(relations_mutex);
             marks_of()[event] = {s, 0};
             submitted_to()[s].source = nullptr;
           }
           return real().event_record(event, s, e);
         };
         t.stream_destroy = [](Stream s, Status* e) {
           {
             const std::lock_guard lock(relations_mutex);
             late.erase(s);
             submitted_to().erase(s);
           }
           return real().stream_destroy(s, e);
         };
       }},
      {"event-time-of-an-idle-stream", "an event has the time when the stream reached it",
       &idle_time_is_lost<true>},
      {"event-time-after-a-graph", "an event has the time when the stream reached it",
       &idle_time_is_lost<false>},
      {"graph-dependencies-in-8-bits", "a node begins after all its dependencies",
       [](Table& t) {
         t.graph_create = [](weir_device d, std::uint32_t count, const weir_graph_node* const* nodes,
                             weir_graph* out, Status* e) {
           std::vector<weir_graph_node> changed;
           std::vector<const weir_graph_node*> given;
           changed.reserve(count);
           for (std::uint32_t i = 0; nodes && i < count; ++i) {
             if (!nodes[i] || nodes[i]->dependency_count < 256) {
               given.push_back(nodes[i]);
               continue;
             }
             changed.push_back(*nodes[i]);
             changed.back().dependency_count &= 0xff;
             given.push_back(&changed.back());
           }
           return real().graph_create(d, count, nodes ? given.data() : nullptr, out, e);
         };
       }},
      {"async-free-at-once-behind-a-graph", "memory is freed in the order of its stream",
       [](Table& t) {
         static std::map<Stream, bool> graph_was_last;
         t.graph_launch = [](weir_graph graph, Stream s, Status* e) {
           const std::lock_guard lock(relations_mutex);
           graph_was_last[s] = true;
           return real().graph_launch(graph, s, e);
         };
         t.kernel_launch = [](Stream s, const weir_launch* launch, Status* e) {
           const std::lock_guard lock(relations_mutex);
           graph_was_last[s] = false;
           return real().kernel_launch(s, launch, e);
         };
         t.memory_free_async = [](Stream s, Memory m, Status* e) {
           const std::lock_guard lock(relations_mutex);
           return graph_was_last[s] ? real().memory_free(m, e) : real().memory_free_async(s, m, e);
         };
       }},
      {"launches-wait-for-the-next-call", "submitted work starts within a bounded time even without a flush",
       [](Table& t) {
         // The launch waits for a callback that the stream's next call ends.
         static std::map<Stream, std::atomic<bool>*> gates;
         static const auto open_gate = [](Stream s) {
           const std::lock_guard lock(relations_mutex);
           const auto found = gates.find(s);
           if (found == gates.end()) return;
           *found->second = true;
           gates.erase(found);
         };
         t.kernel_launch = [](Stream s, const weir_launch* launch, Status* e) {
           open_gate(s);
           auto* const gate = new std::atomic<bool>(false);  // never freed: a mutant's process is short
           const weir_host_callback wait = [](void* user) {
             while (!*static_cast<std::atomic<bool>*>(user)) std::this_thread::yield();
           };
           (void)real().stream_host_callback(s, wait, gate, nullptr);
           const weir_result result = real().kernel_launch(s, launch, e);
           const std::lock_guard lock(relations_mutex);
           gates[s] = gate;
           return result;
         };
         t.stream_query = [](Stream s, Status* e) {
           open_gate(s);
           return real().stream_query(s, e);
         };
         t.stream_synchronize = [](Stream s, Status* e) {
           open_gate(s);
           return real().stream_synchronize(s, e);
         };
         t.stream_flush = [](Stream s, Status* e) {
           open_gate(s);
           return real().stream_flush(s, e);
         };
         t.stream_destroy = [](Stream s, Status* e) {
           open_gate(s);
           return real().stream_destroy(s, e);
         };
       }},
      {"kernels-of-64-streams", "streams wait for one another only by events",
       [](Table& t) {
         t.kernel_launch = [](Stream s, const weir_launch* launch, Status* e) {
           const std::lock_guard lock(relations_mutex);
           const std::size_t number = numbers().try_emplace(s, numbers().size()).first->second;
           Event& end = lane_ends()[number % lanes];
           if (end) real().stream_wait_event(s, end, nullptr);
           const weir_result result = real().kernel_launch(s, launch, e);
           if (!end) end = new_mark();
           real().event_record(end, s, nullptr);
           return result;
         };
       }},
  };
  return mutants;
}

}  // namespace mutant
