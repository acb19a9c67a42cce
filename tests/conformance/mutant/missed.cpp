// SPDX-License-Identifier: Apache-2.0
// Faults that a blind test of an earlier suite did not find.
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <thread>

#include "submissions.hpp"

namespace mutant {
namespace {

std::mutex mutex;
/// The last submission to each stream.
std::map<Stream, Submission>& last_of() {
  static std::map<Stream, Submission> all;
  return all;
}
void note(Stream s, Submission kind) {
  const std::lock_guard lock(mutex);
  last_of()[s] = kind;
}
bool ended_with(Stream s, Submission kind) {
  const std::lock_guard lock(mutex);
  const bool is = last_of()[s] == kind;
  last_of().erase(s);
  return is;
}

template <Submission waiting>
void destroy_waits_after(Table& t) {
  note_submissions<note>(t);
  t.stream_destroy = [](Stream s, Status* e) {
    Status unused{};
    unused.struct_size = sizeof unused;
    if (ended_with(s, waiting)) (void)real().stream_synchronize(s, &unused);
    return real().stream_destroy(s, e);
  };
}

/// Events that event_query or event_synchronize has seen reached since the last record of this driver's
/// memory.
std::map<weir_event, Stream>& recorded_on() {
  static std::map<weir_event, Stream> all;
  return all;
}
std::map<weir_event, bool>& seen() {
  static std::map<weir_event, bool> all;
  return all;
}

/// `another_stream_resets`: a record on another stream than the last one forgets what was seen.
template <bool another_stream_resets>
void remember_reached(Table& t) {
  t.event_create = [](weir_device d, std::uint32_t flags, weir_event* out, Status* e) {
    const weir_result result = real().event_create(d, flags, out, e);
    const std::lock_guard lock(mutex);
    if (result == WEIR_OK) seen()[*out] = false;
    return result;
  };
  t.event_record = [](weir_event event, Stream s, Status* e) {
    {
      const std::lock_guard lock(mutex);
      if (another_stream_resets && recorded_on()[event] != s) seen()[event] = false;
      recorded_on()[event] = s;
    }
    return real().event_record(event, s, e);
  };
  t.event_query = [](weir_event event, Status* e) {
    {
      const std::lock_guard lock(mutex);
      if (seen()[event]) return weir_result{WEIR_OK};
    }
    const weir_result result = real().event_query(event, e);
    const std::lock_guard lock(mutex);
    if (result == WEIR_OK) seen()[event] = true;
    return result;
  };
}

/// Fills `info` up to its size, rounded up to a multiple of 8.
template <class Info, class Get>
weir_result fill_past_odd_sizes(Info* info, const Get& get) {
  Info whole{};
  whole.struct_size = sizeof whole;
  const std::uint32_t size = std::min<std::uint32_t>((info->struct_size + 7) / 8 * 8, sizeof whole);
  const weir_result result = get(&whole);
  if (result != WEIR_OK) return result;
  whole.struct_size = info->struct_size;
  std::memcpy(info, &whole, size);
  return result;
}

std::atomic<bool> launched{false};
const pid_t parent = getpid();

thread_local bool opened_here = false;

std::mutex callback_mutex;
struct Callback {
  weir_host_callback function;
  void* user;
};

}  // namespace

std::span<const Mutant> missed_mutants() {
  static const Mutant mutants[] = {
      {"destroy-waits-after-a-fill", "stream_destroy never blocks", &destroy_waits_after<Submission::fill>},
      {"destroy-waits-after-a-copy-to-the-host", "stream_destroy never blocks",
       &destroy_waits_after<Submission::copy_to_host>},
      {"destroy-waits-after-a-launch", "stream_destroy never blocks",
       &destroy_waits_after<Submission::launch>},
      {"event-query-remembers", "an event recorded again is not reached", &remember_reached<false>},
      {"event-query-remembers-on-one-stream", "an event recorded again is not reached",
       &remember_reached<true>},
      {"kernel-info-after-a-launch", "kernel_get_info returns the same at every call",
       [](Table& t) {
         t.kernel_launch = [](Stream s, const weir_launch* launch, Status* e) {
           const weir_result result = real().kernel_launch(s, launch, e);
           if (result == WEIR_OK) launched = true;
           return result;
         };
         t.kernel_get_info = [](weir_kernel kernel, weir_kernel_info* info, Status* e) {
           const weir_result result = real().kernel_get_info(kernel, info, e);
           if (launched) info->registers = 7;
           return result;
         };
       }},
      {"kernel-info-of-a-smaller-limit", "blocks above max_block_threads are refused",
       [](Table& t) {
         t.kernel_get_info = [](weir_kernel kernel, weir_kernel_info* info, Status* e) {
           const weir_result result = real().kernel_get_info(kernel, info, e);
           info->max_block_threads = 256;
           return result;
         };
       }},
      {"kernel-info-past-odd-sizes", "nothing past struct_size is written",
       [](Table& t) {
         t.kernel_get_info = [](weir_kernel kernel, weir_kernel_info* info, Status* e) {
           return fill_past_odd_sizes(
               info, [&](weir_kernel_info* whole) { return real().kernel_get_info(kernel, whole, e); });
         };
       }},
      {"memory-info-past-odd-sizes", "nothing past struct_size is written",
       [](Table& t) {
         t.memory_get_info = [](Memory m, weir_memory_info* info, Status* e) {
           return fill_past_odd_sizes(
               info, [&](weir_memory_info* whole) { return real().memory_get_info(m, whole, e); });
         };
       }},
      {"kernel-info-behind-callbacks", "kernel_get_info waits for no work",
       [](Table& t) {
         t.stream_host_callback = [](Stream s, weir_host_callback function, void* user, Status* e) {
           const weir_host_callback run = [](void* given) {
             const Callback call = *static_cast<Callback*>(given);
             delete static_cast<Callback*>(given);
             const std::lock_guard lock(callback_mutex);
             call.function(call.user);
           };
           auto* const call = new Callback{function, user};
           const weir_result result = real().stream_host_callback(s, function ? run : nullptr, call, e);
           if (result != WEIR_OK) delete call;
           return result;
         };
         t.kernel_get_info = [](weir_kernel kernel, weir_kernel_info* info, Status* e) {
           const std::lock_guard lock(callback_mutex);
           return real().kernel_get_info(kernel, info, e);
         };
       }},
      {"fork-extension-hangs", "functions return in a forked child",
       [](Table& t) {
         t.get_extension = [](const char* name, std::uint32_t version, const void** out, Status* e) {
           if (getpid() != parent) hang();
           return real().get_extension ? real().get_extension(name, version, out, e)
                                       : refuse(e, WEIR_ERROR_UNSUPPORTED, "there are no extensions");
         };
       }},
      {"fork-kernel-info-hangs", "functions return in a forked child",
       [](Table& t) {
         t.kernel_get_info = [](weir_kernel kernel, weir_kernel_info* info, Status* e) {
           if (getpid() != parent) hang();
           return real().kernel_get_info(kernel, info, e);
         };
       }},
      {"async-allocation-size-wraps", "a size that is not available is out of memory",
       [](Table& t) {
         t.memory_allocate_async = [](Stream s, const weir_memory_options* options, Memory* out, Status* e) {
           weir_memory_options small = *options;
           if (small.size > ~Size{0} - 63) small.size = 64;
           return real().memory_allocate_async(s, &small, out, e);
         };
       }},
      {"async-free-needs-a-thread-that-opened", "functions may be called from any thread",
       [](Table& t) {
         t.device_open = [](std::uint32_t index, weir_device* out, Status* e) {
           opened_here = true;
           return real().device_open(index, out, e);
         };
         t.memory_free_async = [](Stream s, Memory m, Status* e) {
           return opened_here ? real().memory_free_async(s, m, e)
                              : refuse(e, WEIR_ERROR_INVALID, "this thread has opened no device");
         };
       }},
      {"module-load-needs-a-thread-that-opened", "functions may be called from any thread",
       [](Table& t) {
         t.device_open = [](std::uint32_t index, weir_device* out, Status* e) {
           opened_here = true;
           return real().device_open(index, out, e);
         };
         t.module_load = [](weir_device d, const weir_code_object* object, weir_module* out, Status* e) {
           return opened_here ? real().module_load(d, object, out, e)
                              : refuse(e, WEIR_ERROR_INVALID, "this thread has opened no device");
         };
       }},
      {"graph-refusal-clears-its-output", "a failure leaves outputs alone",
       [](Table& t) {
         t.graph_create = [](weir_device d, std::uint32_t count, const weir_graph_node* const* nodes,
                             weir_graph* out, Status* e) {
           const weir_result result = real().graph_create(d, count, nodes, out, e);
           if (result != WEIR_OK && count > 8) *out = nullptr;
           return result;
         };
       }},
      {"graph-update-counts-dependencies", "graph_update does not read dependencies",
       [](Table& t) {
         t.graph_update = [](weir_graph graph, std::uint32_t index, const weir_graph_node* node, Status* e) {
           return node->dependency_count > 1000
                      ? refuse(e, WEIR_ERROR_INVALID, "a node has at most 1000 dependencies")
                      : real().graph_update(graph, index, node, e);
         };
       }},
      {"graph-update-keeps-a-smaller-pattern", "an update changes each field",
       [](Table& t) {
         t.graph_update = [](weir_graph graph, std::uint32_t index, const weir_graph_node* node, Status* e) {
           weir_graph_node changed = *node;
           if (changed.kind == WEIR_GRAPH_FILL && changed.pattern_size > 4) changed.pattern_size = 4;
           return real().graph_update(graph, index, &changed, e);
         };
       }},
      {"copy-to-host-fills-a-whole-status", "nothing past struct_size is written",
       [](Table& t) {
         t.copy_to_host = [](Stream s, void* to, Memory m, Size at, Size n, Status* e) {
           const weir_result result = real().copy_to_host(s, to, m, at, n, e);
           if (result == WEIR_OK || !e) return result;
           Status whole{};
           whole.struct_size = e->struct_size;
           whole.code = result;
           std::memcpy(whole.message, "the copy is refused", 20);
           *e = whole;
           return result;
         };
       }},
      {"peer-copy-waits", "copy_peer submits",
       [](Table& t) {
         t.copy_peer = [](Stream s, Memory to, Size at, Memory from, Size from_at, Size n, Status* e) {
           Status unused{};
           unused.struct_size = sizeof unused;
           (void)real().stream_synchronize(s, &unused);
           return real().copy_peer(s, to, at, from, from_at, n, e);
         };
       }},
      {"work-needs-a-flush", "submitted work starts without a flush",
       [](Table& t) {
         struct Late {
           Stream stream;
           Callback call;
         };
         static std::vector<Late> late;
         static std::mutex guard;
         static const auto submit_late = [](Stream s) {
           const std::lock_guard lock(guard);
           Status unused{};
           unused.struct_size = sizeof unused;
           std::erase_if(late, [&](const Late& one) {
             if (one.stream != s) return false;
             (void)real().stream_host_callback(one.stream, one.call.function, one.call.user, &unused);
             return true;
           });
         };
         t.stream_host_callback = [](Stream s, weir_host_callback function, void* user, Status* e) {
           if (!function) return real().stream_host_callback(s, function, user, e);
           const std::lock_guard lock(guard);
           late.push_back({s, {function, user}});
           return weir_result{WEIR_OK};
         };
         t.stream_flush = [](Stream s, Status* e) {
           submit_late(s);
           return real().stream_flush(s, e);
         };
         t.stream_synchronize = [](Stream s, Status* e) {
           submit_late(s);
           return real().stream_synchronize(s, e);
         };
       }},
  };
  return mutants;
}

}  // namespace mutant
