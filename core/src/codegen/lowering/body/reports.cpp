// SPDX-License-Identifier: Apache-2.0
#include "codegen/lowering/body/reports.hpp"

#include "ir/error_record.hpp"
#include "ir/print_buffer.hpp"

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

llvm::Function* print_entry(TaskFunction& lowering, std::size_t values) {
  const std::string name = "weir_print_" + std::to_string(values);
  if (llvm::Function* f = lowering.module.getFunction(name)) return f;
  llvm::LLVMContext& context = lowering.context;
  llvm::Type* word = llvm::Type::getInt64Ty(context);
  llvm::Type* half_word = llvm::Type::getInt32Ty(context);
  std::vector<llvm::Type*> parameters{lowering.arguments.print_buffer()->getType(), half_word, half_word};
  parameters.insert(parameters.end(), max_rank + values, word);
  llvm::Function* f = lowering.cold_function(name, parameters);
  const auto block = [&](const char* label) { return llvm::BasicBlock::Create(context, label, f); };
  Builder b(block("entry"));
  llvm::BasicBlock *room = block("room"), *fits = block("fits"), *crosses = block("crosses"),
                   *begins = block("begins"), *lost = block("lost"), *done = block("done");
  Value* buffer = f->getArg(0);
  const auto header = [&](std::size_t offset) {
    return b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), buffer, offset);
  };
  const auto relaxed = llvm::AtomicOrdering::Monotonic;
  // Only threads of this device change the header while kernels run, so the atomics need the device's scope.
  const llvm::SyncScope::ID scope = lowering.device.device_scope(context);
  const auto add = [&](Value* to, Value* by) {
    return b.CreateAtomicRMW(llvm::AtomicRMWInst::Add, to, by, llvm::Align(4), relaxed, scope);
  };
  Value* size = b.getInt32(ir::print_entry_words + std::uint32_t(values));
  Value* capacity =
      b.CreateAlignedLoad(half_word, header(offsetof(ir::PrintHeader, capacity)), llvm::Align(4));
  // A full buffer is not claimed from, so `claimed` does not wrap around.
  llvm::LoadInst* claimed = b.CreateAlignedLoad(half_word, buffer, llvm::Align(4));
  claimed->setAtomic(relaxed, scope);
  b.CreateCondBr(b.CreateICmpULT(claimed, capacity), room, lost);

  b.SetInsertPoint(room);
  Value* from = add(buffer, size);
  Value* entry = b.CreateInBoundsGEP(
      b.getInt8Ty(), buffer,
      b.CreateAdd(b.getInt64(ir::print_header_bytes), b.CreateShl(b.CreateZExt(from, word), 3)));
  b.CreateCondBr(b.CreateICmpULE(b.CreateAdd(from, size), capacity), fits, crosses);

  b.SetInsertPoint(fits);
  const auto put = [&](std::size_t offset, Value* value) {
    b.CreateAlignedStore(value, b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), entry, offset), llvm::Align(8));
  };
  Value* head = b.CreateOr(b.CreateZExt(f->getArg(1), word), b.CreateShl(b.CreateZExt(size, word), 32));
  put(offsetof(ir::PrintEntry, site), head);
  put(offsetof(ir::PrintEntry, launch), b.CreateZExt(f->getArg(2), word));
  for (unsigned i = 0; i < max_rank + values; ++i)
    put(offsetof(ir::PrintEntry, index) + 8 * i, f->getArg(3 + i));
  b.CreateBr(done);

  // The entry's first word ends the list, if it is inside the buffer.
  b.SetInsertPoint(crosses);
  b.CreateCondBr(b.CreateICmpULT(from, capacity), begins, lost);
  b.SetInsertPoint(begins);
  put(0, b.getInt64(0));
  b.CreateBr(lost);

  b.SetInsertPoint(lost);
  add(header(offsetof(ir::PrintHeader, lost)), b.getInt32(1));
  b.CreateBr(done);
  b.SetInsertPoint(done);
  b.CreateRetVoid();
  return f;
}

}  // namespace weir::codegen
