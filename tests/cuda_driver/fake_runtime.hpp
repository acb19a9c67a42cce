// SPDX-License-Identifier: Apache-2.0
// The implementation of the fake libcuda: devices, queues and the record of calls, all under one mutex.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "fake_cuda.hpp"

namespace fake_cuda {

inline std::string setting(const char* name, const char* otherwise) {
  const char* text = std::getenv(name);
  return text ? text : otherwise;
}

struct Mark {
  bool reached = false;
};

struct Operation {
  std::function<bool()> ready;  // null: always
  std::function<void()> run;    // with the mutex held, unless it is a callback
  bool callback = false;
};

struct Device {
  int index = 0;
};

struct Stream {
  Device* device = nullptr;
  std::deque<Operation> queue;
  bool busy = false;
  unsigned flags = 0;
  int priority = 0;
};

struct Event {
  Device* device = nullptr;
  unsigned flags = 0;
  std::shared_ptr<Mark> mark;
};

struct Function {
  std::string name;
  std::vector<std::size_t> parameters;  // their sizes
  int dynamic_limit = 48 * 1024;
};

struct Module {
  std::list<Function> functions;
};

struct Node {
  int kind = 0;  // 0 empty, 1 kernel, 2 copy, 3 fill
  Function* function = nullptr;
  std::vector<std::uint8_t> arguments;
  bool has_block = false;  // of arguments, and no addresses
  std::vector<unsigned char> parameters;  // of copies and fills, as passed
  std::vector<void*> after;
  bool cooperative = false;
};

struct Graph {
  std::list<Node> nodes;
};

/// Its nodes have the names of the graph that it was created from.
struct Executable {
  std::vector<void*> order;
  std::map<void*, Node> nodes;
};

class Runtime final : public Control {
 public:
  static Runtime& get() {
    static auto* const runtime = new Runtime;
    return *runtime;
  }

  std::vector<Call> calls() override {
    std::lock_guard lock(mutex);
    return calls_;
  }
  void forget_calls() override {
    std::lock_guard lock(mutex);
    calls_.clear();
  }
  void fail_next(const std::string& function, int code) override {
    std::lock_guard lock(mutex);
    failures_[function] = code;
  }
  void hold(bool held) override {
    std::unique_lock lock(mutex);
    held_ = held;
    pump();
  }
  int living() override {
    std::lock_guard lock(mutex);
    return objects;
  }
  void reach_peers(bool reach) override { peers = reach; }
  void* context_of(int device) override { return &devices[static_cast<std::size_t>(device)]; }
  std::vector<std::string> lookups() override {
    std::lock_guard lock(mutex);
    return lookups_;
  }
  void record_lookup(const char* function) {
    std::lock_guard lock(mutex);
    lookups_.emplace_back(function);
  }

  /// Records a call; returns the code to inject, or 0.
  int begin(const char* function, void* stream, std::vector<std::uint64_t> values = {},
            std::vector<std::uint8_t> bytes = {}) {
    std::lock_guard lock(mutex);
    calls_.push_back({function, stream, current, std::move(values), std::move(bytes)});
    if (const auto failure = failures_.find(function); failure != failures_.end()) {
      const int code = failure->second;
      failures_.erase(failure);
      return code;
    }
    if (!current) return 201;
    return error;
  }

  void submit(Stream* stream, Operation operation) {
    std::unique_lock lock(mutex);
    stream->queue.push_back(std::move(operation));
    pump();
  }

  /// Runs whatever is ready, with the mutex held; callbacks run on separate threads, as they may wait.
  void pump() {
    for (bool progress = !held_; progress;) {
      progress = false;
      for (const std::shared_ptr<Stream>& stream : std::vector(streams.begin(), streams.end()))
        while (!held_ && !stream->busy && !stream->queue.empty() &&
               (!stream->queue.front().ready || stream->queue.front().ready())) {
          Operation operation = std::move(stream->queue.front());
          stream->queue.pop_front();
          stream->busy = true;
          progress = true;
          if (operation.callback) {
            std::thread([this, stream, run = std::move(operation.run)] {
              run();
              std::lock_guard lock(mutex);
              stream->busy = false;
              pump();
            }).detach();
          } else {
            operation.run();
            stream->busy = false;
          }
        }
    }
    changed.notify_all();
  }

  std::mutex mutex;
  std::condition_variable changed;
  std::list<std::shared_ptr<Stream>> streams;
  std::vector<Device> devices;
  int objects = 0;
  bool peers = true;  // reach the memory of one another
  int error = 0;  // returned after a trap; as in CUDA, one for all devices of the process
  std::map<std::uint64_t, std::uint64_t> pinned;  // address and size
  struct MemoryBlock {
    std::uint64_t size;
    int device;
  };
  std::map<std::uint64_t, MemoryBlock> blocks;  // device memory by address
  const int version = std::atoi(setting("FAKE_CUDA_VERSION", "13000").c_str());
  const std::string missing = "," + setting("FAKE_CUDA_MISSING", "") + ",";
  static inline thread_local void* current = nullptr;

 private:
  Runtime() : devices(static_cast<std::size_t>(std::atoi(setting("FAKE_CUDA_DEVICES", "3").c_str()))) {
    for (std::size_t i = 0; i < devices.size(); ++i) devices[i].index = static_cast<int>(i);
  }
  std::vector<Call> calls_;
  std::vector<std::string> lookups_;
  std::map<std::string, int> failures_;
  bool held_ = false;
};

}  // namespace fake_cuda
