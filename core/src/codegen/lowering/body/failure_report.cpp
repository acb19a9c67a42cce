// SPDX-License-Identifier: Apache-2.0
#include "codegen/lowering/body/failure_report.hpp"

#include "ir/error_record.hpp"

namespace weir::codegen {

using llvm::Value;

llvm::Function* failure_report(TaskFunction& lowering) {
  constexpr const char* name = "weir_report_failure";
  if (llvm::Function* f = lowering.module.getFunction(name)) return f;
  llvm::LLVMContext& context = lowering.context;
  std::vector<llvm::Type*> parameters{lowering.arguments.error_record()->getType(),
                                      llvm::Type::getInt32Ty(context)};
  parameters.insert(parameters.end(), 3 * max_rank, llvm::Type::getInt64Ty(context));
  llvm::Function* f = lowering.cold_function(name, parameters);
  Builder b(llvm::BasicBlock::Create(context, "entry", f));
  llvm::BasicBlock* first = llvm::BasicBlock::Create(context, "first", f);
  llvm::BasicBlock* done = llvm::BasicBlock::Create(context, "done", f);
  Value* record = f->getArg(0);
  const auto relaxed = llvm::AtomicOrdering::Monotonic;
  // Only threads of this device claim a record, so the exchange needs the device's scope, also for a record
  // in host memory.
  Value* claim = b.CreateAtomicCmpXchg(record, b.getInt32(ir::ErrorRecord::free),
                                       b.getInt32(ir::ErrorRecord::being_written), llvm::Align(4), relaxed,
                                       relaxed, lowering.device.device_scope(context));
  b.CreateCondBr(b.CreateExtractValue(claim, 1), first, done);
  b.SetInsertPoint(first);
  const auto at = [&](std::size_t offset) {
    return b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), record, offset);
  };
  b.CreateStore(f->getArg(1), at(offsetof(ir::ErrorRecord, site)));
  constexpr std::size_t fields[] = {offsetof(ir::ErrorRecord, index), offsetof(ir::ErrorRecord, array_index),
                                    offsetof(ir::ErrorRecord, extent)};
  for (unsigned k = 0; k < 3; ++k)
    for (unsigned d = 0; d < max_rank; ++d)
      b.CreateStore(f->getArg(2 + k * unsigned(max_rank) + d), at(fields[k] + 8 * d));
  b.CreateAlignedStore(b.getInt32(ir::ErrorRecord::complete), record, llvm::Align(4))
      ->setAtomic(llvm::AtomicOrdering::Release);
  b.CreateBr(done);
  b.SetInsertPoint(done);
  b.CreateRetVoid();
  return f;
}

}  // namespace weir::codegen
