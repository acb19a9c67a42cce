// SPDX-License-Identifier: Apache-2.0
// Compares the results of operations on the tested device with those of the CPU, bit by bit. On the CPU they
// are compared with the host's evaluator instead.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "bits_cases.hpp"

namespace weir::test {

struct Tally {
  std::atomic<std::uint64_t> operations{0}, values{0}, differences{0};
  std::mutex mutex;
};

/// True if the tested device is one of the CPU driver.
bool on_cpu();
/// WEIR_BITS_COUNT, the number of values for each math function.
std::size_t wanted_count();
std::string hexadecimal(std::uint64_t bits);

/// Compares every form of loop on the tested device with the host's evaluator. For operations that it
/// cannot evaluate, the reference is a line on the CPU.
void compare_forms(const std::vector<Operation>& operations, std::size_t count, std::size_t per_kernel,
                   std::span<const LoopForm> forms, Tally& tally);
/// Prints the numbers of a comparison.
void summary(const char* what, const Tally& tally);
/// Compares the operations on `count` values and prints the numbers. Fails if any result differs. `fresh`:
/// inputs are copied to the device again for each kernel, which may change them.
void check(const char* what, const std::vector<Operation>& operations, std::size_t count,
           std::size_t per_kernel, bool fresh = false);

}  // namespace weir::test
