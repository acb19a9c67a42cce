// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <map>
#include <mutex>

#include "mutant.hpp"

namespace mutant {
namespace {

/// The records and waits of events, for mutants that confuse them.
struct Notes {
  std::mutex mutex;
  std::map<Event, Stream> waiting;
  std::map<Event, int> records;
};
Notes& notes() {
  static Notes notes;
  return notes;
}

}  // namespace

std::span<const Mutant> event_mutants() {
  static const Mutant mutants[] = {
      {"event-wait-ignored", "a stream waits for the event",
       [](Table& t) { t.stream_wait_event = [](Stream, Event, Status*) { return weir_result{WEIR_OK}; }; }},
      {"event-wait-ignored-rarely", "a stream waits for the event",
       [](Table& t) {
         t.stream_wait_event = [](Stream s, Event event, Status* e) {
           static std::atomic<int> count{0};
           return ++count % 10 == 0 ? weir_result{WEIR_OK} : real().stream_wait_event(s, event, e);
         };
       }},
      {"event-wait-blocks-the-host", "a wait is submitted and returns",
       [](Table& t) {
         t.stream_wait_event = [](Stream s, Event event, Status* e) {
           real().event_synchronize(event, nullptr);
           return real().stream_wait_event(s, event, e);
         };
       }},
      {"event-wait-takes-later-marks", "a wait covers the record before it",
       [](Table& t) {
         t.stream_wait_event = [](Stream s, Event event, Status* e) {
           std::lock_guard lock(notes().mutex);
           notes().waiting[event] = s;
           return real().stream_wait_event(s, event, e);
         };
         t.event_record = [](Event event, Stream s, Status* e) {
           const weir_result result = real().event_record(event, s, e);
           std::lock_guard lock(notes().mutex);
           if (const auto found = notes().waiting.find(event); found != notes().waiting.end())
             real().stream_wait_event(found->second, event, nullptr);
           return result;
         };
       }},
      {"event-wait-for-never-recorded-refused", "an event that was never recorded has no effect",
       [](Table& t) {
         t.event_destroy = [](Event event, Status* e) {
           std::lock_guard lock(notes().mutex);
           notes().records.erase(event);
           return real().event_destroy(event, e);
         };
         t.event_record = [](Event event, Stream s, Status* e) {
           std::lock_guard lock(notes().mutex);
           ++notes().records[event];
           return real().event_record(event, s, e);
         };
         t.stream_wait_event = [](Stream s, Event event, Status* e) {
           std::lock_guard lock(notes().mutex);
           return notes().records[event] ? real().stream_wait_event(s, event, e)
                                         : refuse(e, WEIR_ERROR_INVALID, "the event was never recorded");
         };
       }},
      {"event-never-recorded-not-ready", "an event that was never recorded is reached",
       [](Table& t) {
         t.event_destroy = [](Event event, Status* e) {
           std::lock_guard lock(notes().mutex);
           notes().records.erase(event);
           return real().event_destroy(event, e);
         };
         t.event_record = [](Event event, Stream s, Status* e) {
           std::lock_guard lock(notes().mutex);
           ++notes().records[event];
           return real().event_record(event, s, e);
         };
         t.event_query = [](Event event, Status* e) {
           std::lock_guard lock(notes().mutex);
           return notes().records[event] ? real().event_query(event, e) : weir_result{WEIR_NOT_READY};
         };
       }},
      {"event-record-ignored", "an event covers the stream's earlier work",
       [](Table& t) { t.event_record = [](Event, Stream, Status*) { return weir_result{WEIR_OK}; }; }},
      {"event-second-record-ignored", "recording again replaces the recorded work",
       [](Table& t) {
         t.event_record = [](Event event, Stream s, Status* e) {
           std::lock_guard lock(notes().mutex);
           return ++notes().records[event] > 1 ? weir_result{WEIR_OK} : real().event_record(event, s, e);
         };
         t.event_destroy = [](Event event, Status* e) {
           std::lock_guard lock(notes().mutex);
           notes().records.erase(event);
           return real().event_destroy(event, e);
         };
       }},
      {"event-query-always-done", "query returns NOT_READY for unreached events",
       [](Table& t) { t.event_query = [](Event, Status*) { return weir_result{WEIR_OK}; }; }},
      {"event-query-never-done", "query returns OK for reached events",
       [](Table& t) { t.event_query = [](Event, Status*) { return weir_result{WEIR_NOT_READY}; }; }},
      {"event-synchronize-returns-early", "synchronize waits for the recorded work",
       [](Table& t) { t.event_synchronize = [](Event, Status*) { return weir_result{WEIR_OK}; }; }},
      {"event-unknown-flags-accepted", "unknown flags are refused",
       [](Table& t) {
         t.event_create = [](weir_device d, std::uint32_t flags, Event* out, Status* e) {
           return real().event_create(d, flags & WEIR_EVENT_TIMED, out, e);
         };
       }},
      {"event-marks-work-behind-it", "an event is reached before later work",
       [](Table& t) {
         // Each later callback records the event again.
         static std::atomic<Event> last{nullptr};
         t.event_record = [](Event event, Stream s, Status* e) {
           last = event;
           return real().event_record(event, s, e);
         };
         t.event_destroy = [](Event event, Status* e) {
           Event expected = event;
           last.compare_exchange_strong(expected, nullptr);
           return real().event_destroy(event, e);
         };
         t.stream_host_callback = [](Stream s, weir_host_callback callback, void* user, Status* e) {
           const weir_result result = real().stream_host_callback(s, callback, user, e);
           if (const Event event = last) real().event_record(event, s, nullptr);
           return result;
         };
       }},
      {"event-destroy-waits", "destroying never blocks",
       [](Table& t) {
         t.event_destroy = [](Event event, Status* e) {
           real().event_synchronize(event, nullptr);
           return real().event_destroy(event, e);
         };
       }},
      {"event-times-in-microseconds", "times are in nanoseconds",
       [](Table& t) {
         t.event_elapsed = [](Event start, Event end, double* out, Status* e) {
           const weir_result result = real().event_elapsed(start, end, out, e);
           if (result == WEIR_OK) *out /= 1000;
           return result;
         };
       }},
      {"event-times-without-sign", "times may be negative",
       [](Table& t) {
         t.event_elapsed = [](Event start, Event end, double* out, Status* e) {
           const weir_result result = real().event_elapsed(start, end, out, e);
           if (result == WEIR_OK) *out = std::fabs(*out) + 1;
           return result;
         };
       }},
      {"event-time-of-nothing", "events that were never recorded have no time",
       [](Table& t) {
         t.event_elapsed = [](Event start, Event end, double* out, Status* e) {
           const weir_result result = real().event_elapsed(start, end, out, e);
           if (result != WEIR_ERROR_INVALID) return result;
           *out = 0;
           return weir_result{WEIR_OK};
         };
       }},
      {"event-time-before-it-is-reached", "events that are not reached have no time",
       [](Table& t) {
         t.event_elapsed = [](Event start, Event end, double* out, Status* e) {
           const weir_result result = real().event_elapsed(start, end, out, e);
           if (result != WEIR_NOT_READY) return result;
           *out = 0;
           return weir_result{WEIR_OK};
         };
       }},
      {"event-seen-late-by-others", "who sees work sees what it waited for",
       [](Table& t) {
         t.stream_wait_event = [](Stream s, Event event, Status* e) {
           std::lock_guard lock(notes().mutex);
           notes().waiting[event] = s;
           return real().stream_wait_event(s, event, e);
         };
         t.event_query = [](Event event, Status* e) {
           const weir_result result = real().event_query(event, e);
           std::lock_guard lock(notes().mutex);
           return result == WEIR_OK && notes().waiting.erase(event) ? weir_result{WEIR_NOT_READY} : result;
         };
       }},
      {"event-time-always-the-same", "times grow with the work",
       [](Table& t) {
         t.event_elapsed = [](Event start, Event end, double* out, Status* e) {
           const weir_result result = real().event_elapsed(start, end, out, e);
           if (result == WEIR_OK) *out = 1000;
           return result;
         };
       }},
  };
  return mutants;
}

}  // namespace mutant
