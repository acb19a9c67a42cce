// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime/device.hpp"

namespace weir::hipsim {

/// Objects by the program's handles. Handles are never reused, so stale ones are detected.
template <class T>
class Handles {
 public:
  /// `Handle` is one of HIP's pointer types.
  template <class Handle>
  Handle add(std::shared_ptr<T> object) {
    const std::scoped_lock lock(mutex_);
    // Handles are no addresses. They differ from null and from small values to which HIP gives a meaning.
    const auto handle = (next_++ << 4) + 0x1000;
    objects_[handle] = std::move(object);
    return reinterpret_cast<Handle>(handle);
  }
  std::shared_ptr<T> find(const void* handle) const {
    const std::scoped_lock lock(mutex_);
    const auto found = objects_.find(reinterpret_cast<std::uintptr_t>(handle));
    return found == objects_.end() ? nullptr : found->second;
  }
  std::shared_ptr<T> remove(const void* handle) {
    const std::scoped_lock lock(mutex_);
    const auto found = objects_.find(reinterpret_cast<std::uintptr_t>(handle));
    if (found == objects_.end()) return nullptr;
    auto object = std::move(found->second);
    objects_.erase(found);
    return object;
  }

 private:
  mutable std::mutex mutex_;
  std::unordered_map<std::uintptr_t, std::shared_ptr<T>> objects_;
  std::uintptr_t next_ = 1;
};

struct Event {
  unsigned flags = 0;
  int device = 0;
  std::mutex mutex;
  std::shared_ptr<Marker> marker;  ///< of the last record; null before the first record
};

struct Module {
  std::shared_ptr<const CodeObject> code;
  int device = 0;
  std::mutex mutex;
  std::map<std::string, hipFunction_t> functions;
};

struct Function {
  std::shared_ptr<const CodeObject> code;
  const Kernel* kernel = nullptr;
  int device = 0;
};

/// A pool that the program created. Pools retain no memory: freed memory is returned at once.
struct MemPool {
  int device = 0;
};

struct Graph;
struct GraphExec;
struct GraphNode;

/// The process's simulator. Never destroyed: programs may call HIP while they exit.
class Runtime {
 public:
  static Runtime& instance();

  /// Creates the devices of the configuration, at the first call of any entry point.
  explicit Runtime(const Config& config);

  const Config config;
  MemoryTable memory;
  std::vector<std::unique_ptr<Device>> devices;
  Handles<Stream> streams;
  Handles<Event> events;
  Handles<Module> modules;
  Handles<Function> functions;
  Handles<Graph> graphs;
  Handles<GraphNode> nodes;
  Handles<GraphExec> execs;
  Handles<MemPool> pools;

  /// The calling thread's current device.
  Device& current();
  static int& current_index();

  struct Failure {
    hipError_t error = hipSuccess;  ///< hipSuccess: none
    bool late = false;              ///< the work that the call enqueues fails, not the call
  };
  /// Counts a call of an entry point, and returns its scheduled failure.
  Failure scheduled_failure(const std::string& call);
  /// Makes the `nth` call from now on fail, `times` times (0: always).
  void schedule_failure(const FailureConfig& failure);

  /// Holds the lock of all calls for `call` if the configuration has one.
  std::unique_lock<std::recursive_mutex> lock_call(std::string_view call);

  /// Keeps a report of a fault or race, and writes it to the configured destination. Only the last
  /// `max_reports` are kept, so that repeated faults do not exhaust memory.
  void report(const std::string& text);
  std::vector<std::string> reports() const;
  void clear_reports();
  std::atomic<std::uint64_t> instructions{0};

 private:
  struct Scheduled {
    FailureConfig failure;
    std::uint64_t seen = 0;
  };
  mutable std::mutex mutex_;
  std::vector<Scheduled> scheduled_;
  static constexpr std::size_t max_reports = 16;
  std::vector<std::string> reports_;
};

}  // namespace weir::hipsim
