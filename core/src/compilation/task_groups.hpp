// SPDX-License-Identifier: Apache-2.0
// A kernel's tasks in groups that are compiled separately: several at once, each in its own cache entry.
#pragma once

#include <span>
#include <vector>

#include "codegen/codegen.hpp"
#include "ir/task.hpp"

namespace weir::compilation {

using TaskGroup = std::span<const ir::Task* const>;

/// Cuts `tasks` into consecutive groups. A group ends with the task that brings it to group_statements. So
/// long tasks are compiled separately, and short ones share the fixed costs of a module. Depends on the tasks
/// only: machines with other numbers of processors find the same code in the cache.
std::vector<TaskGroup> task_groups(TaskGroup tasks);
inline constexpr std::size_t group_statements = 64;

/// Compiles each group, as many at once as there are processors. Returns one code object per group, in order.
/// Throws the error of the first group that fails.
std::vector<codegen::CodeObject> compile_groups(codegen::Compiler& compiler, const ir::Kernel& kernel,
                                                std::span<const TaskGroup> groups,
                                                const codegen::Target& target);

}  // namespace weir::compilation
