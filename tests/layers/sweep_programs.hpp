// SPDX-License-Identifier: Apache-2.0
// Small programs that together use every part of the runtime, for a sweep that fails calls of the driver.
#pragma once

#include <string>
#include <weir/weir.hpp>

namespace weir::test {

/// Thrown by a program when a result is wrong.
struct Wrong {
  std::string what;
};

void arrays(const Device& device);
void streams_and_events(const Device& device);
void memory_of_many_streams(const Device& device);
void ready_kernels(const Device& device);
/// Blocks that last so long that other threads take some of them.
void long_blocks(const Device& device);
void task_lists(const Device& device);
void kernels_over_streams(const Device& device);
void kernels_as_graphs(const Device& device);
void recorded_graphs(const Device& device);
void profiles(const Device& device);
/// Copies and launches that read or write memory of the program, which frees it as soon as they throw. In a
/// file of its own, which needs the core's headers.
void memory_of_the_caller(const Device& device);
/// Needs a second device, "cpu:1".
void peers(const Device& first);

}  // namespace weir::test
