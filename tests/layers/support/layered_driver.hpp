// SPDX-License-Identifier: Apache-2.0
// The CPU driver with layers over it, assembled through the C interfaces only, as by a foreign host.
#pragma once

#include <dlfcn.h>
#include <weir/layer.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "places.hpp"

namespace weir::test {

struct Report {
  std::string rule, message;
};

/// Loads a library of the build tree and returns its entry point.
template <class Entry>
Entry entry_of(const std::string& file, const char* symbol) {
  void* library = dlopen(built(file).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) throw std::runtime_error(dlerror());
  return reinterpret_cast<Entry>(dlsym(library, symbol));
}

inline const weir_driver_table& cpu_table() {
  static const weir_driver_table* const table = [] {
    const auto entry = entry_of<weir_driver_entry_function>(
        std::string(WEIR_DRIVER_FOLDER) + "/libweir-cpu.so", WEIR_DRIVER_ENTRY_NAME);
    const weir_host host{sizeof host, WEIR_ABI_VERSION(1, 0), WEIR_ABI_CURRENT};
    const weir_driver_table* out = nullptr;
    if (entry(&host, &out, nullptr) != WEIR_OK) throw std::runtime_error("the CPU driver refuses this host");
    return out;
  }();
  return *table;
}

/// A status that keeps the code and message of a call.
struct Answer : weir_status {
  Answer() : weir_status{} { struct_size = sizeof(weir_status); }
};

/// One layer over a table, with its reports.
class Layered {
 public:
  Layered(const std::string& layer, const std::string& options, const weir_driver_table& next = cpu_table()) {
    const auto entry = entry_of<weir_layer_entry_function>(
        std::string(WEIR_LAYER_FOLDER) + "/libweir-layer-" + layer + ".so", WEIR_LAYER_ENTRY_NAME);
    weir_layer_host host{};
    host.struct_size = sizeof host;
    host.abi_version = WEIR_ABI_CURRENT;
    host.next = &next;
    host.options = options.c_str();
    host.user = this;
    host.report = [](void* user, const weir_layer_report* report) {
      auto& self = *static_cast<Layered*>(user);
      const std::lock_guard lock(self.mutex_);
      self.reports_.push_back({report->rule, report->message});
    };
    made_.struct_size = sizeof made_;
    result = entry(&host, &made_, &answer);
  }
  Layered(const Layered&) = delete;
  Layered& operator=(const Layered&) = delete;

  const weir_driver_table& table() const { return *made_.table; }
  const weir_layer& layer() const { return made_; }
  /// The reports since the previous call of this function.
  std::vector<Report> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(reports_, {});
  }
  std::uint64_t number(const char* name) const {
    std::uint64_t out = 0;
    Answer wrong;
    if (made_.get(made_.self, name, &out, &wrong) != WEIR_OK) throw std::runtime_error(wrong.message);
    return out;
  }
  weir_result configure(const char* options, weir_status* status = nullptr) {
    return made_.configure(made_.self, options, status);
  }

  weir_result result = WEIR_OK;  ///< returned by the layer's entry
  Answer answer;

 private:
  weir_layer made_{};
  std::mutex mutex_;
  std::vector<Report> reports_;
};

/// Objects of one device, created through a table; all are destroyed at the end.
class Objects {
 public:
  explicit Objects(const weir_driver_table& table) : t(table) {
    check(t.device_open(0, &device, nullptr), "device_open");
  }
  Objects(const Objects&) = delete;
  Objects& operator=(const Objects&) = delete;
  ~Objects() {
    for (const weir_stream stream : streams_) t.stream_synchronize(stream, nullptr);
    for (const weir_graph graph : graphs_) t.graph_destroy(graph, nullptr);
    for (const weir_allocation allocation : allocations_) t.memory_free(allocation, nullptr);
    for (const weir_event event : events_) t.event_destroy(event, nullptr);
    for (const weir_stream stream : streams_) t.stream_destroy(stream, nullptr);
    for (const weir_module module : modules_) t.module_unload(module, nullptr);
    t.device_close(device, nullptr);
  }

  weir_stream stream() {
    weir_stream out = nullptr;
    check(t.stream_create(device, nullptr, &out, nullptr), "stream_create");
    streams_.push_back(out);
    return out;
  }
  weir_event event(std::uint32_t flags = WEIR_EVENT_PLAIN) {
    weir_event out = nullptr;
    check(t.event_create(device, flags, &out, nullptr), "event_create");
    events_.push_back(out);
    return out;
  }
  weir_allocation memory(std::uint64_t size, std::uint32_t kind = WEIR_MEMORY_DEVICE) {
    const weir_memory_options options{sizeof options, kind, size, 0};
    weir_allocation out = nullptr;
    check(t.memory_allocate(device, &options, &out, nullptr), "memory_allocate");
    allocations_.push_back(out);
    return out;
  }
  std::uint64_t address(weir_allocation allocation) {
    weir_memory_info info{};
    info.struct_size = sizeof info;
    check(t.memory_get_info(allocation, &info, nullptr), "memory_get_info");
    return info.device_address;
  }
  weir_module module() {
    static const std::vector<char> bytes = [] {
      std::ifstream file(built("tests/runtime/weir_runtime_test_kernels.so"), std::ios::binary);
      return std::vector<char>{std::istreambuf_iterator<char>(file), {}};
    }();
    const weir_code_object object{sizeof object, "elf-x86_64", "x86-64",
                                  bytes.data(),  bytes.size(), "test kernels"};
    weir_module out = nullptr;
    check(t.module_load(device, &object, &out, nullptr), "module_load");
    modules_.push_back(out);
    return out;
  }
  void keep(weir_graph graph) { graphs_.push_back(graph); }
  template <class T>
  void forget(std::vector<T>& list, T gone) {
    std::erase(list, gone);
  }
  void forget(weir_stream gone) { std::erase(streams_, gone); }
  void forget(weir_event gone) { std::erase(events_, gone); }
  void forget(weir_allocation gone) { std::erase(allocations_, gone); }
  void forget(weir_module gone) { std::erase(modules_, gone); }

  static void check(weir_result result, const char* what) {
    if (result != WEIR_OK)
      throw std::runtime_error(std::string(what) + " answered " + std::to_string(result));
  }

  const weir_driver_table& t;
  weir_device device = nullptr;

 private:
  std::vector<weir_stream> streams_;
  std::vector<weir_event> events_;
  std::vector<weir_allocation> allocations_;
  std::vector<weir_module> modules_;
  std::vector<weir_graph> graphs_;
};

}  // namespace weir::test
