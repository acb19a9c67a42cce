// SPDX-License-Identifier: Apache-2.0
// Starts a vendor's runtime once per process; the outcome holds for the process.
#pragma once

#include <cstdint>

#include "../fork.hpp"
#include "failure.hpp"

namespace weir::sdk::vendor {

/// The result of `Start` at the first call, or the Failure that it threw then. Thread-safe.
template <std::uint32_t (*Start)()>
std::uint32_t start_once() {
  struct Outcome {
    std::uint32_t devices = 0;
    Failure failure{WEIR_OK, ""};
  };
  static const Outcome* const outcome = [] {
    auto* out = new Outcome;  // never freed, for threads at process exit
    try {
      notice_forks();  // a started or starting runtime does not survive a fork
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

/// Number of devices of the runtime; some runtimes report zero devices as an error.
template <class V>
int count_devices() {
  int count = 0;
  const Code code = V::calls().device_count(&count);
  if (code != no_device) check<V>(code, "count its devices");
  return count;
}

}  // namespace weir::sdk::vendor
