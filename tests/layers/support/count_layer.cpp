// SPDX-License-Identifier: Apache-2.0
// The layer `count` counts calls by function, and live objects. weir_count_tell returns the counts of all
// drivers of the process together, as "calls.FUNCTION" and "live.KIND". At the end of the process they are
// written to the file that WEIR_COUNTS_AT_END names, unless it exists. Like a vendor's library, it has an
// exit handler, registered when a device is opened; a call after it is printed.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <string>
#include <weir/sdk/layer.hpp>
#include <weir/sdk/layer_options.hpp>

namespace {

struct Counted {
  std::mutex mutex;
  std::map<std::string, long long> numbers;
};

Counted& counted() {
  static auto* const all = new Counted;
  return *all;
}

std::atomic<bool> over{false};  ///< the exit handler has run

/// Returns `result`; on success, adds `more` to the number of objects of that kind.
weir_result changes(const char* kind, int more, weir_result result) {
  if (result != WEIR_OK) return result;
  const std::lock_guard lock(counted().mutex);
  counted().numbers[std::string("live.") + kind] += more;
  return result;
}

class Count {
 public:
  static constexpr const char* name = "count";
  explicit Count(const weir::sdk::LayerHost& host) : next(host.next) {
    for (const weir::sdk::LayerOption& option : weir::sdk::split_layer_options(name, host.options))
      weir::sdk::refuse_layer_option(name, option, "nothing");
  }
  const weir_driver_table next;

  template <class Slot, class... Arguments>
  weir_result enter(Slot, Arguments...) {
    if (over)
      std::fprintf(stderr, "layer count: %s was called after an exit handler\n",
                   std::string(Slot::name).c_str());
    const std::lock_guard lock(counted().mutex);
    ++counted().numbers["calls." + std::string(Slot::name)];
    return WEIR_OK;
  }

  weir_result device_open(std::uint32_t index, weir_device* out, weir_status* e) {
    std::atexit([] { over = true; });
    return next.device_open(index, out, e);
  }
  weir_result stream_create(weir_device d, const weir_stream_options* o, weir_stream* out, weir_status* e) {
    return changes("stream", 1, next.stream_create(d, o, out, e));
  }
  weir_result stream_destroy(weir_stream s, weir_status* e) {
    return changes("stream", -1, next.stream_destroy(s, e));
  }
  weir_result event_create(weir_device d, std::uint32_t flags, weir_event* out, weir_status* e) {
    return changes("event", 1, next.event_create(d, flags, out, e));
  }
  weir_result event_destroy(weir_event v, weir_status* e) {
    return changes("event", -1, next.event_destroy(v, e));
  }
  weir_result memory_allocate(weir_device d, const weir_memory_options* o, weir_allocation* out,
                              weir_status* e) {
    return changes("allocation", 1, next.memory_allocate(d, o, out, e));
  }
  weir_result memory_free(weir_allocation a, weir_status* e) {
    return changes("allocation", -1, next.memory_free(a, e));
  }
  weir_result memory_allocate_async(weir_stream s, const weir_memory_options* o, weir_allocation* out,
                                    weir_status* e) {
    return changes("allocation", 1, next.memory_allocate_async(s, o, out, e));
  }
  weir_result memory_free_async(weir_stream s, weir_allocation a, weir_status* e) {
    return changes("allocation", -1, next.memory_free_async(s, a, e));
  }
  weir_result memory_wrap(weir_device d, const weir_external_memory* m, weir_allocation* out,
                          weir_status* e) {
    return changes("allocation", 1, next.memory_wrap(d, m, out, e));
  }
  weir_result module_load(weir_device d, const weir_code_object* code, weir_module* out, weir_status* e) {
    return changes("module", 1, next.module_load(d, code, out, e));
  }
  weir_result module_unload(weir_module m, weir_status* e) {
    return changes("module", -1, next.module_unload(m, e));
  }
  weir_result graph_create(weir_device d, std::uint32_t count, const weir_graph_node* const* nodes,
                           weir_graph* out, weir_status* e) {
    return changes("graph", 1, next.graph_create(d, count, nodes, out, e));
  }
  weir_result graph_destroy(weir_graph g, weir_status* e) {
    return changes("graph", -1, next.graph_destroy(g, e));
  }
};

// For a program that does not query the counts.
__attribute__((destructor)) void write_at_exit() {
  const char* const path = std::getenv("WEIR_COUNTS_AT_END");
  if (!path || std::filesystem::exists(path)) return;
  std::ofstream file(path);
  for (const auto& [name, number] : counted().numbers) file << name << ' ' << number << '\n';
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void weir_count_tell(
    void (*tell)(const char* name, long long number, void* user), void* user) {
  const std::lock_guard lock(counted().mutex);
  for (const auto& [name, number] : counted().numbers) tell(name.c_str(), number, user);
}

WEIR_LAYER(Count)
