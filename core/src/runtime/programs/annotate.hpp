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
#include "passes/touched_rows.hpp"

namespace weir::detail {

struct LaunchValues;
struct ProgramState;

/// An array whose accessed part follows the arguments of each launch: its size, or with `rows` its offset and
/// size.
struct StatedArray {
  std::uint16_t parameter = 0;
  std::optional<passes::TouchedRows> rows;  ///< without them, the whole array
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

/// `program` is the one of the task, with the layouts of its launches. `ranges`: parts of WEIR_TOUCHED_RANGE
/// are allowed.
TaskAnnotation annotate_task(const ProgramState& program, const passes::PlannedTask& planned, bool ranges);

}  // namespace weir::detail
