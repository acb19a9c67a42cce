// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <future>
#include <vector>

namespace weir::test {

/// Calls body(0) to body(count - 1), each on a separate thread, and waits for all of them. Throws the first
/// exception in the order of the indices.
template <class Body>
void on_threads(int count, Body&& body) {
  std::vector<std::future<void>> running;
  for (int t = 0; t < count; ++t) running.push_back(std::async(std::launch::async, [&body, t] { body(t); }));
  for (std::future<void>& one : running) one.wait();  // all of them use objects of the caller
  for (std::future<void>& one : running) one.get();
}

}  // namespace weir::test
