// SPDX-License-Identifier: Apache-2.0
// Cases of the Vulkan part: Weir on the Vulkan driver against Vulkan written by hand, and against Weir's
// other drivers on the same processor.
#pragma once

#include "gpu/comparison.hpp"
#include "gpu/figures.hpp"

namespace weir::bench::vulkan {

using gpu::add;
using gpu::at_least;
using gpu::at_most;
using gpu::Bar;
using gpu::now;
using gpu::per_run;
using gpu::Sides;
using gpu::Skipped;

void add_launch_cases();    // launches, alone and in chains
void add_graph_cases();     // a graph of many tasks
void add_stream_cases();    // gain of concurrent blocks
void add_pipeline_cases();  // pipelines from the cache, in separate processes
void add_peak_cases();      // arithmetic and bandwidth
void add_driver_cases();    // against the CUDA driver and the CPU driver
inline void add_all_cases() {
  add_launch_cases();
  add_graph_cases();
  add_stream_cases();
  add_pipeline_cases();
  add_peak_cases();
  add_driver_cases();
}

}  // namespace weir::bench::vulkan
