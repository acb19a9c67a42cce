// SPDX-License-Identifier: Apache-2.0
// A vendor's runtime starts once for a process, and what came of it holds for the process.
#pragma once

#include <cstdint>

#include "../fork.hpp"
#include "failure.hpp"

namespace weir::sdk::vendor {

/// What `Start` gave at the first call, or the Failure that it threw then. Thread-safe.
template <std::uint32_t (*Start)()>
std::uint32_t start_once() {
  struct Outcome {
    std::uint32_t devices = 0;
    Failure failure{WEIR_OK, ""};
  };
  static const Outcome* const outcome = [] {
    auto* out = new Outcome;  // never freed, for threads at process exit
    try {
      notice_forks();  // a runtime that has started, or is starting, does not survive one
      out->devices = Start();
    } catch (const Failure& failure) {
      ignore_forks();
      out->failure = failure;
    }
    return out;
  }();
  if (outcome->failure.code != WEIR_OK) throw Failure(outcome->failure);
  return outcome->devices;
}

/// How many devices the runtime has; some call it an error to have none.
template <class V>
int count_devices() {
  int count = 0;
  const Code code = V::calls().device_count(&count);
  if (code != no_device) check<V>(code, "count its devices");
  return count;
}

}  // namespace weir::sdk::vendor
