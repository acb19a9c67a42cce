// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/device.hpp"

namespace weir::hipsim {

/// Objects by the handle that the program has. A handle is never used twice, so that a stale one is
/// recognised.
template <class T>
class Handles {
 public:
  /// `Handle` is one of HIP's pointer types.
  template <class Handle>
  Handle add(std::shared_ptr<T> object) {
    const std::scoped_lock lock(mutex_);
    // The numbers are no addresses; they are far from null and from small values that HIP gives a meaning.
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
  std::shared_ptr<Marker> marker;  ///< of the last record; null before the first
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

/// A pool that the program made. Pools keep nothing: freed memory goes back at once.
struct MemPool {
  int device = 0;
};

struct Graph;
struct GraphExec;
struct GraphNode;

/// Everything that the process's one simulator holds. Never destroyed: programs may call HIP while they exit.
class Runtime {
 public:
  static Runtime& instance();

  /// Reads the configuration and makes the devices; at the first call of any entry point.
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

  /// The calling thread's device.
  Device& current();
  static int& current_index();

  struct Failure {
    hipError_t error = hipSuccess;  ///< hipSuccess: none
    bool late = false;              ///< of the work that the call puts on a stream, not of the call
  };
  /// Counts a call of an entry point and says how it is to fail.
  Failure scheduled_failure(const std::string& call);
  /// Makes the `nth` call from now on fail, `times` times (0: ever).
  void schedule_failure(const FailureConfig& failure);

  /// Writes a fault or race to where the configuration says, and keeps it.
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
  std::vector<std::string> reports_;
};

}  // namespace weir::hipsim
