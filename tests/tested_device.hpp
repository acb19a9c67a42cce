// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdlib>
#include <string>

namespace weir::test {

/// The name of the device that tests run on where any device will do: what WEIR_DEVICE says, else the CPU.
inline std::string tested_device() {
  const char* name = std::getenv("WEIR_DEVICE");
  return name && *name ? name : "cpu";
}

/// How often a test repeats what it usually does so many times: at most what WEIR_TEST_ROUNDS says, for
/// devices that take long, such as simulated ones.
inline int rounds_of(int usual) {
  const char* most = std::getenv("WEIR_TEST_ROUNDS");
  const int number = most ? std::atoi(most) : 0;
  return number > 0 && number < usual ? number : usual;
}

/// How long what was submitted waits for something that does not come: a broken runtime fails the test
/// instead of hanging it, and so does one whose driver was made to fail, for which WEIR_TEST_PATIENCE
/// (seconds) is short.
inline std::chrono::seconds patience() {
  const char* seconds = std::getenv("WEIR_TEST_PATIENCE");
  return std::chrono::seconds(seconds ? std::atoi(seconds) : 30);
}

}  // namespace weir::test
