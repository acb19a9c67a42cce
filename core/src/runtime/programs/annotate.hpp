// SPDX-License-Identifier: Apache-2.0
// Accesses of a task to its arrays, for layers that request them (the extension weir.annotate of
// <weir/layer.h>).
#pragma once

#include <weir/layer.h>

#include <cstdint>
#include <string>
#include <vector>

#include "ir/ir.hpp"
#include "passes/plan.hpp"

namespace weir::detail {

struct ProgramState;

/// References names of its kernel, which must outlive it.
struct TaskAnnotation {
  std::vector<weir_touched> touched;
  std::vector<std::uint16_t>
      sized;           ///< array parameters whose sizes follow the arguments of a launch, in order
  std::string source;  ///< "file.cpp:12", or empty

  weir_kernel_annotation raw(const char* name) const noexcept {
    return {sizeof(weir_kernel_annotation), static_cast<std::uint32_t>(touched.size()), touched.data(), name,
            source.c_str()};
  }
};

/// `program` is the one of the task, with the layouts of its launches.
TaskAnnotation annotate_task(const ProgramState& program, const passes::PlannedTask& planned);

}  // namespace weir::detail
