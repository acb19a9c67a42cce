// SPDX-License-Identifier: Apache-2.0
#include "codegen/lowering/lower_task.hpp"

#include <algorithm>
#include <weir/error.hpp>

#include "codegen/lowering/loop_kinds.hpp"
#include "codegen/lowering/task_loops.hpp"
#include "ir/groups.hpp"

namespace weir::codegen {

namespace {

/// On CPUs one iteration runs all threads of a group.
void check_stack(const TaskFunction& f) {
  const bool group = !f.device.threads() && std::ranges::any_of(f.task.body.statements, ir::is_group_loop);
  if (f.frame.bytes() > f.device.max_stack_bytes())
    throw Error(ErrorCode::unsupported,
                "kernel '" + f.kernel.name + "': the local arrays of " +
                    (group ? "all threads of a group" : "one iteration") + " take " +
                    std::to_string(f.frame.bytes()) + " bytes, more than the " +
                    std::to_string(f.device.max_stack_bytes()) +
                    " that generated code may use; make them smaller or use an array parameter");
}

}  // namespace

Lowering lower_task(llvm::Module& module, const ir::Kernel& kernel, const ir::Task& task,
                    const DeviceModel& device, DebugLines* lines) {
  TaskFunction f(module, kernel, task, device, lines);
  Iteration around(f);
  const ReduceScratch scratch{task.partials_offset, task.result_offset};
  if (task.kind == ir::TaskKind::serial || task.kind == ir::TaskKind::reduce_final) stay_in_first_block(f);
  if (task.kind == ir::TaskKind::reduce_final)
    combine_chunks(f, Reduction(f, task.reduce_kind, task.reduce_type, scratch), nullptr);
  if (task.kind == ir::TaskKind::serial) {
    stay_in_one_thread(f, true);
    f.lowering.take(LoweringPath::serial);
  }
  if (task.kind == ir::TaskKind::phases)
    lower_phases(f, around);
  else
    lower_statements(f, around, task.body, scratch);

  f.jump(f.return_block);
  f.return_block->moveAfter(&f.function->back());
  f.b.SetInsertPoint(f.return_block);
  f.b.CreateRetVoid();
  f.lay_out_block_memory();
  check_stack(f);
  return f.lowering;
}

}  // namespace weir::codegen
