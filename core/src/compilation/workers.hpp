// SPDX-License-Identifier: Apache-2.0
// The workers of one process: kept while idle, with a bounded number.
#pragma once

#include <condition_variable>
#include <mutex>
#include <vector>

#include "compilation/generator.hpp"

namespace weir::compilation {

/// Thread-safe.
class Workers {
 public:
  explicit Workers(GeneratorPolicy policy);
  const GeneratorPolicy& policy() const { return policy_; }

  /// Returns an idle worker, or a new one. Blocks while the number of busy workers equals the number of
  /// processors, or two if that is larger. Throws Error{compile, system}.
  Worker take();
  /// After take(): the worker is idle again.
  void give_back(Worker worker);
  /// Called after take() when the worker has ended or must be ended.
  void give_up();
  /// Stops using `stuck`: the next new worker is started from a new weir-codegen.
  void leave(const std::shared_ptr<const Generator>& stuck);

 private:
  Worker make_worker();

  const GeneratorPolicy policy_;
  const unsigned most_;
  std::mutex mutex_;
  std::condition_variable returned_;
  std::vector<Worker> idle_;
  std::shared_ptr<const Generator> generator_;
  unsigned busy_ = 0;
};

/// A worker for one call.
class Lease {
 public:
  explicit Lease(Workers& workers) : workers_(workers), worker_(workers.take()) {}
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  /// Ends the worker unless it was kept.
  ~Lease() {
    if (!kept_) workers_.give_up();
  }
  const Worker& worker() const { return worker_; }
  void keep() {
    kept_ = true;
    workers_.give_back(std::move(worker_));
  }

 private:
  Workers& workers_;
  Worker worker_;
  bool kept_ = false;
};

}  // namespace weir::compilation
