// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <thread>

#include "mutant.hpp"

namespace mutant {

std::span<const Mutant> stream_mutants() {
  static const Mutant mutants[] = {
      {"stream-needs-options", "options may be null",
       [](Table& t) {
         t.stream_create = [](weir_device d, const weir_stream_options* options, Stream* out, Status* e) {
           return options ? real().stream_create(d, options, out, e)
                          : refuse(e, WEIR_ERROR_INVALID, "options is null");
         };
       }},
      {"stream-priority-not-clamped", "priorities are clamped",
       [](Table& t) {
         t.stream_create = [](weir_device d, const weir_stream_options* options, Stream* out, Status* e) {
           if (options && (options->priority > 100 || options->priority < -100))
             return refuse(e, WEIR_ERROR_INVALID, "priority is outside the range");
           return real().stream_create(d, options, out, e);
         };
       }},
      {"stream-at-most-100", "many streams exist at once",
       [](Table& t) {
         static std::atomic<int> alive{0};
         t.stream_create = [](weir_device d, const weir_stream_options* options, Stream* out, Status* e) {
           if (alive >= 100) return refuse(e, WEIR_ERROR_SYSTEM, "there are 100 streams already");
           ++alive;
           return real().stream_create(d, options, out, e);
         };
         t.stream_destroy = [](Stream s, Status* e) {
           --alive;
           return real().stream_destroy(s, e);
         };
       }},
      {"stream-order-swapped-rarely", "a stream runs in order",
       [](Table& t) {
         t.copy_on_device = [](Stream s, Memory d, Size to, Memory m, Size from, Size n, Status* e) {
           static std::atomic<int> count{0};
           return real().copy_on_device(++count % 97 == 0 ? hidden_stream() : s, d, to, m, from, n, e);
         };
       }},
      {"stream-fills-run-ahead", "a stream runs in order",
       [](Table& t) {
         t.fill = [](Stream, Memory m, Size at, Size n, const void* pattern, std::uint32_t width, Status* e) {
           return real().fill(hidden_stream(), m, at, n, pattern, width, e);
         };
       }},
      {"stream-copies-run-ahead", "a stream runs in order",
       [](Table& t) {
         t.copy_to_device = [](Stream, Memory m, Size at, const void* from, Size n, Status* e) {
           return real().copy_to_device(hidden_stream(), m, at, from, n, e);
         };
       }},
      {"stream-synchronize-returns-early", "synchronize waits for the work",
       [](Table& t) { t.stream_synchronize = [](Stream, Status*) { return weir_result{WEIR_OK}; }; }},
      {"stream-synchronize-waits-for-all", "streams do not wait for one another",
       [](Table& t) {
         static std::atomic<Stream> last{nullptr};
         t.stream_host_callback = [](Stream s, weir_host_callback callback, void* user, Status* e) {
           last = s;
           return real().stream_host_callback(s, callback, user, e);
         };
         t.stream_destroy = [](Stream s, Status* e) {
           Stream expected = s;
           last.compare_exchange_strong(expected, nullptr);
           return real().stream_destroy(s, e);
         };
         t.stream_synchronize = [](Stream s, Status* e) {
           if (const Stream other = last; other && other != s) real().stream_synchronize(other, nullptr);
           return real().stream_synchronize(s, e);
         };
       }},
      {"stream-busy-when-created", "a new stream is idle",
       [](Table& t) {
         t.stream_create = [](weir_device d, const weir_stream_options* options, Stream* out, Status* e) {
           const weir_result result = real().stream_create(d, options, out, e);
           const auto wait = [](void*) { std::this_thread::sleep_for(std::chrono::milliseconds(100)); };
           if (result == WEIR_OK) real().stream_host_callback(*out, wait, nullptr, nullptr);
           return result;
         };
       }},
      {"stream-query-always-done", "query returns NOT_READY while work waits",
       [](Table& t) { t.stream_query = [](Stream, Status*) { return weir_result{WEIR_OK}; }; }},
      {"stream-query-never-done", "query returns OK once all work is done",
       [](Table& t) { t.stream_query = [](Stream, Status*) { return weir_result{WEIR_NOT_READY}; }; }},
      {"stream-destroy-waits", "destroying never blocks",
       [](Table& t) {
         t.stream_destroy = [](Stream s, Status* e) {
           real().stream_synchronize(s, nullptr);
           return real().stream_destroy(s, e);
         };
       }},
      {"stream-fill-waits", "a submission returns without waiting",
       [](Table& t) {
         t.fill = [](Stream s, Memory m, Size at, Size n, const void* pattern, std::uint32_t width,
                     Status* e) {
           const weir_result result = real().fill(s, m, at, n, pattern, width, e);
           if (result == WEIR_OK) real().stream_synchronize(s, nullptr);
           return result;
         };
       }},
      {"stream-copy-of-ordinary-memory-waits", "a submission returns without waiting",
       [](Table& t) {
         t.copy_to_host = [](Stream s, void* to, Memory m, Size at, Size n, Status* e) {
           const weir_result result = real().copy_to_host(s, to, m, at, n, e);
           if (result == WEIR_OK && n == (1u << 20)) real().stream_synchronize(s, nullptr);
           return result;
         };
       }},
      {"stream-all-work-in-one", "streams do not wait for one another",
       [](Table& t) {
         // All fills and callbacks go through one queue.
         t.stream_host_callback = [](Stream s, weir_host_callback callback, void* user, Status* e) {
           const weir_result result = real().stream_host_callback(hidden_stream(), callback, user, e);
           weir_event mark = nullptr;
           real().event_create(opened_device(), WEIR_EVENT_PLAIN, &mark, nullptr);
           real().event_record(mark, hidden_stream(), nullptr);
           real().stream_wait_event(s, mark, nullptr);
           real().event_destroy(mark, nullptr);
           return result;
         };
         t.fill = [](Stream s, Memory m, Size at, Size n, const void* pattern, std::uint32_t width,
                     Status* e) {
           weir_event mark = nullptr;
           real().event_create(opened_device(), WEIR_EVENT_PLAIN, &mark, nullptr);
           real().event_record(mark, hidden_stream(), nullptr);
           real().stream_wait_event(s, mark, nullptr);
           real().event_destroy(mark, nullptr);
           return real().fill(s, m, at, n, pattern, width, e);
         };
       }},
      {"stream-flush-fails-when-idle", "an idle stream is flushed",
       [](Table& t) {
         t.stream_flush = [](Stream s, Status* e) {
           return real().stream_query(s, nullptr) == WEIR_OK
                      ? refuse(e, WEIR_ERROR_INVALID, "nothing to flush")
                      : real().stream_flush(s, e);
         };
       }},
      {"stream-handle-used-again", "streams are distinct",
       [](Table& t) {
         // Every tenth stream is an existing one.
         t.stream_create = [](weir_device d, const weir_stream_options* options, Stream* out, Status* e) {
           static std::atomic<int> count{0};
           static std::atomic<Stream> last{nullptr};
           if (++count % 10 == 0 && last.load()) {
             *out = last;
             return weir_result{WEIR_OK};
           }
           const weir_result result = real().stream_create(d, options, out, e);
           if (result == WEIR_OK) last = *out;
           return result;
         };
       }},
  };
  return mutants;
}

}  // namespace mutant
