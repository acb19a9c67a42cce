// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdlib>
#include <string>

namespace weir::test {

/// The name of the device for tests that run on any device: WEIR_DEVICE, or else the CPU.
inline std::string tested_device() {
  const char* name = std::getenv("WEIR_DEVICE");
  return name && *name ? name : "cpu";
}

/// The number of repetitions of a test: at most `usual` and WEIR_TEST_ROUNDS, which limits tests on slow
/// devices such as simulated ones.
inline int rounds_of(int usual) {
  const char* most = std::getenv("WEIR_TEST_ROUNDS");
  const int number = most ? std::atoi(most) : 0;
  return number > 0 && number < usual ? number : usual;
}

/// How often a test lets a process end in one way: `usual`, or WEIR_TEST_EXITS.
inline int exits_of(int usual) {
  const char* number = std::getenv("WEIR_TEST_EXITS");
  return number ? std::atoi(number) : usual;
}

/// The time limit for work that waits, so that a broken runtime fails the test instead of hanging it. With
/// injected failures WEIR_TEST_PATIENCE (seconds) shortens it.
inline std::chrono::seconds patience() {
  const char* seconds = std::getenv("WEIR_TEST_PATIENCE");
  return std::chrono::seconds(seconds ? std::atoi(seconds) : 30);
}

}  // namespace weir::test
