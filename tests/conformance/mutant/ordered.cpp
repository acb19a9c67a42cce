// SPDX-License-Identifier: Apache-2.0
// Stream-ordered allocation, host callbacks, copies between devices.
#include <thread>

#include "mutant.hpp"

namespace mutant {
namespace {

using Options = weir_memory_options;

}  // namespace

std::span<const Mutant> ordered_mutants() {
  static const Mutant mutants[] = {
      {"ordered-allocation-waits", "allocating in stream order returns at once",
       [](Table& t) {
         t.memory_allocate_async = [](Stream s, const Options* o, Memory* out, Status* e) {
           real().stream_synchronize(s, nullptr);
           return real().memory_allocate_async(s, o, out, e);
         };
       }},
      {"ordered-free-waits", "freeing in stream order returns at once",
       [](Table& t) {
         t.memory_free_async = [](Stream s, Memory m, Status* e) {
           real().stream_synchronize(s, nullptr);
           return real().memory_free_async(s, m, e);
         };
       }},
      {"ordered-free-at-once", "freeing waits for the stream",
       [](Table& t) {
         t.memory_free_async = [](Stream, Memory m, Status* e) { return real().memory_free(m, e); };
       }},
      {"ordered-size-zero-accepted", "0 bytes are invalid",
       [](Table& t) {
         t.memory_allocate_async = [](Stream s, const Options* o, Memory* out, Status* e) {
           Options larger = *o;
           if (larger.size == 0) larger.size = 1;
           return real().memory_allocate_async(s, &larger, out, e);
         };
       }},
      {"ordered-exhaustion-wrong-code", "too much is WEIR_ERROR_OUT_OF_MEMORY",
       [](Table& t) {
         t.memory_allocate_async = [](Stream s, const Options* o, Memory* out, Status* e) {
           const weir_result result = real().memory_allocate_async(s, o, out, e);
           return result == WEIR_ERROR_OUT_OF_MEMORY ? refuse(e, WEIR_ERROR_UNKNOWN, "failed") : result;
         };
       }},
      {"ordered-allocation-smaller", "the size is the requested one",
       [](Table& t) {
         t.memory_allocate_async = [](Stream s, const Options* o, Memory* out, Status* e) {
           Options smaller = *o;
           if (smaller.size > 64) smaller.size &= ~std::uint64_t{63};
           return real().memory_allocate_async(s, &smaller, out, e);
         };
       }},
      {"ordered-free-refuses-other-memory", "memory_free_async accepts memory of memory_allocate",
       [](Table& t) {
         static std::atomic<Memory> blocking{nullptr};
         t.memory_allocate = [](weir_device d, const Options* o, Memory* out, Status* e) {
           const weir_result result = real().memory_allocate(d, o, out, e);
           if (result == WEIR_OK) blocking = *out;
           return result;
         };
         t.memory_free_async = [](Stream s, Memory m, Status* e) {
           return m == blocking ? refuse(e, WEIR_ERROR_INVALID, "was not allocated by a stream")
                                : real().memory_free_async(s, m, e);
         };
       }},
      {"callback-called-at-once", "a callback runs in the stream's order",
       [](Table& t) {
         t.stream_host_callback = [](Stream, weir_host_callback callback, void* user, Status*) {
           std::thread([callback, user] { callback(user); }).detach();
           return weir_result{WEIR_OK};
         };
       }},
      {"callback-called-by-the-submitter", "submitting a callback returns before it runs",
       [](Table& t) {
         t.stream_host_callback = [](Stream s, weir_host_callback callback, void* user, Status*) {
           real().stream_synchronize(s, nullptr);
           callback(user);
           return weir_result{WEIR_OK};
         };
       }},
      {"callback-not-waited-for", "the stream goes on when the callback returns",
       [](Table& t) {
         t.stream_host_callback = [](Stream s, weir_host_callback callback, void* user, Status* e) {
           struct Call {
             weir_host_callback callback;
             void* user;
           };
           return real().stream_host_callback(
               s,
               [](void* opaque) {
                 const Call call = *static_cast<Call*>(opaque);
                 delete static_cast<Call*>(opaque);
                 std::thread([call] { call.callback(call.user); }).detach();
               },
               new Call{callback, user}, e);
         };
       }},
      {"callback-dropped-rarely", "every callback runs",
       [](Table& t) {
         t.stream_host_callback = [](Stream s, weir_host_callback callback, void* user, Status* e) {
           static std::atomic<int> count{0};
           return ++count % 50 == 0 ? weir_result{WEIR_OK}
                                    : real().stream_host_callback(s, callback, user, e);
         };
       }},
      {"callback-runs-twice", "a callback runs once",
       [](Table& t) {
         t.stream_host_callback = [](Stream s, weir_host_callback callback, void* user, Status* e) {
           static std::atomic<int> count{0};
           if (++count % 3 != 0) return real().stream_host_callback(s, callback, user, e);
           real().stream_host_callback(s, callback, user, e);
           return real().stream_host_callback(s, callback, user, e);
         };
       }},
      {"callback-of-destroyed-stream-dropped", "work of a destroyed stream completes",
       [](Table& t) {
         static std::atomic<bool> gone{false};
         struct Call {
           weir_host_callback callback;
           void* user;
         };
         t.stream_destroy = [](Stream s, Status* e) {
           gone = true;
           return real().stream_destroy(s, e);
         };
         t.stream_create = [](weir_device d, const weir_stream_options* o, Stream* out, Status* e) {
           gone = false;
           return real().stream_create(d, o, out, e);
         };
         t.stream_host_callback = [](Stream s, weir_host_callback callback, void* user, Status* e) {
           return real().stream_host_callback(
               s,
               [](void* opaque) {
                 const Call call = *static_cast<Call*>(opaque);
                 delete static_cast<Call*>(opaque);
                 std::this_thread::yield();
                 if (!gone) call.callback(call.user);
               },
               new Call{callback, user}, e);
         };
       }},
      {"peer-copy-unchecked", "ranges are inside their allocation",
       [](Table& t) {
         t.copy_peer = [](Stream s, Memory d, Size to, Memory m, Size from, Size n, Status* e) {
           const weir_result result = real().copy_peer(s, d, to, m, from, n, e);
           return result == WEIR_ERROR_INVALID ? weir_result{WEIR_OK} : result;
         };
       }},
  };
  return mutants;
}

}  // namespace mutant
