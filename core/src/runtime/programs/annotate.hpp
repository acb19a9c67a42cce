// SPDX-License-Identifier: Apache-2.0
// Accesses of a task to its arrays, for layers that request them (the extension weir.annotate of
// <weir/layer.h>).
#pragma once

#include <weir/layer.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/ir.hpp"
#include "passes/plan.hpp"
#include "passes/touched_boxes.hpp"

namespace weir::detail {

struct LaunchValues;
struct ProgramState;

/// An array whose accessed part follows the arguments of each launch.
struct StatedArray {
  std::uint16_t parameter = 0;
  std::uint16_t numbers = 1;             ///< of the part: 1, or those of WEIR_TOUCHED_RANGE or _WINDOW
  passes::TouchedBox box;                ///< if there are more numbers
  std::optional<std::uint16_t> strides;  ///< of a strided array: the parameter of its strides
};
/// The bytes that these arrays add to an argument block.
std::uint32_t stated_bytes(const std::vector<StatedArray>& arrays) noexcept;
/// Writes them for one launch of the task, from `at` on.
void state_arrays(const passes::Plan& plan, const passes::PlannedTask& task,
                  const std::vector<StatedArray>& arrays, const LaunchValues& values, std::byte* at) noexcept;

/// References names of its kernel, which must outlive it.
struct TaskAnnotation {
  std::vector<weir_touched> touched;
  std::vector<StatedArray> stated;  ///< in order
  std::string source;               ///< "file.cpp:12", or empty

  weir_kernel_annotation raw(const char* name) const noexcept {
    return {sizeof(weir_kernel_annotation), static_cast<std::uint32_t>(touched.size()), touched.data(), name,
            source.c_str()};
  }
};

/// `program` is the one of the task, with the layouts of its launches. `version` is that of the extension.
TaskAnnotation annotate_task(const ProgramState& program, const passes::PlannedTask& planned,
                             std::uint32_t version);

}  // namespace weir::detail
