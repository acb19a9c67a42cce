// SPDX-License-Identifier: Apache-2.0
// Faults of real drivers that an earlier suite did not find, as far as a forwarding table can have them.
#include <algorithm>
#include <cstdio>
#include <map>
#include <mutex>
#include <set>

#include "mutant.hpp"

namespace mutant {
namespace {

using Launch = weir_launch;
using Node = weir_graph_node;

void spoil_grid(Table& t, void (*change)(Launch&)) {
  static void (*chosen)(Launch&) = nullptr;
  chosen = change;
  t.kernel_launch = [](Stream s, const Launch* launch, Status* e) {
    Launch spoilt = *launch;
    chosen(spoilt);
    return real().kernel_launch(s, &spoilt, e);
  };
}

/// A size that a driver splits wrongly: the last byte is lost.
Size without_last(Size n, Size wrong) {
  return n == wrong ? n - 1 : n;
}

/// Graphs of which a launch runs another instance each time, so that runs overlap.
struct Copies {
  std::vector<weir_graph> graphs;
  std::size_t next = 0;
};
std::mutex copies_mutex;
std::map<weir_graph, Copies>& copies() {
  static std::map<weir_graph, Copies> all;
  return all;
}

/// A graph in two parts: the ancestors of the last node, with it, and the others, which nothing waits for.
std::map<weir_graph, weir_graph>& rests() {
  static std::map<weir_graph, weir_graph> all;
  return all;
}

weir_result make_part(weir_device d, const Node* const* nodes, std::uint32_t count,
                      const std::set<std::uint32_t>& kept, weir_graph* out, Status* e) {
  std::map<std::uint32_t, std::uint32_t> index;
  std::vector<Node> part;
  std::vector<std::vector<std::uint32_t>> after;
  after.reserve(count);
  for (const std::uint32_t i : kept) {
    index[i] = static_cast<std::uint32_t>(part.size());
    Node node = *nodes[i];
    std::vector<std::uint32_t> mine;
    for (std::uint32_t k = 0; k < node.dependency_count; ++k)
      if (kept.contains(node.dependencies[k])) mine.push_back(index[node.dependencies[k]]);
    after.push_back(std::move(mine));
    node.dependencies = after.back().data();
    node.dependency_count = static_cast<std::uint32_t>(after.back().size());
    part.push_back(node);
  }
  std::vector<const Node*> pointers;
  for (const Node& node : part) pointers.push_back(&node);
  return real().graph_create(d, static_cast<std::uint32_t>(part.size()), pointers.data(), out, e);
}

/// Memory whose deallocation is pending and which the next allocation of its stream and size takes over.
struct Pending {
  Stream stream;
  Size size;
};
std::mutex pending_mutex;
std::map<Memory, Pending>& pending() {
  static std::map<Memory, Pending> all;
  return all;
}

}  // namespace

std::span<const Mutant> hole_mutants() {
  static const Mutant mutants[] = {
      {"copy-to-device-of-2^19+1-cut", "copies are whole in every size",
       [](Table& t) {
         t.copy_to_device = [](Stream s, Memory m, Size at, const void* from, Size n, Status* e) {
           return real().copy_to_device(s, m, at, from, without_last(n, (1u << 19) + 1), e);
         };
       }},
      {"copy-to-host-of-2^23-1-cut", "copies are whole in every size",
       [](Table& t) {
         t.copy_to_host = [](Stream s, void* to, Memory m, Size at, Size n, Status* e) {
           return real().copy_to_host(s, to, m, at, without_last(n, (1u << 23) - 1), e);
         };
       }},
      {"copy-on-device-from-2^21-elsewhere", "copies begin at their offset",
       [](Table& t) {
         t.copy_on_device = [](Stream s, Memory d, Size to, Memory m, Size from, Size n, Status* e) {
           return real().copy_on_device(s, d, to, m, from == (1u << 21) && n ? from - 1 : from, n, e);
         };
       }},
      {"fill-of-2^16+1-cut", "fills are whole in every size",
       [](Table& t) {
         t.fill = [](Stream s, Memory m, Size at, Size n, const void* pattern, std::uint32_t width,
                     Status* e) {
           return real().fill(s, m, at, without_last(n, (1u << 16) + 1), pattern, width, e);
         };
       }},
      {"launch-grid-y-and-z-swapped", "grids have three dimensions",
       [](Table& t) { spoil_grid(t, [](Launch& l) { std::swap(l.grid[1], l.grid[2]); }); }},
      {"launch-grid-z-ignored", "grids have three dimensions",
       [](Table& t) { spoil_grid(t, [](Launch& l) { l.grid[2] = std::min(l.grid[2], 1u); }); }},
      {"launch-block-x-and-y-swapped", "blocks have three dimensions",
       [](Table& t) { spoil_grid(t, [](Launch& l) { std::swap(l.block[0], l.block[1]); }); }},
      {"launch-shared-bytes-dropped", "a block has its dynamic shared memory",
       [](Table& t) { spoil_grid(t, [](Launch& l) { l.dynamic_shared_bytes = 0; }); }},
      {"launch-shared-bytes-cut-to-the-limit", "too much shared memory is refused",
       [](Table& t) {
         spoil_grid(t, [](Launch& l) { l.dynamic_shared_bytes = std::min(l.dynamic_shared_bytes, 65536u); });
       }},
      {"launch-prints", "a driver prints nothing",
       [](Table& t) {
         t.kernel_launch = [](Stream s, const Launch* l, Status* e) {
           static std::atomic<int> count{0};
           if (++count % 64 == 0) std::fputs("mutant: 64 launches\n", stderr);
           return real().kernel_launch(s, l, e);
         };
       }},
      {"graph-prints", "a driver prints nothing",
       [](Table& t) {
         t.graph_launch = [](weir_graph graph, Stream s, Status* e) {
           std::fputs("mutant: a graph was launched\n", stdout);
           return real().graph_launch(graph, s, e);
         };
       }},
      {"event-prints", "a driver prints nothing",
       [](Table& t) {
         t.event_destroy = [](weir_event event, Status* e) {
           if (real().event_query(event, nullptr) == WEIR_NOT_READY)
             std::fputs("mutant: an event is destroyed early\n", stderr);
           return real().event_destroy(event, e);
         };
       }},
      {"status-filled-on-success", "a success leaves the status untouched",
       [](Table& t) {
         t.fill = [](Stream s, Memory m, Size at, Size n, const void* pattern, std::uint32_t width,
                     Status* e) {
           const weir_result result = real().fill(s, m, at, n, pattern, width, e);
           if (result == WEIR_OK && e) e->code = WEIR_OK;
           return result;
         };
       }},
      {"status-cleared-by-open", "a success leaves the status untouched",
       [](Table& t) {
         t.device_open = [](std::uint32_t index, weir_device* out, Status* e) {
           const weir_result result = real().device_open(index, out, e);
           if (result == WEIR_OK) opened_device() = *out;
           if (result == WEIR_OK && e) *e->message = 0;
           return result;
         };
       }},
      {"status-filled-when-not-ready", "WEIR_NOT_READY is no failure",
       [](Table& t) {
         t.stream_query = [](Stream s, Status* e) {
           const weir_result result = real().stream_query(s, e);
           return result == WEIR_NOT_READY ? refuse(e, WEIR_NOT_READY, "there is work left") : result;
         };
       }},
      {"status-cut-inside-a-character", "a long text is cut at a character boundary",
       [](Table& t) {
         t.get_extension = [](const char* name, std::uint32_t, const void**, Status* e) {
           return refuse(e, WEIR_ERROR_NOT_FOUND, name);
         };
       }},
      {"status-of-kernels-cut-inside-a-character", "a long text is cut at a character boundary",
       [](Table& t) {
         t.module_get_kernel = [](weir_module m, const char* name, const weir_kernel_layout* layout,
                                  weir_kernel* out, Status* e) {
           const weir_result result = real().module_get_kernel(m, name, layout, out, e);
           return result == WEIR_ERROR_NOT_FOUND ? refuse(e, result, name) : result;
         };
       }},
      {"status-of-code-cut-inside-a-character", "a long text is cut at a character boundary",
       [](Table& t) {
         t.module_load = [](weir_device d, const weir_code_object* object, weir_module* out, Status* e) {
           const weir_result result = real().module_load(d, object, out, e);
           if (result == WEIR_ERROR_CODE_OBJECT && object->name && e && e->struct_size == sizeof *e) {
             const std::size_t length = std::strlen(e->message);
             std::snprintf(e->message + length, sizeof e->message - length, ": %s", object->name);
           }
           return result;
         };
       }},
      {"graph-runs-overlap", "runs of one graph never overlap",
       [](Table& t) {
         t.graph_create = [](weir_device d, std::uint32_t count, const Node* const* nodes, weir_graph* out,
                             Status* e) {
           Copies made;
           for (int i = 0; i < 4; ++i) {
             weir_graph one = nullptr;
             if (const weir_result result = real().graph_create(d, count, nodes, &one, e); result != WEIR_OK)
               return result;
             made.graphs.push_back(one);
           }
           *out = made.graphs[0];
           const std::lock_guard lock(copies_mutex);
           copies()[*out] = made;
           return weir_result{WEIR_OK};
         };
         t.graph_launch = [](weir_graph graph, Stream s, Status* e) {
           const std::lock_guard lock(copies_mutex);
           Copies& all = copies()[graph];
           return real().graph_launch(all.graphs[all.next++ % all.graphs.size()], s, e);
         };
         t.graph_update = [](weir_graph graph, std::uint32_t index, const Node* node, Status* e) {
           const std::lock_guard lock(copies_mutex);
           weir_result result = WEIR_OK;
           for (const weir_graph one : copies()[graph].graphs)
             if (result == WEIR_OK) result = real().graph_update(one, index, node, e);
           return result;
         };
         t.graph_destroy = [](weir_graph graph, Status* e) {
           const std::lock_guard lock(copies_mutex);
           weir_result result = WEIR_OK;
           for (const weir_graph one : copies()[graph].graphs) result = real().graph_destroy(one, e);
           copies().erase(graph);
           return result;
         };
       }},
      {"graph-run-ends-with-its-last-node", "a run ends when all nodes have ended",
       [](Table& t) {
         t.graph_create = [](weir_device d, std::uint32_t count, const Node* const* nodes, weir_graph* out,
                             Status* e) {
           weir_graph whole = nullptr;  // for its checks
           if (const weir_result result = real().graph_create(d, count, nodes, &whole, e); result != WEIR_OK)
             return result;
           std::set<std::uint32_t> needed{count - 1}, rest;
           for (std::uint32_t i = count; i-- > 0;)
             if (needed.contains(i))
               needed.insert(nodes[i]->dependencies, nodes[i]->dependencies + nodes[i]->dependency_count);
           for (std::uint32_t i = 0; i < count; ++i)
             if (!needed.contains(i)) rest.insert(i);
           if (rest.empty()) {
             *out = whole;
             return weir_result{WEIR_OK};
           }
           real().graph_destroy(whole, nullptr);
           weir_graph other = nullptr;
           if (const weir_result result = make_part(d, nodes, count, rest, &other, e); result != WEIR_OK)
             return result;
           const weir_result result = make_part(d, nodes, count, needed, out, e);
           const std::lock_guard lock(copies_mutex);
           if (result == WEIR_OK) rests()[*out] = other;
           return result;
         };
         t.graph_launch = [](weir_graph graph, Stream s, Status* e) {
           const std::lock_guard lock(copies_mutex);
           if (const auto found = rests().find(graph); found != rests().end()) {
             weir_event begin = nullptr;
             real().event_create(opened_device(), WEIR_EVENT_PLAIN, &begin, nullptr);
             real().event_record(begin, s, nullptr);
             real().stream_wait_event(hidden_stream(), begin, nullptr);
             real().event_destroy(begin, nullptr);
             real().graph_launch(found->second, hidden_stream(), nullptr);
           }
           return real().graph_launch(graph, s, e);
         };
       }},
      {"stream-destroyed-into-a-pool-while-busy", "a new stream is idle",
       [](Table& t) {
         static std::mutex mutex;
         static std::vector<Stream> pool;
         t.stream_destroy = [](Stream s, Status*) {
           const std::lock_guard lock(mutex);
           pool.push_back(s);
           return weir_result{WEIR_OK};
         };
         t.stream_create = [](weir_device d, const weir_stream_options* o, Stream* out, Status* e) {
           const std::lock_guard lock(mutex);
           if (pool.empty()) return real().stream_create(d, o, out, e);
           *out = pool.back();
           pool.pop_back();
           return weir_result{WEIR_OK};
         };
       }},
      {"ordered-reused-memory-freed-at-once", "reused memory becomes available after its earlier life",
       [](Table& t) {
         t.memory_free_async = [](Stream s, Memory m, Status*) {
           const std::lock_guard lock(pending_mutex);
           pending()[m] = {s, size_of(m)};
           return weir_result{WEIR_OK};
         };
         t.memory_allocate_async = [](Stream s, const weir_memory_options* o, Memory* out, Status* e) {
           {
             const std::lock_guard lock(pending_mutex);
             for (const auto& [memory, life] : pending())
               if (life.stream == s && o->size && life.size == o->size) {
                 *out = memory;
                 pending().erase(memory);
                 return weir_result{WEIR_OK};
               }
           }
           return real().memory_allocate_async(s, o, out, e);
         };
       }},
      {"memory-leaks-a-little", "freed memory leaves nothing behind",
       [](Table& t) {
         t.memory_free = [](Memory m, Status* e) {
           static std::vector<char*> kept;
           kept.push_back(new char[24]);
           return real().memory_free(m, e);
         };
       }},
      {"callback-leaks-its-record", "callbacks leave nothing behind",
       [](Table& t) {
         t.stream_host_callback = [](Stream s, weir_host_callback callback, void* user, Status* e) {
           struct Call {
             weir_host_callback callback;
             void* user;
           };
           auto* call = new Call{callback, user};
           return real().stream_host_callback(
               s,
               [](void* opaque) {
                 const auto* now = static_cast<Call*>(opaque);
                 now->callback(now->user);
               },
               call, e);
         };
       }},
      {"graph-leaks-a-graph-for-each-launch", "graphs leave nothing behind",
       [](Table& t) {
         t.graph_create = [](weir_device d, std::uint32_t count, const Node* const* nodes, weir_graph* out,
                             Status* e) {
           weir_graph lost = nullptr;
           if (const weir_result result = real().graph_create(d, count, nodes, &lost, e); result != WEIR_OK)
             return result;
           return real().graph_create(d, count, nodes, out, e);
         };
       }},
      {"module-leaks-its-code", "modules leave nothing behind",
       [](Table& t) {
         t.module_load = [](weir_device d, const weir_code_object* object, weir_module* out, Status* e) {
           weir_module lost = nullptr;
           if (const weir_result result = real().module_load(d, object, &lost, e); result != WEIR_OK)
             return result;
           return real().module_load(d, object, out, e);
         };
       }},
      {"ordered-memory-leaks", "stream-ordered memory leaves nothing behind",
       [](Table& t) { t.memory_free_async = [](Stream, Memory, Status*) { return weir_result{WEIR_OK}; }; }},
  };
  return mutants;
}

}  // namespace mutant
